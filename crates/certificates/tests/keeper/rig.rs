//! A cluster in memory with the objects that are to trust the authority, and keepers as replicas run them, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use kedge_certificates::bundles::EXTERNAL_METRICS;
use kedge_certificates::wanted::service_names;
use kedge_certificates::{Contents, Keeper, Lifetimes, Part, Settings, Target, Wanted};
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

/// How often is looked whether all is well.
const LOOK: Duration = Duration::from_millis(250);
const VERDICT_HOLDS: Duration = Duration::from_secs(5);

pub(crate) struct Rig {
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

impl Rig {
    pub(crate) async fn new(lifetimes: Lifetimes) -> Self {
        let clock = Clock::starting_at("2026-12-01T10:00:00Z".parse().unwrap());
        let wall = clock.clone();
        let plane = Plane::new(Options { wall: Arc::new(move || wall.now()), ..Options::default() });
        let rig = Self { plane, clock, lifetimes };
        rig.apply("v1", "Namespace", json!({ "metadata": { "name": NAMESPACE } })).await;
        rig
    }

    /// With a leaf for a minute and an authority for three.
    pub(crate) async fn hurried() -> Self {
        let rig = Self::new(Lifetimes { authority: Duration::from_secs(180), leaf: Duration::from_secs(60) }).await;
        rig.register().await;
        rig
    }

    /// The objects that are to trust the authority.
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
        let force = PatchParams::apply("somebody").force();
        self.api(api_version, kind).patch(&name, &force, &Patch::Apply(body)).await.unwrap();
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match kind {
            "Secret" => Api::namespaced_with(self.plane.client("somebody"), NAMESPACE, &resource),
            _ => Api::all_with(self.plane.client("somebody"), &resource),
        }
    }

    pub(crate) fn secrets(&self) -> Api<DynamicObject> {
        self.api("v1", "Secret")
    }

    /// Overwrites parts of the Secret.
    pub(crate) async fn spoil(&self, data: Value) {
        let patch = Patch::Merge(json!({ "data": data }));
        self.secrets().patch(SECRET, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) fn settings(&self) -> Settings {
        let services = ["keda-operator", "keda-metrics-apiserver", "keda-admission-webhooks"];
        let names = service_names(&services, NAMESPACE, "cluster.local");
        Settings {
            part: Part::Keeps,
            namespace: NAMESPACE.to_owned(),
            secret: SECRET.to_owned(),
            wanted: Wanted { names, lifetimes: self.lifetimes },
            targets: vec![
                Target::ApiService { name: EXTERNAL_METRICS.to_owned() },
                Target::ValidatingWebhooks { name: WEBHOOKS.to_owned() },
            ],
        }
    }

    pub(crate) async fn replica(&self) -> Replica {
        self.process(Part::Keeps).await
    }

    /// A process that does this about the Secret.
    pub(crate) async fn process(&self, part: Part) -> Replica {
        let client = self.plane.client("operator");
        let settings = Settings { part, ..self.settings() };
        let (certificate, keeper) = Keeper::start(client, self.clock.clone(), settings).await;
        Replica { certificate, task: tokio::spawn(async { match keeper.run().await {} }) }
    }

    pub(crate) fn object(&self, plural: &str) -> Option<Arc<Value>> {
        let (group, namespace, name) = match plural {
            "secrets" => ("", Some(NAMESPACE), SECRET),
            "apiservices" => ("apiregistration.k8s.io", None, EXTERNAL_METRICS),
            _ => ("admissionregistration.k8s.io", None, WEBHOOKS),
        };
        self.plane.object(&Gvr::new(group, "v1", plural), namespace, name)
    }

    pub(crate) fn contents(&self) -> Contents {
        let secret = self.object("secrets").unwrap_or_default();
        let part = |name: &str| STANDARD.decode(secret["data"][name].as_str().unwrap_or_default()).unwrap();
        Contents {
            authorities: part("ca.crt"),
            authority_key: part("ca.key"),
            chain: part("tls.crt"),
            key: part("tls.key"),
        }
    }

    /// Every bundle of every object that is there.
    pub(crate) fn bundles(&self) -> Vec<Vec<u8>> {
        let of = |holder: &Value| STANDARD.decode(holder["caBundle"].as_str().unwrap_or_default()).unwrap();
        let service = self.object("apiservices").map(|object| of(&object["spec"]));
        let hooks = self.object("validatingwebhookconfigurations");
        let entries = hooks.as_ref().and_then(|object| object["webhooks"].as_array()).into_iter().flatten();
        service.into_iter().chain(entries.map(|entry| of(&entry["clientConfig"]))).collect()
    }

    /// How often the Secret was written since a revision.
    pub(crate) fn secret_writes_since(&self, revision: u64) -> usize {
        let changes = self.plane.changes_since(revision).unwrap();
        changes.iter().filter(|change| change.name == SECRET).count()
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Lets time go by, and fails at the first moment at which a caller of any replica would not trust it. Answers how many leaves
    /// were shown.
    pub(crate) async fn live(&self, replicas: &[Replica], time: Duration) -> usize {
        let (mut leaves, ends) = (Vec::new(), Instant::now() + time);
        // A verdict holds for a while: to judge takes long, and time alone changes it slowly.
        let (look, holds) = (LOOK.max(time / 2000), VERDICT_HOLDS.max(time / 50));
        let mut verdicts = BTreeMap::new();
        while Instant::now() < ends {
            for replica in replicas {
                let leaf = replica.certificate.leaf();
                for bundle in self.bundles() {
                    let judged_at = verdicts.entry((leaf.to_vec(), bundle.clone()));
                    let judged_at = judged_at.or_insert_with(|| Instant::now() - holds);
                    if judged_at.elapsed() >= holds {
                        assert!(is_trusted(&leaf, &bundle, self.now()), "at {}", self.now());
                        *judged_at = Instant::now();
                    }
                }
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
            }
            sleep(look).await;
        }
        leaves.len()
    }
}

/// As the API server judges.
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
