//! An in-memory cluster with the objects that hold the CA bundle, and rotators as replicas run them, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use kedge_certificates::ca_bundles::EXTERNAL_METRICS;
use kedge_certificates::spec::service_names;
use kedge_certificates::{CaBundleTarget, CertificateSpec, Lifetimes, Role, Rotator, SecretContents, Settings};
use kedge_cluster::Clock;
use kedge_plane::{Gvr, Options, Plane};
use kedge_serving::ServingCertificate;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

pub(crate) const NAMESPACE: &str = "keda";
pub(crate) const SECRET: &str = "kedaorg-certs";
pub(crate) const WEBHOOKS: &str = "keda-admission";

/// How often trust is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
const VERDICT_TTL: Duration = Duration::from_secs(5);

pub(crate) struct TestCluster {
    pub(crate) plane: Plane,
    pub(crate) clock: Clock,
    lifetimes: Lifetimes,
}

/// A replica.
pub(crate) struct Replica {
    pub(crate) certificate: ServingCertificate,
    task: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestCluster {
    pub(crate) async fn new(lifetimes: Lifetimes) -> Self {
        let clock = Clock::starting_at("2026-12-01T10:00:00Z".parse().unwrap());
        let wall = clock.clone();
        let plane = Plane::new(Options { wall: Arc::new(move || wall.now()), ..Options::default() });
        let cluster = Self { plane, clock, lifetimes };
        cluster.apply("v1", "Namespace", json!({ "metadata": { "name": NAMESPACE } })).await;
        cluster
    }

    /// A leaf lives for one minute, and a CA for three.
    pub(crate) async fn with_short_lifetimes() -> Self {
        let cluster = Self::new(Lifetimes { ca: Duration::from_secs(180), leaf: Duration::from_secs(60) }).await;
        cluster.register().await;
        cluster
    }

    /// Applies the objects that receive the CA bundle.
    pub(crate) async fn register(&self) {
        self.register_api().await;
        let hook = |name: &str| {
            json!({
                "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
                "clientConfig": { "service": { "name": "keda-admission-webhooks", "namespace": NAMESPACE } },
            })
        };
        let hooks = [hook("vscaledobject.kb.io"), hook("vscaledjob.kb.io")];
        let body = json!({ "metadata": { "name": WEBHOOKS }, "webhooks": hooks });
        self.apply("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", body).await;
    }

    pub(crate) async fn register_api(&self) {
        let body = json!({ "metadata": { "name": EXTERNAL_METRICS }, "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "name": "keda-metrics-apiserver", "namespace": NAMESPACE },
        }});
        self.apply("apiregistration.k8s.io/v1", "APIService", body).await;
    }

    pub(crate) async fn apply(&self, api_version: &str, kind: &str, mut body: Value) {
        body["apiVersion"] = api_version.into();
        body["kind"] = kind.into();
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        let force = PatchParams::apply("user").force();
        self.api(api_version, kind).patch(&name, &force, &Patch::Apply(body)).await.unwrap();
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match kind {
            "Secret" => Api::namespaced_with(self.plane.client("user"), NAMESPACE, &resource),
            _ => Api::all_with(self.plane.client("user"), &resource),
        }
    }

    pub(crate) fn secrets(&self) -> Api<DynamicObject> {
        self.api("v1", "Secret")
    }

    /// Overwrites entries of the Secret.
    pub(crate) async fn corrupt(&self, data: Value) {
        let patch = Patch::Merge(json!({ "data": data }));
        self.secrets().patch(SECRET, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) fn settings(&self) -> Settings {
        let services = ["keda-operator", "keda-metrics-apiserver", "keda-admission-webhooks"];
        let names = service_names(&services, NAMESPACE, "cluster.local");
        Settings {
            role: Role::Rotates,
            namespace: NAMESPACE.to_owned(),
            secret: SECRET.to_owned(),
            spec: CertificateSpec { names, lifetimes: self.lifetimes },
            targets: vec![
                CaBundleTarget::ApiService { name: EXTERNAL_METRICS.to_owned() },
                CaBundleTarget::ValidatingWebhooks { name: WEBHOOKS.to_owned() },
            ],
        }
    }

    pub(crate) async fn replica(&self) -> Replica {
        self.process(Role::Rotates).await
    }

    /// A process with this role.
    pub(crate) async fn process(&self, role: Role) -> Replica {
        let client = self.plane.client("operator");
        let settings = Settings { role, ..self.settings() };
        let (certificate, rotator) = Rotator::start(client, self.clock.clone(), settings).await;
        Replica { certificate, task: tokio::spawn(async { match rotator.run().await {} }) }
    }

    pub(crate) fn object(&self, plural: &str) -> Option<Arc<Value>> {
        let (group, namespace, name) = match plural {
            "secrets" => ("", Some(NAMESPACE), SECRET),
            "apiservices" => ("apiregistration.k8s.io", None, EXTERNAL_METRICS),
            _ => ("admissionregistration.k8s.io", None, WEBHOOKS),
        };
        self.plane.object(&Gvr::new(group, "v1", plural), namespace, name)
    }

    pub(crate) fn contents(&self) -> SecretContents {
        let secret = self.object("secrets").unwrap_or_default();
        let part = |name: &str| STANDARD.decode(secret["data"][name].as_str().unwrap_or_default()).unwrap();
        SecretContents {
            ca_bundle: part("ca.crt"),
            ca_key: part("ca.key"),
            chain: part("tls.crt"),
            key: part("tls.key"),
        }
    }

    /// Every CA bundle of every object.
    pub(crate) fn bundles(&self) -> Vec<Vec<u8>> {
        let decode = |holder: &Value| STANDARD.decode(holder["caBundle"].as_str().unwrap_or_default()).unwrap();
        let service = self.object("apiservices").map(|object| decode(&object["spec"]));
        let hooks = self.object("validatingwebhookconfigurations");
        let entries = hooks.as_ref().and_then(|object| object["webhooks"].as_array()).into_iter().flatten();
        service.into_iter().chain(entries.map(|entry| decode(&entry["clientConfig"]))).collect()
    }

    /// How often the Secret was written since a revision.
    pub(crate) fn secret_writes_since(&self, revision: u64) -> usize {
        let changes = self.plane.changes_since(revision).unwrap();
        changes.iter().filter(|change| change.name == SECRET).count()
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Lets time pass, and fails as soon as a caller of any replica would not trust it. Returns the number of leaves served.
    pub(crate) async fn pass_time(&self, replicas: &[Replica], time: Duration) -> usize {
        let (mut leaves, ends) = (Vec::new(), Instant::now() + time);
        // Verdicts are cached: a verification is slow, and time alone changes its result slowly.
        let (interval, ttl) = (CHECK_INTERVAL.max(time / 2000), VERDICT_TTL.max(time / 50));
        let mut verdicts = BTreeMap::new();
        while Instant::now() < ends {
            for replica in replicas {
                let leaf = replica.certificate.leaf();
                for bundle in self.bundles() {
                    let verified_at = verdicts.entry((leaf.to_vec(), bundle.clone()));
                    let verified_at = verified_at.or_insert_with(|| Instant::now() - ttl);
                    if verified_at.elapsed() >= ttl {
                        assert!(is_trusted(&leaf, &bundle, self.now()), "at {}", self.now());
                        *verified_at = Instant::now();
                    }
                }
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
            }
            sleep(interval).await;
        }
        leaves.len()
    }
}

/// Verifies like the API server.
pub(crate) fn is_trusted(leaf: &CertificateDer<'_>, bundle: &[u8], now: DateTime<Utc>) -> bool {
    let roots: Vec<_> = CertificateDer::pem_slice_iter(bundle).collect::<Result<_, _>>().unwrap();
    let anchors: Vec<_> = roots.iter().map(|root| anchor_from_trusted_cert(root).unwrap()).collect();
    let leaf = EndEntityCert::try_from(leaf).unwrap();
    let provider = kedge_serving::tls::provider();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now.timestamp().try_into().unwrap()));
    let name = ServerName::try_from("keda-metrics-apiserver.keda.svc").unwrap();
    let algorithms = provider.signature_verification_algorithms.all;
    leaf.verify_for_usage(algorithms, &anchors, &[], now, KeyUsage::server_auth(), None, None).is_ok()
        && leaf.verify_is_valid_for_subject_name(&name).is_ok()
}
