//! What the operator is told: KEDA's flags and variables with the meaning they have there, and a few of our own.
//!
//! | module | what it holds |
//! |---|---|
//! | `flags` | the flags that have a meaning here, as text |
//! | `compatible` | KEDA's flags that are accepted and have none |
//! | `environment` | the variables, as text, and what is said of them in the reference |
//! | `settle` | from both to [`Settings`], a pure function that names every mistake at once |
//! | `reader` | how one value is read and its mistake noted |
//! | `addresses`, `amounts`, `certificates`, `logging`, `proxies`, `selector`, `tls` | what one kind of value looks like |
//! | `webhooks` | the same for `kedge webhooks` |
//! | `pending` | what is understood and not done yet |

pub(crate) mod addresses;
mod amounts;
pub(crate) mod certificates;
pub(crate) mod compatible;
pub(crate) mod environment;
pub(crate) mod flags;
pub(crate) mod logging;
pub(crate) mod pending;
mod proxies;
mod reader;
mod settle;
mod tls;
pub(crate) mod webhooks;

use std::path::PathBuf;
use std::time::Duration;

use kedge_cluster::{LeaderElection, LeaseTiming};
use kedge_operator::credentials::{SecretAccess, vault};
use kedge_scalers::{Ambient, KeepAlive, Proxies};

use addresses::Address;
use certificates::Source;
pub(crate) use environment::Environment;
pub(crate) use flags::Flags;
use logging::Logging;
pub(super) use settle::settle;
use tls::Tls;

/// Everything that is settled when the operator starts. Nothing in it shows a secret.
#[derive(Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) kubeconfig: Option<PathBuf>,
    /// Whether the API server may compress its answers.
    pub(super) compression: Compression,
    pub(super) logging: Logging,
    pub(super) serving: Serving,
    pub(super) scope: Scope,
    /// How many objects are looked at at once.
    pub(super) concurrency: usize,
    /// The name of this replica, in events.
    pub(super) instance: String,
    pub(super) http: Http,
    /// What is spoken by servers of ours other than the metrics API.
    pub(super) service_tls: Tls,
    /// Whether, and how, one of several replicas is chosen.
    pub(super) leadership: Option<Leadership>,
    pub(super) credentials: Credentials,
    /// What is done about a parameter that a trigger type does not know.
    pub(super) unexpected_parameters: UnexpectedParameters,
    pub(super) notices: Notices,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compression {
    Off,
    On,
}

/// What is served where.
#[derive(Debug, PartialEq)]
pub(super) struct Serving {
    /// external.metrics.k8s.io, over TLS.
    pub(super) metrics_api: Address,
    /// The admission webhooks, over TLS with the same certificate.
    pub(super) webhooks: Option<Address>,
    /// What everything is served with.
    pub(super) certificate: Source,
    /// `/healthz` and `/readyz`.
    pub(super) health: Option<Address>,
    /// The operator's own metrics.
    pub(super) metrics: Option<Address>,
}

/// Which objects are looked after.
#[derive(Debug, PartialEq)]
pub(super) struct Scope {
    /// Empty means all.
    pub(super) namespaces: Vec<String>,
    pub(super) selector: Option<String>,
    /// The selector of TriggerAuthentications and ClusterTriggerAuthentications.
    pub(super) authentication_selector: Option<String>,
}

/// How scalers speak HTTP.
#[derive(Debug, PartialEq)]
pub(super) struct Http {
    pub(super) timeout: Duration,
    pub(super) keep_alive: KeepAlive,
    pub(super) idle_timeout: Duration,
    pub(super) idle_per_host_max: usize,
    pub(super) tls: Tls,
    pub(super) proxies: Proxies,
    /// Folders of authorities that are trusted beside those of the machine.
    pub(super) ca_dirs: Vec<PathBuf>,
    /// Who this process is to the clouds.
    pub(super) ambient: Ambient,
}

/// The lease that one of several replicas holds.
#[derive(Debug, PartialEq)]
pub(super) struct Leadership {
    pub(super) lease: String,
    pub(super) namespace: String,
    pub(super) lease_duration: Duration,
    pub(super) renew_deadline: Duration,
    pub(super) retry_period: Duration,
}

impl Leadership {
    /// A container that is started again in the same pod is the same candidate: its predecessor is dead.
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

/// Where credentials may come from.
#[derive(Debug, PartialEq)]
pub(super) struct Credentials {
    pub(super) secrets: SecretAccess,
    /// Where the Secrets of ClusterTriggerAuthentications are.
    pub(super) cluster_object_namespace: String,
    /// The folder below which a ClusterTriggerAuthentication may name files.
    pub(super) file_root: Option<PathBuf>,
    /// How long a token lasts that is asked for in the name of a service account.
    pub(super) token_lifetime: Duration,
    pub(super) vault: vault::Settings,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum UnexpectedParameters {
    Ignored,
    Told,
}

/// What is said at start about the settings themselves.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Notices {
    /// KEDA's flags that were given and have no effect, with the reasons.
    pub(super) ignored: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Settings {
    pub(super) fn operator(&self) -> kedge_operator::Settings {
        kedge_operator::Settings {
            namespaces: self.scope.namespaces.clone(),
            selector: self.scope.selector.clone(),
            concurrency: self.concurrency,
            instance: self.instance.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            credentials: self.credentials(),
            election: self.leadership.as_ref().map(|leadership| leadership.election(&self.instance)),
        }
    }

    fn credentials(&self) -> kedge_operator::credentials::Settings {
        let own = &self.credentials;
        kedge_operator::credentials::Settings {
            cluster_object_namespace: Some(own.cluster_object_namespace.clone()),
            secrets: own.secrets,
            file_root: own.file_root.clone(),
            token_lifetime: own.token_lifetime,
            selector: self.scope.authentication_selector.clone(),
            vault: own.vault.clone(),
        }
    }

    /// How scalers speak to their sources. Reads the folders of authorities; what is wrong in them is to be logged.
    pub(super) fn scalers(&self) -> (kedge_scalers::Settings, Vec<String>) {
        let (extra_roots, warnings) = kedge_scalers::read_ca_dirs(&self.http.ca_dirs);
        let settings = kedge_scalers::Settings {
            http_timeout: self.http.timeout,
            keep_alive: self.http.keep_alive,
            idle_timeout: self.http.idle_timeout,
            idle_per_host_max: self.http.idle_per_host_max,
            proxies: self.http.proxies.clone(),
            tls_min: self.http.tls.least,
            ciphers: self.http.tls.suites.clone(),
            ambient: self.http.ambient.clone(),
            extra_roots,
        };
        (settings, warnings)
    }
}

#[cfg(test)]
mod tests;
