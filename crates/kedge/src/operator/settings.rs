//! The flags and environment variables of the operator. KEDA's names keep their meaning.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use kedge_operator::credentials::{SecretAccess, Settings as Credentials, vault};
use kedge_scalers::Secret;
use tracing::level_filters::LevelFilter;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kubeconfig to use; without it, $KUBECONFIG or ~/.kube/config, or the pod's own service account
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Where external.metrics.k8s.io is served, over TLS
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:6443")]
    pub(super) metrics_api_bind_address: SocketAddr,

    /// The certificate to serve it with, PEM
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.crt")]
    pub(super) tls_cert_file: PathBuf,

    /// The key of that certificate, PEM
    #[arg(long, value_name = "FILE", default_value = "/certs/tls.key")]
    pub(super) tls_private_key_file: PathBuf,

    /// Where /healthz and /readyz are served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    pub(super) health_probe_bind_address: SocketAddr,

    /// Where the operator's own metrics are served for Prometheus, at /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub(super) metrics_bind_address: SocketAddr,

    /// The folder below which a ClusterTriggerAuthentication may name files
    #[arg(long, value_name = "FOLDER")]
    pub(super) filepath_auth_root_path: Option<PathBuf>,

    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(super) log_level: LevelFilter,

    /// How to log
    #[arg(long, value_enum, default_value = "text")]
    pub(super) log_format: LogFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// What the environment says.
pub(super) struct Read {
    pub(super) operator: kedge_operator::Settings,
    pub(super) scalers: kedge_scalers::http::Settings,
}

/// KEDA: objects looked at at once, unless said otherwise. Ours are passes that also poll, so there are more of them.
const CONCURRENCY_DEFAULT: usize = 32;

/// Reads the environment. A value that cannot be used is an error that names its variable.
pub(super) fn read(args: &Args) -> anyhow::Result<Read> {
    let namespaces = variable("WATCH_NAMESPACE").filter(|list| list != "\"\"").unwrap_or_default();
    let namespaces = namespaces.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let concurrency = match number("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES")? {
        Some(count @ 1..) => usize::try_from(count)?,
        Some(count) => bail!("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES is {count}; give a number above 0"),
        None => CONCURRENCY_DEFAULT,
    };
    let mut scalers = kedge_scalers::http::Settings::default();
    if let Some(limit) = number("KEDA_HTTP_DEFAULT_TIMEOUT")? {
        scalers.http_timeout = Duration::from_millis(u64::try_from(limit).unwrap_or(0));
    }
    let operator = kedge_operator::Settings {
        namespaces,
        selector: variable("WATCH_LABEL_SELECTOR"),
        concurrency,
        instance: variable("POD_NAME").unwrap_or_else(|| "kedge".to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        credentials: credentials(args)?,
    };
    Ok(Read { operator, scalers })
}

/// Where a pod finds the namespace it is in.
const OWN_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

fn credentials(args: &Args) -> anyhow::Result<Credentials> {
    let restricted = variable("KEDA_RESTRICT_SECRET_ACCESS").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let own = || std::fs::read_to_string(OWN_NAMESPACE).ok().map(|text| text.trim().to_owned());
    Ok(Credentials {
        cluster_object_namespace: variable("KEDA_CLUSTER_OBJECT_NAMESPACE").or_else(own),
        secrets: if restricted { SecretAccess::ClusterObjectNamespaceOnly } else { SecretAccess::EveryNamespace },
        file_root: args.filepath_auth_root_path.clone(),
        selector: variable("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH"),
        vault: vault::Settings {
            token: variable("VAULT_TOKEN").map(Secret::new),
            namespace: variable("VAULT_NAMESPACE"),
        },
        ..Credentials::default()
    })
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str) -> anyhow::Result<Option<i64>> {
    let parse = |text: String| text.parse().with_context(|| format!("{name} is `{text}`, which is not a whole number"));
    variable(name).map(parse).transpose()
}
