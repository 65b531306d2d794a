//! The credentials of triggers: authentication objects resolved, and their changes watched.
//!
//! | module | what it holds |
//! |---|---|
//! | [`resolve`] | from an authentication object to parameters, source by source |
//! | [`read`] | reading the objects that credentials are taken from, each once |
//! | `identity` | the roles that pod identities name |
//! | `jwt` | token files |
//! | [`pod`] | the pod template of the target, and its variables |
//! | [`token`] | tokens of service accounts |
//! | [`vault`] | HashiCorp Vault |
//! | [`references`] | the users of each reference, and watches of the references in use |
//! | `watch_groups` | whether objects are watched one by one, or their namespace |
//! | [`usage`] | the authentication objects themselves: finalizer, users in the status, events |
//!
//! Values are read when scalers are built, and stored only in the scalers. What the API server must allow for that:
//! `get` on the authentication objects, on the Secrets and ConfigMaps that are referred to, and on the target; `list` and `watch`
//! on the same, as metadata only, to notice changes; `get`, `list`, `watch` on service accounts for AWS roles of
//! workloads; `create` on `serviceaccounts/token` where tokens are requested; `patch` on the authentication objects and
//! `patch` on their status.

mod identity;
mod jwt;
pub mod pod;
pub mod read;
pub mod references;
pub mod resolve;
pub mod token;
pub mod usage;
pub mod vault;
mod watch_groups;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::NamespacedName;
use kedge_core::credentials::outbound_filter::OutboundFilter;
use kedge_core::credentials::token_policy::TokenPolicy;
use kedge_core::credentials::{CredentialError, Reference, ReferenceKind};
use kedge_scalers::http::exchange::Exchange;
use kube::Client;
use tokio::sync::Semaphore;

pub use references::References;
pub use resolve::{Resolution, Resolved};

/// Where the chart mounts the token for Vault.
pub const VAULT_TOKEN_FILE: &str = "/var/run/secrets/keda-vault/token";

/// What may be chosen about credentials.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace that ClusterTriggerAuthentications read from. Unknown outside a cluster, unless it is given.
    pub cluster_object_namespace: Option<String>,
    pub secrets: SecretAccess,
    /// The Secret with the operator's own keys. No trigger gets anything from it.
    pub own_secret: Option<NamespacedName>,
    /// The folder below which a ClusterTriggerAuthentication may name files.
    pub file_root: Option<PathBuf>,
    /// How long a requested token of a service account lasts.
    pub token_lifetime: Duration,
    /// Which tokens of service accounts may be requested, and sent to servers that authentication objects name.
    pub token_policy: TokenPolicy,
    /// The file with the token that the operator signs in to Vault with, where an authentication object names no credential.
    pub vault_token_file: PathBuf,
    pub outbound_filter: OutboundFilter,
    /// Which authentication objects are marked and listed, as a label selector.
    pub selector: Option<String>,
    pub vault: vault::Settings,
}

/// Which Secrets may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAccess {
    EveryNamespace,
    ClusterObjectNamespaceOnly,
}

impl Default for Settings {
    // KEDA: its defaults.
    fn default() -> Self {
        Self {
            cluster_object_namespace: None,
            secrets: SecretAccess::EveryNamespace,
            own_secret: None,
            file_root: None,
            token_lifetime: Duration::from_secs(3600),
            token_policy: TokenPolicy::default(),
            vault_token_file: VAULT_TOKEN_FILE.into(),
            outbound_filter: OutboundFilter::default(),
            selector: None,
            vault: vault::Settings::default(),
        }
    }
}

impl Settings {
    /// Whether a reference names the Secret with the operator's own keys.
    fn is_own_secret(&self, reference: &Reference) -> bool {
        let named = |own: &NamespacedName| *own.namespace == *reference.namespace && *own.name == *reference.name;
        reference.kind == ReferenceKind::Secret && self.own_secret.as_ref().is_some_and(named)
    }

    /// Whether an object must not be read in its own namespace: it is a Secret that the operator is configured not to read, or its own.
    pub(crate) fn withholds(&self, reference: &Reference) -> bool {
        let is_restricted = reference.kind == ReferenceKind::Secret
            && self.secrets == SecretAccess::ClusterObjectNamespaceOnly
            && self.cluster_object_namespace.as_deref() != Some(&reference.namespace);
        is_restricted || self.is_own_secret(reference)
    }

    /// The namespace of cluster-wide objects, or an error where it is unknown.
    fn cluster_namespace(&self, place: &str) -> Result<&str, CredentialError> {
        self.cluster_object_namespace.as_deref().ok_or_else(|| {
            let remedy = "set KEDA_CLUSTER_OBJECT_NAMESPACE on the operator";
            CredentialError::invalid(place, "reads from the operator's namespace, which is not known", remedy)
        })
    }
}

/// What credentials are resolved from. It watches nothing.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct CredentialSources {
    pub client: Client,
    pub settings: Settings,
    /// The way to stores outside the cluster.
    pub exchange: Exchange,
    /// One permit for each read in flight.
    reads_at_once: Arc<Semaphore>,
}

impl CredentialSources {
    pub fn new(client: Client, settings: Settings, exchange: Exchange) -> Self {
        Self { client, settings, exchange, reads_at_once: Arc::new(Semaphore::new(read::READS_AT_ONCE)) }
    }
}

/// Everything about credentials that reconciles need.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Credentials {
    pub sources: CredentialSources,
    pub references: Arc<References>,
}

impl Credentials {
    pub fn new(client: Client, settings: Settings, references: Arc<References>, exchange: Exchange) -> Self {
        Self { sources: CredentialSources::new(client, settings, exchange), references }
    }
}

#[cfg(test)]
mod tests;
