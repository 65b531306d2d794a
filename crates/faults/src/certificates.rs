//! The rotation of the operator's certificates: short lifetimes, one Secret, and a webhook configuration that receives the CA bundle.

use std::convert::Infallible;
use std::time::Duration;

use kedge_certificates::{CaBundleTarget, CertificateSpec, Lifetimes, Role, Rotator, Settings};
use kedge_cluster::Clock;
use serde_json::{Value, json};

use crate::request_log::LoggedRequest;
use crate::scenario::OPERATOR_NAMESPACE;

pub const SECRET: &str = "kedge-certs";
pub const WEBHOOKS: &str = "kedge-admission";

/// The CA is replaced after 35 minutes, and a leaf after twelve.
const LIFETIMES: Lifetimes = Lifetimes { ca: Duration::from_secs(60 * 60), leaf: Duration::from_secs(20 * 60) };

/// Rotates the certificates for ever.
pub(crate) async fn rotate(client: kube::Client, clock: Clock) -> Infallible {
    let settings = Settings {
        role: Role::Rotates,
        namespace: OPERATOR_NAMESPACE.to_owned(),
        secret: SECRET.to_owned(),
        spec: CertificateSpec { names: vec![format!("kedge.{OPERATOR_NAMESPACE}.svc")], lifetimes: LIFETIMES },
        targets: vec![CaBundleTarget::ValidatingWebhooks { name: WEBHOOKS.to_owned() }],
    };
    let (_, rotator) = Rotator::start(client, clock, settings).await;
    rotator.run().await
}

/// A configuration whose webhooks match nothing.
pub(crate) fn webhooks() -> Value {
    let service = json!({ "name": "kedge", "namespace": OPERATOR_NAMESPACE });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": WEBHOOKS },
        "webhooks": [{
            "name": "vscaledobject.kb.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Ignore", "clientConfig": { "service": service },
        }],
    })
}

/// Whether a request is part of the rotation.
pub(crate) fn is_rotation(request: &LoggedRequest) -> bool {
    let secrets = format!("/namespaces/{OPERATOR_NAMESPACE}/secrets");
    request.line.contains(&secrets) || request.line.contains("/apis/admissionregistration.k8s.io/")
}
