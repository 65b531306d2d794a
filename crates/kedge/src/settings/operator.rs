//! The settings of `kedge operator`, and what its parts take of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::{LeaderElection, LeaseTiming, NamespacedName};
use kedge_core::credentials::outbound_filter::OutboundFilter;
use kedge_core::credentials::token_policy::TokenPolicy;
use kedge_core::outbound_policy::OutboundPolicy;
use kedge_operator::credentials::{SecretAccess, vault};
use kedge_scalers::{CloudEnvironment, KeepAlive, Proxies, UnexpectedParameters};

use super::addresses::Address;
use super::certificates::Source;
use super::logging::Logging;
use super::tls::Tls;

/// All settings of the operator. `Debug` shows no secret.
#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) logging: Logging,
    pub(crate) serving: Serving,
    pub(crate) scope: Scope,
    /// The maximum number of concurrent reconciles.
    pub(crate) concurrency: usize,
    /// The name of this replica, in events.
    pub(crate) instance: String,
    pub(crate) http: Http,
    /// The TLS settings of servers other than the metrics API.
    pub(crate) service_tls: Tls,
    pub(crate) runs_scaled_jobs: bool,
    /// Leader election, if enabled.
    pub(crate) leadership: Option<Leadership>,
    pub(crate) credentials: Credentials,
    /// What is done about unexpected parameters of a trigger.
    pub(crate) unexpected_parameters: UnexpectedParameters,
    pub(crate) notices: Notices,
}

/// The listen addresses, and the certificate.
#[derive(Debug, PartialEq)]
pub(crate) struct Serving {
    /// external.metrics.k8s.io, over TLS.
    pub(crate) metrics_api: Address,
    /// The admission webhooks, over TLS with the same certificate.
    pub(crate) webhooks: Option<Address>,
    /// The dashboard, over TLS with the same certificate.
    pub(crate) dashboard: Option<Address>,
    /// The serving certificate.
    pub(crate) certificate: Source,
    /// `/healthz` and `/readyz`.
    pub(crate) health: Option<Address>,
    /// The operator's own metrics.
    pub(crate) metrics: Option<Address>,
}

/// The managed objects.
#[derive(Debug, PartialEq)]
pub(crate) struct Scope {
    /// Empty means all.
    pub(crate) namespaces: Vec<String>,
    pub(crate) selector: Option<String>,
    /// The selector of TriggerAuthentications and ClusterTriggerAuthentications.
    pub(crate) authentication_selector: Option<String>,
}

/// The HTTP settings of scalers.
#[derive(Debug, PartialEq)]
pub(crate) struct Http {
    pub(crate) timeout: Duration,
    pub(crate) keep_alive: KeepAlive,
    pub(crate) idle_timeout: Duration,
    pub(crate) idle_per_host_max: usize,
    pub(crate) tls: Tls,
    pub(crate) proxies: Proxies,
    /// Folders of CA certificates that are trusted in addition to those of the system.
    pub(crate) ca_dirs: Vec<PathBuf>,
    /// The cloud identity of this process.
    pub(crate) cloud_environment: CloudEnvironment,
    /// Where scalers may connect to, and where the identities of this process may be used.
    pub(crate) outbound_policy: Arc<OutboundPolicy>,
}

/// The Lease of the leader, and its timing.
#[derive(Debug, PartialEq)]
pub(crate) struct Leadership {
    pub(crate) lease: String,
    pub(crate) namespace: String,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
}

impl Leadership {
    /// A restarted container of the same pod has the same identity: its predecessor is gone.
    fn election(&self, instance: &str) -> LeaderElection {
        LeaderElection {
            namespace: self.namespace.clone(),
            name: self.lease.clone(),
            identity: format!("{instance}_{}", std::process::id()),
            timing: LeaseTiming {
                lease_duration: self.lease_duration,
                renew_deadline: self.renew_deadline,
                retry_period: self.retry_period,
            },
        }
    }
}

/// The permitted sources of credentials.
#[derive(Debug, PartialEq)]
pub(crate) struct Credentials {
    pub(crate) secrets: SecretAccess,
    /// The namespace of the Secrets of ClusterTriggerAuthentications.
    pub(crate) cluster_object_namespace: String,
    /// The folder below which a ClusterTriggerAuthentication may name files.
    pub(crate) file_root: Option<PathBuf>,
    /// The lifetime of requested service account tokens.
    pub(crate) token_lifetime: Duration,
    /// The service account tokens that may be requested and sent.
    pub(crate) token_policy: TokenPolicy,
    /// The file with the operator's token for Vault.
    pub(crate) vault_token_file: PathBuf,
    /// The Vault servers that the operator signs in to.
    pub(crate) outbound_filter: OutboundFilter,
    pub(crate) vault: vault::Settings,
}

/// The log lines about the settings themselves.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Notices {
    /// KEDA's flags that were given and have no effect, with the reasons.
    pub(crate) ignored: Option<String>,
    pub(crate) warnings: Vec<String>,
}

/// What is kept of each object where a dashboard is served: about 45 KiB.
const HISTORY: kedge_operator::HistorySettings = kedge_operator::HistorySettings { samples_max: 360, steps_max: 50 };

impl Settings {
    pub(crate) fn operator(&self) -> kedge_operator::Settings {
        kedge_operator::Settings {
            namespaces: self.scope.namespaces.clone(),
            selector: self.scope.selector.clone(),
            concurrency: self.concurrency,
            instance: self.instance.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            credentials: self.credentials(),
            election: self.leadership.as_ref().map(|leadership| leadership.election(&self.instance)),
            history: self.serving.dashboard.is_some().then_some(HISTORY),
            runs_scaled_jobs: self.runs_scaled_jobs,
        }
    }

    fn credentials(&self) -> kedge_operator::credentials::Settings {
        let own = &self.credentials;
        kedge_operator::credentials::Settings {
            cluster_object_namespace: Some(own.cluster_object_namespace.clone()),
            secrets: own.secrets,
            own_secret: match &self.serving.certificate {
                Source::Secret(settings) => Some(NamespacedName::new(&settings.namespace, &settings.secret)),
                Source::Files(_) => None,
            },
            file_root: own.file_root.clone(),
            token_lifetime: own.token_lifetime,
            token_policy: own.token_policy.clone(),
            vault_token_file: own.vault_token_file.clone(),
            outbound_filter: own.outbound_filter.clone(),
            selector: self.scope.authentication_selector.clone(),
            vault: own.vault.clone(),
        }
    }

    /// The settings of scalers, and warnings about the folders of CA certificates, which are read here.
    pub(crate) fn scalers(&self) -> (kedge_scalers::Settings, Vec<String>) {
        let (extra_roots, warnings) = kedge_scalers::read_ca_dirs(&self.http.ca_dirs);
        let settings = kedge_scalers::Settings {
            http_timeout: self.http.timeout,
            keep_alive: self.http.keep_alive,
            idle_timeout: self.http.idle_timeout,
            idle_per_host_max: self.http.idle_per_host_max,
            proxies: self.http.proxies.clone(),
            tls_min: self.http.tls.min_version,
            ciphers: self.http.tls.suites.clone(),
            cloud_environment: self.http.cloud_environment.clone(),
            outbound_policy: Arc::clone(&self.http.outbound_policy),
            extra_roots,
        };
        (settings, warnings)
    }
}
