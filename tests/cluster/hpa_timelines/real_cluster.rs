//! The real cluster: its objects, the state of its pods, and the actions on objects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chrono::Utc;
use futures::StreamExt;
use futures::future::try_join_all;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kedge_metrics_api::{KubeReviewer, Parts, Readiness, Trust};
use kedge_serving::ServingCertificate;
use kedge_test_cluster::external_metrics::Certificate;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, external_metrics};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::record::{self, Record};
use super::script::{Action, DOWNSCALE_WINDOW, NAMESPACE, Timeline, with_owner};
use super::scripted_metrics::{Done, Next, ScriptedMetrics, Written};

const SYNC_PERIOD: Duration = Duration::from_millis(1000);

/// How long pods must be unchanged before they count as settled: the controller gets the watch events, too.
const QUIET: Duration = Duration::from_millis(250);

/// The delay between the starts of two playbacks, so that not all act at the same time.
const STAGGER: Duration = Duration::from_millis(100);

/// Longer than a playback takes, unless the machine is very busy: then its record is incomplete.
const PLAYBACK_LIMIT: Duration = Duration::from_secs(300);

/// Logs the reads and writes of scales by the controller, and its status updates.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  users: ["system:serviceaccount:kube-system:horizontal-pod-autoscaler"]
  resources:
  - {group: apps, resources: [deployments/scale]}
  - {group: autoscaling, resources: [horizontalpodautoscalers/status]}
- level: None
"#;

/// A cluster whose metrics API is the test's own.
pub(super) struct RealCluster {
    cluster: Cluster,
    client: kube::Client,
    _policy: tempfile::TempDir,
}

impl RealCluster {
    pub(super) async fn open(name: &str) -> anyhow::Result<Self> {
        let policy = tempfile::tempdir()?;
        let path: PathBuf = policy.path().join("audit-policy.yaml");
        std::fs::write(&path, AUDIT_POLICY)?;
        let cluster = Cluster::builder(name)
            .nodes(2)
            .hpa_sync_period(SYNC_PERIOD)
            .apiserver_flag(format!("--audit-policy-file={}", path.display()))
            .controller_manager_flag(format!(
                "--horizontal-pod-autoscaler-downscale-stabilization={}s",
                DOWNSCALE_WINDOW.num_seconds()
            ))
            // Responses are delayed, and no HPA may wait for the response to another.
            .controller_manager_flag("--concurrent-horizontal-pod-autoscaler-syncs=100")
            .start()
            .await?;
        cluster.kubectl(["create", "namespace", NAMESPACE])?;
        let client = cluster.client().await?;
        Ok(Self { cluster, client, _policy: policy })
    }

    /// Plays all timelines at once, and returns what the controller read and wrote.
    pub(super) async fn play_all(&self, timelines: &[Timeline]) -> anyhow::Result<Vec<Record>> {
        self.clear().await?;
        let pod_watch = PodWatch::watch(&self.client).await?;
        let metrics = Arc::new(ScriptedMetrics::new(timelines, pod_watch.clone()));
        let server = self.serve(metrics.clone()).await?;
        let deployments: Vec<_> = timelines.iter().map(Timeline::deployment).collect();
        self.cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": deployments }))?;
        for timeline in timelines {
            until(&format!("{} has its pods", timeline.name), || pod_watch.settled(timeline.name).is_some()).await?;
        }
        let began_at = Utc::now();
        let begins = (0..).map(|number| STAGGER * number);
        let playbacks = timelines.iter().zip(begins).map(|(timeline, begins)| self.play(timeline, &metrics, begins));
        if let Ok(played) = tokio::time::timeout(PLAYBACK_LIMIT, try_join_all(playbacks)).await {
            played?;
        }
        // The last sync of each timeline ends.
        sleep(Duration::from_secs(1)).await;
        server.abort();
        record::read_audit_log(&self.cluster.audit_log(), began_at, metrics.playbacks())
    }

    /// Deletes the objects of an earlier round.
    async fn clear(&self) -> anyhow::Result<()> {
        for kind in ["hpa", "deployment", "pod"] {
            self.cluster.kubectl(["delete", kind, "--all", "--namespace", NAMESPACE])?;
        }
        Ok(())
    }

    async fn serve(&self, metrics: Arc<ScriptedMetrics>) -> anyhow::Result<JoinHandle<()>> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let certificate = Certificate::for_metrics_api()?;
        external_metrics::register(&self.cluster, listener.local_addr()?.port(), &certificate)?;
        let readiness = Readiness::new();
        readiness.mark_ready();
        let parts = Parts {
            source: metrics,
            reviewer: Arc::new(KubeReviewer::new(self.client.clone())),
            trust: Trust::fetch(&self.client).await?,
            certificate: ServingCertificate::from_pem(certificate.chain.as_bytes(), certificate.key.as_bytes())?,
            readiness,
        };
        let settings = kedge_metrics_api::Settings {
            request_limit: Duration::from_secs(40),
            reads_max: 1000,
            ..kedge_metrics_api::Settings::default()
        };
        let server = tokio::spawn(async {
            kedge_metrics_api::serve(listener, settings, parts, std::future::pending()).await.expect("it serves");
        });
        external_metrics::until_available(&self.cluster, || Ok(())).await?;
        Ok(server)
    }

    /// Plays one timeline after a delay: creates its HPA, and applies its actions until it is over.
    async fn play(&self, timeline: &Timeline, metrics: &ScriptedMetrics, begins: Duration) -> anyhow::Result<()> {
        sleep(begins).await;
        apply_action(&self.client, timeline, &Action::Create).await?;
        metrics.begin(timeline.name);
        loop {
            match metrics.next(timeline.name) {
                Next::Over => return Ok(()),
                Next::Wait => sleep(Duration::from_millis(20)).await,
                Next::Act(action) => {
                    let at = Utc::now();
                    let written = apply_action(&self.client, timeline, &action).await?;
                    metrics.acted(timeline.name, at, Done { action, written });
                }
            }
        }
    }
}

/// Applies an action, to the real cluster or to a plane.
pub(super) async fn apply_action(
    client: &kube::Client,
    timeline: &Timeline,
    action: &Action,
) -> anyhow::Result<Written> {
    let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(client.clone(), NAMESPACE);
    let name = timeline.name;
    match action {
        Action::Create => {
            hpas.create(&PostParams::default(), &serde_json::from_value(timeline.hpa())?).await?;
        }
        Action::Delete => {
            hpas.delete(name, &Default::default()).await?;
        }
        Action::Change(spec) => {
            let patch = Patch::Merge(json!({ "spec": with_owner(spec.clone(), name) }));
            let written = hpas.patch(name, &PatchParams::default(), &patch).await?;
            return Ok(Written::Hpa(version(&written)));
        }
        Action::Scale(replicas) => {
            let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
            let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
            let written = deployments.patch(name, &PatchParams::default(), &patch).await?;
            return Ok(Written::Deployment(version(&written)));
        }
    }
    Ok(Written::Other)
}

fn version(object: &impl kube::Resource) -> u64 {
    object.meta().resource_version.as_ref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

async fn until(what: &str, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let check = async || if is_so() { Ok(()) } else { Err("not yet") };
    wait_for(what, DEADLINE, check).await
}

/// The Deployments, their pods and the writes of HPAs, from watches.
#[derive(Clone, Debug, Default)]
pub(super) struct PodWatch(Arc<Mutex<WatchedObjects>>);

#[derive(Debug, Default)]
struct WatchedObjects {
    deployments: BTreeMap<String, Deployment>,
    /// By the name of the Deployment, then their own.
    pods: BTreeMap<String, BTreeMap<String, Pod>>,
    changed_at: BTreeMap<String, Instant>,
    /// When each HPA was written.
    hpa_writes: BTreeMap<String, Vec<Instant>>,
}

impl PodWatch {
    async fn watch(client: &kube::Client) -> anyhow::Result<Self> {
        let pod_watch = Self::default();
        let (deployments, pods, hpas) = (pod_watch.clone(), pod_watch.clone(), pod_watch.clone());
        follow(Api::<Deployment>::namespaced(client.clone(), NAMESPACE), move |deployment, _| {
            deployments.note_deployment(deployment);
        })
        .await?;
        follow(Api::<Pod>::namespaced(client.clone(), NAMESPACE), move |pod, is_gone| pods.note_pod(pod, is_gone))
            .await?;
        follow(Api::<HorizontalPodAutoscaler>::namespaced(client.clone(), NAMESPACE), move |hpa, _| {
            hpas.lock().hpa_writes.entry(hpa.metadata.name.unwrap_or_default()).or_default().push(Instant::now());
        })
        .await?;
        Ok(pod_watch)
    }

    /// When the HPA was written.
    pub(super) fn hpa_writes(&self, name: &str) -> Vec<Instant> {
        self.lock().hpa_writes.get(name).cloned().unwrap_or_default()
    }

    /// The number of pods, once the Deployment has exactly its desired replicas and all are ready.
    pub(super) fn settled(&self, name: &str) -> Option<i32> {
        let seen = self.lock();
        let deployment = seen.deployments.get(name)?;
        let status = deployment.status.clone().unwrap_or_default();
        let wanted = deployment.spec.as_ref()?.replicas?;
        let pods = seen.pods.get(name);
        let counts = [
            status.replicas.unwrap_or_default(),
            status.ready_replicas.unwrap_or_default(),
            i32::try_from(pods.map_or(0, BTreeMap::len)).ok()?,
        ];
        let are_ready = pods.into_iter().flatten().all(|(_, pod)| is_ready(pod));
        let is_quiet = seen.changed_at.get(name)?.elapsed() > QUIET;
        let is_current = status.observed_generation == deployment.metadata.generation;
        (is_quiet && is_current && are_ready && counts == [wanted; 3]).then_some(wanted)
    }

    fn note_deployment(&self, deployment: Deployment) {
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let mut seen = self.lock();
        seen.changed_at.insert(name.clone(), Instant::now());
        seen.deployments.insert(name, deployment);
    }

    fn note_pod(&self, pod: Pod, is_gone: bool) {
        let owner = pod.metadata.labels.as_ref().and_then(|labels| labels.get("app")).cloned().unwrap_or_default();
        let name = pod.metadata.name.clone().unwrap_or_default();
        let mut seen = self.lock();
        seen.changed_at.insert(owner.clone(), Instant::now());
        let pods = seen.pods.entry(owner).or_default();
        if is_gone {
            pods.remove(&name);
        } else {
            pods.insert(name, pod);
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchedObjects> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready" && condition.status == "True");
    pod.metadata.deletion_timestamp.is_none() && ready.next().is_some()
}

/// Calls `on_change` with every version of every object from now on, in another task.
async fn follow<K>(api: Api<K>, on_change: impl Fn(K, bool) + Send + 'static) -> anyhow::Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + kube::Resource + Send + 'static,
{
    let mut last = api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
    tokio::spawn(async move {
        loop {
            let Ok(stream) = api.watch(&WatchParams::default().timeout(290), &last).await else { return };
            let mut stream = std::pin::pin!(stream);
            while let Some(Ok(event)) = stream.next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        last = object.meta().resource_version.clone().unwrap_or_default();
                        on_change(object, false);
                    }
                    WatchEvent::Deleted(object) => {
                        last = object.meta().resource_version.clone().unwrap_or_default();
                        on_change(object, true);
                    }
                    WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
                }
            }
        }
    });
    Ok(())
}
