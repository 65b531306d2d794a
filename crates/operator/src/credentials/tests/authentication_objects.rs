//! What is written to the authentication objects.

use std::time::Duration;

use super::usage::{Usage, WatchCoverage};
use super::*;
use crate::cluster_cache::ClusterCache;
use crate::telemetry::Telemetry;
use kedge_cluster::Clock;
use kedge_cluster::EventPublisher;
use kedge_cluster::ListWatchEvent;

const EVENTS: &str = "/apis/events.k8s.io/v1/events";

struct Rig {
    cluster: TestCluster,
    cache: Arc<ClusterCache>,
    _tasks: tokio::task::JoinSet<()>,
}

impl Rig {
    fn start(coverage: WatchCoverage) -> Self {
        let cluster = TestCluster::new();
        let cache = Arc::new(ClusterCache::new(Arc::new(WorkQueue::new())));
        let events = Arc::new(EventPublisher::new(cluster.client(), Clock::System, "test".to_owned()));
        let usage = Arc::new(Usage {
            telemetry: Arc::new(Telemetry::new("0")),
            client: cluster.client(),
            events: events.clone(),
            jobs: None,
            cluster: cache.clone(),
            scopes: vec![Scope::Cluster],
            selector: None,
            coverage,
        });
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(usage.run());
        tasks.spawn(async move { match events.write_published().await {} });
        Self { cluster, cache, _tasks: tasks }
    }

    fn refer(&self, name: &str, reference: Value) {
        let mut object = object(json!({}), reference);
        object.metadata.name = Some(name.to_owned());
        // Another version each time.
        object.metadata.resource_version = None;
        self.cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object.into()));
    }

    fn reasons(&self) -> Vec<String> {
        let events = self.cluster.objects(EVENTS);
        events.iter().map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until a field of an object has this value.
    async fn expect(&self, path: &str, field: &str, expected: Value) {
        let found = || self.cluster.object(path).unwrap_or_default().pointer(field).cloned().unwrap_or_default();
        let waiting = async {
            while found() != expected {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let done = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(done.is_ok(), "{field} of {path} is {}, not {expected}", found());
    }
}

#[tokio::test(start_paused = true)]
async fn users_are_listed_while_they_refer_to_it() {
    let rig = Rig::start(WatchCoverage::Everything);
    let prom = format!("{AUTHS}/prom");
    rig.cluster.apply(&prom, from_secret("creds"));
    rig.expect(&prom, "/metadata/finalizers", json!(["finalizer.keda.sh"])).await;
    rig.refer("b", json!({ "name": "prom" }));
    rig.expect(&prom, "/status/scaledobjects", json!("b")).await;
    rig.refer("a", json!({ "name": "prom", "kind": "TriggerAuthentication" }));
    rig.expect(&prom, "/status/scaledobjects", json!("b,a")).await;
    rig.refer("b", json!({ "name": "another" }));
    rig.expect(&prom, "/status/scaledobjects", json!("a")).await;
    rig.refer("a", json!({ "name": "prom", "kind": "ClusterTriggerAuthentication" }));
    rig.expect(&prom, "/status", json!({})).await;
    assert_eq!(rig.reasons(), ["TriggerAuthenticationAdded"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_changed() {
    let rig = Rig::start(WatchCoverage::Everything);
    let mut known = from_secret("creds");
    known["metadata"] = json!({ "finalizers": ["finalizer.keda.sh"] });
    known["status"] = json!({ "scaledobjects": "a" });
    rig.cluster.apply(&format!("{AUTHS}/prom"), known);
    rig.refer("a", json!({ "name": "prom" }));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let writes: Vec<String> =
        rig.cluster.requests().into_iter().filter(|request| !request.starts_with("GET")).collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_and_the_deletion_are_published_and_the_finalizer_is_removed() {
    let rig = Rig::start(WatchCoverage::Everything);
    let prom = format!("{CLUSTER_AUTHS}/prom");
    rig.cluster.apply(&prom, from_secret("creds"));
    rig.expect(&prom, "/metadata/finalizers", json!(["finalizer.keda.sh"])).await;
    let mut changed = rig.cluster.object(&prom).unwrap();
    changed["spec"] = from_secret("other")["spec"].clone();
    rig.cluster.apply(&prom, changed);
    tokio::time::sleep(Duration::from_secs(5)).await;
    rig.cluster.delete(&prom);
    rig.expect(&prom, "/metadata", Value::Null).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut reasons = rig.reasons();
    reasons.sort();
    let expected = ["Added", "Deleted", "Updated"].map(|what| format!("ClusterTriggerAuthentication{what}"));
    assert_eq!(reasons, expected);
    let namespaces: Vec<Value> =
        rig.cluster.objects(EVENTS).iter().map(|event| event["metadata"]["namespace"].clone()).collect();
    assert!(namespaces.iter().all(|namespace| namespace == "default"), "{namespaces:?}");
}

#[tokio::test(start_paused = true)]
async fn names_of_objects_that_are_not_watched_stay() {
    let rig = Rig::start(WatchCoverage::SomeNamespaces);
    let (own, shared) = (format!("{AUTHS}/prom"), format!("{CLUSTER_AUTHS}/prom"));
    for path in [&own, &shared] {
        let mut known = from_secret("creds");
        known["status"] = json!({ "scaledobjects": "elsewhere" });
        rig.cluster.apply(path, known);
    }
    rig.refer("a", json!({ "name": "prom", "kind": "ClusterTriggerAuthentication" }));
    rig.expect(&shared, "/status/scaledobjects", json!("elsewhere,a")).await;
    rig.expect(&own, "/status", json!({})).await;
}
