//! Flags and variables to [`Settings`]: a pure function that reports every invalid value at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kedge_operator::credentials::SecretAccess;
use kedge_scalers::metadata::convert::{self, ConversionError};
use kedge_scalers::{KeepAlive, UnexpectedParameters};

use super::addresses::{self, Address, Host};
use super::environment::{Environment, NAMESPACE_DEFAULT};
use super::flags::Flags;
use super::operator::{Credentials, Http, Leadership, Notices, Scope, Serving, Settings};
use super::reader::SettingsReader;
use super::{amounts, certificates, logging, policies, proxies, tls, vault_client};

/// Concurrent reconciles by default: more than in KEDA, because a reconcile also polls here.
const CONCURRENCY_DEFAULT: usize = 32;

// KEDA: its defaults.
const LEASE_DURATION_DEFAULT: Duration = Duration::from_secs(15);
const RENEW_DEADLINE_DEFAULT: Duration = Duration::from_secs(10);
const RETRY_PERIOD_DEFAULT: Duration = Duration::from_secs(2);
const HTTP_TIMEOUT_DEFAULT: Duration = Duration::from_secs(3);
const TOKEN_LIFETIME_LEAST: Duration = Duration::from_secs(3600);
const TOKEN_LIFETIME_MOST: Duration = Duration::from_secs(6 * 3600);

/// The settings, or all errors: each with its flag or variable, its value and a remedy.
pub(crate) fn resolve(flags: &Flags, environment: &Environment) -> Result<Settings, Vec<String>> {
    let mut read = SettingsReader::new(environment);
    let http = http(flags, &mut read);
    let mut settings = Settings {
        kubeconfig: flags.kubeconfig.clone(),
        logging: logging::resolve(&flags.logging, &mut read),
        serving: serving(flags, &mut read),
        scope: scope(&mut read),
        concurrency: concurrency(&mut read),
        instance: read.text("POD_NAME").or_else(|| read.text("HOSTNAME")).unwrap_or_else(|| "kedge".to_owned()),
        service_tls: tls::for_services(&mut read, &http.tls),
        http,
        runs_scaled_jobs: read.flag("--scaled-jobs", &flags.scaled_jobs, convert::boolean).unwrap_or(false),
        leadership: leadership(flags, &mut read),
        credentials: credentials(flags, environment, &mut read),
        unexpected_parameters: unexpected_parameters(&read),
        notices: Notices::default(),
    };
    let mut warnings = read.finish()?;
    warnings.extend(flags.compatible.warnings());
    settings.notices = Notices { ignored: flags.compatible.ignored(), warnings };
    Ok(settings)
}

/// The settings by which a command queries sources as an operator with these variables would.
pub(crate) fn resolve_variables(environment: &Environment, ca_dirs: &[PathBuf]) -> Result<Settings, Vec<String>> {
    let mut flags = Flags::none_given();
    flags.ca_dir.extend_from_slice(ca_dirs);
    resolve(&flags, environment)
}

fn serving(flags: &Flags, read: &mut SettingsReader<'_>) -> Serving {
    let enabled = read.flag("--enable-prometheus-metrics", &flags.enable_prometheus_metrics, convert::boolean);
    let metrics = read.flag("--metrics-bind-address", &flags.metrics_bind_address, addresses::parse_or_disabled);
    let health =
        read.flag("--health-probe-bind-address", &flags.health_probe_bind_address, addresses::parse_or_disabled);
    Serving {
        metrics_api: metrics_api(flags, read),
        webhooks: optional("--webhooks-bind-address", &flags.webhooks_bind_address, read),
        dashboard: optional("--dashboard-bind-address", &flags.dashboard_bind_address, read),
        certificate: certificates::resolve(&flags.certificates, read),
        health: health.flatten(),
        metrics: metrics.flatten().filter(|_| enabled != Some(false)),
    }
}

/// The address of a server that is not served by default.
fn optional(flag: &'static str, text: &str, read: &mut SettingsReader<'_>) -> Option<Address> {
    let text = Some(text).filter(|text| !text.is_empty())?;
    read.flag(flag, text, addresses::parse_or_disabled).flatten()
}

/// Kedge's own flag, else the two of KEDA's adapter.
fn metrics_api(flags: &Flags, read: &mut SettingsReader<'_>) -> Address {
    let host = read.flag("--bind-address", &flags.bind_address, addresses::parse_ip).unwrap_or(Host::Every);
    let port = read.flag("--secure-port", &flags.secure_port, amounts::port).unwrap_or(0);
    let own = flags.metrics_api_bind_address.as_deref();
    let own = own.and_then(|text| read.flag("--metrics-api-bind-address", text, addresses::parse));
    own.unwrap_or(Address { host, port })
}

fn scope(read: &mut SettingsReader<'_>) -> Scope {
    Scope {
        namespaces: read.namespaces(),
        selector: read.variable("WATCH_LABEL_SELECTOR", convert::selector),
        authentication_selector: read.variable("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH", convert::selector),
    }
}

fn concurrency(read: &mut SettingsReader<'_>) -> usize {
    read.variable("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", amounts::positive_count).unwrap_or(CONCURRENCY_DEFAULT)
}

fn http(flags: &Flags, read: &mut SettingsReader<'_>) -> Http {
    let disable_keep_alive = read.variable("KEDA_HTTP_DISABLE_KEEP_ALIVE", convert::boolean).unwrap_or(false);
    // The connection pool has no limit over all hosts; the value is validated nevertheless.
    read.flag("--http-max-idle-conns", &flags.http_max_idle_conns, amounts::count);
    let per_host = &flags.http_max_idle_conns_per_host;
    let idle_per_host_max = read.flag("--http-max-idle-conns-per-host", per_host, amounts::positive_count);
    let idle_timeout = read.flag("--http-idle-conn-timeout", &flags.http_idle_conn_timeout, amounts::positive_duration);
    Http {
        timeout: read.variable("KEDA_HTTP_DEFAULT_TIMEOUT", amounts::milliseconds).unwrap_or(HTTP_TIMEOUT_DEFAULT),
        keep_alive: if disable_keep_alive { KeepAlive::Off } else { KeepAlive::On },
        idle_timeout: idle_timeout.unwrap_or_default(),
        idle_per_host_max: idle_per_host_max.unwrap_or_default(),
        tls: tls::for_scalers(read),
        proxies: proxies::resolve(read),
        ca_dirs: flags.ca_dir.clone(),
        cloud_environment: read.cloud_environment(),
        outbound_policy: Arc::new(policies::outbound_policy(read)),
    }
}

fn leadership(flags: &Flags, read: &mut SettingsReader<'_>) -> Option<Leadership> {
    const LEASE: &str = "KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION";
    const RENEW: &str = "KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE";
    const RETRY: &str = "KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD";
    let lease_duration = read.variable(LEASE, amounts::positive_duration).unwrap_or(LEASE_DURATION_DEFAULT);
    let renew_deadline = read.variable(RENEW, amounts::positive_duration).unwrap_or(RENEW_DEADLINE_DEFAULT);
    let retry_period = read.variable(RETRY, amounts::positive_duration).unwrap_or(RETRY_PERIOD_DEFAULT);
    for (longer, above, shorter, below) in
        [(LEASE, lease_duration, RENEW, renew_deadline), (RENEW, renew_deadline, RETRY, retry_period)]
    {
        if above <= below {
            let problem = format!("{longer} ({above:?}) is not above {shorter} ({below:?})");
            read.error(format!("{problem}; give times as in 15s, 10s and 2s, each longer than the next"));
        }
    }
    let wanted = read.flag("--leader-elect", &flags.leader_elect, convert::boolean).unwrap_or(false);
    if wanted && flags.leader_election_id.is_empty() {
        read.error("--leader-election-id is empty; give the name of a Lease, such as operator.keda.sh".to_owned());
    }
    wanted.then(|| Leadership {
        lease: flags.leader_election_id.clone(),
        namespace: read.text("POD_NAMESPACE").unwrap_or_else(|| NAMESPACE_DEFAULT.to_owned()),
        lease_duration,
        renew_deadline,
        retry_period,
    })
}

fn credentials(flags: &Flags, environment: &Environment, read: &mut SettingsReader<'_>) -> Credentials {
    let restriction = "KEDA_RESTRICT_SECRET_ACCESS";
    let restricted = read.lenient(restriction, |text| match text.to_ascii_lowercase().as_str() {
        "true" => Ok(SecretAccess::ClusterObjectNamespaceOnly),
        "false" => Ok(SecretAccess::EveryNamespace),
        _ => Err(ConversionError::new("is neither true nor false, and counts as true", "write true or false")),
    });
    // A misspelt restriction restricts: whoever wrote it wanted one.
    let otherwise = match read.text(restriction) {
        Some(_) => SecretAccess::ClusterObjectNamespaceOnly,
        None => SecretAccess::EveryNamespace,
    };
    let namespace = read.text("KEDA_CLUSTER_OBJECT_NAMESPACE").or_else(|| read.text("POD_NAMESPACE"));
    let namespace = namespace.or_else(|| environment.pod_namespace.clone());
    let root = &flags.filepath_auth_root_path;
    let lifetime = |text: &str| amounts::duration_within(text, TOKEN_LIFETIME_LEAST, TOKEN_LIFETIME_MOST);
    Credentials {
        secrets: restricted.unwrap_or(otherwise),
        cluster_object_namespace: namespace.unwrap_or_else(|| NAMESPACE_DEFAULT.to_owned()),
        file_root: (!root.is_empty()).then(|| root.into()),
        token_lifetime: read
            .variable("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", lifetime)
            .unwrap_or(TOKEN_LIFETIME_LEAST),
        token_policy: policies::token_policy(flags, read),
        vault_token_file: flags.vault_kubernetes_auth_token_file.clone(),
        outbound_filter: policies::outbound_filter(read),
        vault: vault_client::settings(read),
    }
}

fn unexpected_parameters(read: &SettingsReader<'_>) -> UnexpectedParameters {
    match read.text("KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS").as_deref() {
        Some("enabled") => UnexpectedParameters::Reported,
        _ => UnexpectedParameters::Ignored,
    }
}
