//! ScaledJobs on a real control plane: the real Job controller, a real Redis, and an operator that is killed.

use std::collections::BTreeSet;

use kedge_test_cluster::redis::{RedisServer, RedisServers};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, ControlPlane, Launch, RunningOperator};
use kedge_tests::namespace::TestNamespace;
use kedge_tests::{files, helm, programs};
use kedge_wire::resp::Reply;
use serde_json::{Value, json};

const MESSAGES: usize = 30;
const JOBS_MAX: usize = 8;

/// A queue, and workers that are played by the test.
struct Workshop<'a> {
    namespace: TestNamespace<'a>,
    redis: RedisServer,
    /// The pods whose message was taken.
    done: BTreeSet<String>,
}

impl Workshop<'_> {
    fn push(&self, count: usize) {
        for _ in 0..count {
            assert!(matches!(self.redis.ask(&["RPUSH", "orders", "x"]).unwrap(), Reply::Integer(_)));
        }
    }

    fn left(&self) -> i64 {
        match self.redis.ask(&["LLEN", "orders"]).unwrap() {
            Reply::Integer(left) => left,
            other => panic!("{other:?}"),
        }
    }

    /// Lets every pod that runs take its message, and then succeed: so it is at no time neither in the queue nor in a Job.
    fn work(&mut self) {
        for pod in items(&self.namespace.list("pod")) {
            let name = pod["metadata"]["name"].as_str().unwrap();
            if pod["status"]["phase"] == "Running" && self.done.insert(name.to_owned()) {
                assert_eq!(
                    self.redis.ask(&["LPOP", "orders"]).unwrap(),
                    Reply::Bulk(b"x".to_vec()),
                    "a Job without a message"
                );
                let patch = json!({ "status": { "phase": "Succeeded" } }).to_string();
                self.namespace.kubectl([
                    "patch",
                    "pod",
                    name,
                    "--subresource=status",
                    "--type=merge",
                    "--patch",
                    &patch,
                ]);
            }
        }
    }

    fn jobs(&self) -> Vec<Value> {
        items(&self.namespace.list("job"))
    }

    fn condition(&self, kind: &str) -> String {
        let object = self.namespace.get("scaledjob", "drain");
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |found| found["reason"].as_str().unwrap_or_default().to_owned())
    }
}

fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

fn is_finished(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Complete" && condition["status"] == "True")
}

fn scaled_job(address: &str, spec: Value) -> Value {
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "main" }] } });
    let metadata = json!({ "address": address, "listName": "orders", "listLength": "1" });
    let mut whole = json!({
        "jobTargetRef": { "backoffLimit": 0, "template": template },
        "pollingInterval": 1,
        "maxReplicaCount": JOBS_MAX,
        "triggers": [{ "type": "redis", "metadata": metadata }],
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        whole[field] = value.clone();
    }
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": "drain" }, "spec": whole })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_drained_by_one_job_for_each_message_though_the_operator_is_killed() {
    let builder = Cluster::builder("scaled-jobs").control_plane(ControlPlane::Real).nodes(1);
    let cluster = builder.start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    let launch = Launch { flags: vec!["--scaled-jobs".to_owned()], ..Launch::default() };
    let mut operator = RunningOperator::launch(&cluster, &programs::kedge(), launch).await.unwrap();
    allow_only_what_the_chart_does(&cluster);
    let mut servers = RedisServers::prepare("scaled-jobs-redis").await.unwrap();
    let redis = servers.start("one", &[]).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "drain");
    let mut workshop = Workshop { namespace, redis, done: BTreeSet::new() };
    workshop.push(MESSAGES);
    workshop.namespace.apply([scaled_job(&workshop.redis.address(), json!({}))]);

    // The operator is killed whenever work was done: it creates Jobs then.
    let mut killed_after = 0;
    let drained = async || {
        let jobs = workshop.jobs();
        let running = jobs.iter().filter(|job| !is_finished(job)).count();
        assert!(running <= JOBS_MAX, "{running} Jobs run");
        workshop.work();
        if workshop.done.len() > killed_after {
            killed_after = workshop.done.len();
            operator.kill_and_restart().unwrap();
        }
        let is_done = workshop.left() == 0 && jobs.iter().all(is_finished);
        if is_done { Ok(()) } else { Err((workshop.left(), jobs.len(), running)) }
    };
    wait_for("the queue is drained", DEADLINE, drained).await.unwrap();
    assert_eq!(workshop.jobs().len(), MESSAGES, "one for each message, none lost and none doubled");
    operator.until_ready().await.unwrap();
    let inactive = async || match workshop.condition("Active") {
        reason if reason == "ScalerNotActive" => Ok(()),
        other => Err(other),
    };
    wait_for("it is inactive", DEADLINE, inactive).await.unwrap();

    // A new spec: running Jobs are replaced, with their pods, and the history goes.
    workshop.push(2);
    workshop.namespace.until("two Jobs run", 2, |namespace| running_of(namespace, "1")).await;
    workshop.namespace.apply([scaled_job(&workshop.redis.address(), json!({ "maxReplicaCount": 3 }))]);
    workshop.namespace.until("two Jobs of the new spec run", 2, |namespace| running_of(namespace, "2")).await;
    workshop
        .namespace
        .until("no Job of the old spec is left", 2, |namespace| items(&namespace.list("job")).len())
        .await;
    workshop.namespace.until("their pods are gone", 2, |namespace| items(&namespace.list("pod")).len()).await;

    // A gradual one: they run to their end.
    let gradual = json!({ "maxReplicaCount": 4, "rollout": { "strategy": "gradual" } });
    workshop.namespace.apply([scaled_job(&workshop.redis.address(), gradual)]);
    workshop.push(2);
    workshop.namespace.until("two Jobs of the third spec run", 2, |namespace| running_of(namespace, "3")).await;
    assert_eq!(running_of(&workshop.namespace, "2"), 2);

    // Deleted with its Jobs.
    workshop.namespace.kubectl(["delete", "scaledjob", "drain"]);
    workshop.namespace.until("no Job is left", 0, |namespace| items(&namespace.list("job")).len()).await;
    operator.terminate().await.unwrap();
}

/// Gives the operator's account the rights that the chart gives it in all namespaces, in place of those of an administrator.
fn allow_only_what_the_chart_does(cluster: &Cluster) {
    cluster.kubectl(["delete", "clusterrolebinding", "kedge"]).unwrap();
    let rendered = helm::template(&["--set=crds.install=false,operator.scaledJobs.enabled=true"]).unwrap();
    for mut document in rendered.into_iter().filter(|document| document.is("ClusterRole")) {
        let name = document.object["metadata"]["name"].as_str().unwrap().to_owned();
        document.object["metadata"] = json!({ "name": name });
        cluster.apply(&document.object).unwrap();
        let binding = ["create", "clusterrolebinding", &name, "--clusterrole", &name, "--serviceaccount=kedge:kedge"];
        cluster.kubectl(binding).unwrap();
    }
}

/// How many Jobs of a generation run.
fn running_of(namespace: &TestNamespace<'_>, generation: &str) -> usize {
    let is_of = |job: &Value| job["metadata"]["annotations"]["scaledjob.keda.sh/generation"] == generation;
    items(&namespace.list("job")).iter().filter(|job| is_of(job) && !is_finished(job)).count()
}
