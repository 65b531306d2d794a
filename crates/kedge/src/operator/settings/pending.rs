//! What is understood, checked and kept, but not done yet: the reference marks it, and whoever asks for it is told.
//! When a part learns to take such a setting, its lines here go.

use super::{SecretAccess, Settings};

/// The flags and variables that are read and have no effect yet.
pub(crate) const PENDING: &[&str] = &[
    "filepath-auth-root-path",
    "http-max-idle-conns",
    "k8s-cluster-domain",
    "KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY",
    "KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS",
    "KEDA_CLUSTER_OBJECT_NAMESPACE",
    "KEDA_RESTRICT_SECRET_ACCESS",
    "KEDA_SERVICE_MIN_TLS_VERSION",
    "KEDA_SERVICE_TLS_CIPHER_LIST",
    "WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH",
];

/// What was asked for and is missed where it is not done.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let missed = [(
        settings.credentials.secrets == SecretAccess::ClusterObjectNamespaceOnly,
        "KEDA_RESTRICT_SECRET_ACCESS: no Secret is read yet, in any namespace",
    )];
    missed.into_iter().filter(|(asked, _)| *asked).map(|(_, warning)| warning.to_owned()).collect()
}
