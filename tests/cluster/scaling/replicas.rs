//! Two replicas of the operator: one is the leader, both serve metrics, and when the leader is killed the standby takes over.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use http::Request;
use kedge_test_cluster::slowdown;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use kedge_tests::programs;
use serde_json::{Value, json};

use super::load::writes;

/// A short lease duration, so that the test is short.
const LEASE_DURATION: Duration = Duration::from_secs(4);

fn replica(name: &str) -> Launch {
    let variable = |name: &str, value: &str| (format!("KEDA_OPERATOR_LEADER_ELECTION_{name}"), value.to_owned());
    Launch {
        name: name.to_owned(),
        flags: vec!["--leader-elect".to_owned()],
        environment: vec![
            ("POD_NAME".to_owned(), name.to_owned()),
            ("POD_NAMESPACE".to_owned(), "kedge".to_owned()),
            variable("LEASE_DURATION", "4s"),
            variable("RENEW_DEADLINE", "3s"),
            variable("RETRY_PERIOD", "500ms"),
        ],
    }
}

/// The replica that is the leader.
fn leader(cluster: &Cluster) -> String {
    let lease = cluster.read("/apis/coordination.k8s.io/v1/namespaces/kedge/leases/operator.keda.sh").unwrap();
    let holder = lease.unwrap_or_default()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    holder.split('_').next().unwrap_or_default().to_owned()
}

/// A time of the lease.
fn lease_time(cluster: &Cluster, field: &str) -> DateTime<Utc> {
    let lease = cluster.read("/apis/coordination.k8s.io/v1/namespaces/kedge/leases/operator.keda.sh").unwrap().unwrap();
    lease["spec"][field].as_str().unwrap_or_default().parse().unwrap()
}

async fn metric(client: &kube::Client, namespace: &TestNamespace<'_>) -> Result<Value, kube::Error> {
    let path = format!(
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/s0-prometheus?labelSelector=scaledobject.keda.sh%2Fname%3Dweb",
        namespace.name
    );
    client.request::<Value>(Request::get(path).body(Vec::new()).unwrap()).await
}

#[tokio::test]
async fn when_the_leader_is_killed_metrics_are_served_and_the_standby_takes_over() {
    let cluster = super::start(super::quick("replicas")).await;
    let source = Exposition::start().await.unwrap();
    source.set("load", 0.0);
    let server = kedge_test_cluster::Prometheus::start("replicas-prometheus", &[source.address()]).await.unwrap();
    let launches = vec![replica("a"), replica("b")];
    let (mut operators, _balancer) =
        RunningOperator::launch_replicas(&cluster, &programs::kedge(), launches).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "replicas");
    namespace.until("a replica is the leader", false, |namespace| leader(namespace.cluster).is_empty()).await;
    let first = leader(&cluster);
    // On a busy machine a scrape may be late, and then the series is missing for a moment: that must not count as zero.
    let mut trigger = prometheus(&server.url(), "load", 10);
    trigger["metadata"]["ignoreNullValues"] = json!("false");
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    namespace.until("it is ready", "True".to_owned(), |namespace| namespace.condition("web", "Ready").0).await;

    // The balancer takes the replicas in turn, and each client has its own connection: both replicas respond.
    for _ in 0..4 {
        let client = cluster.client().await.unwrap();
        // For the same reason there may be no value for a moment.
        let answered = wait_for("a replica answers", DEADLINE, async || {
            let answer = metric(&client, &namespace).await.map_err(|error| error.to_string())?;
            if answer["items"][0]["value"] == "0" { Ok(()) } else { Err(answer.to_string()) }
        });
        answered.await.unwrap();
    }

    let index = if first == "a" { 0 } else { 1 };
    let dead = operators.remove(index);
    let client = cluster.client().await.unwrap();
    drop(dead);
    let killed = Instant::now();
    // The killed replica does not renew the lease any more: the other one may acquire it a lease duration after this.
    let renewed_at = lease_time(&cluster, "renewTime");
    source.set("load", 25.0);
    let (mut answers, mut refused, mut gap) = (0, 0, Duration::ZERO);
    let mut last = Instant::now();
    while leader(&cluster) == first || namespace.replicas("deployment", "web") == Some(0) {
        assert!(killed.elapsed() < DEADLINE, "no replica took over:\n{}", operators[0].log());
        match metric(&client, &namespace).await {
            Ok(_) => {
                gap = gap.max(last.elapsed());
                last = Instant::now();
                answers += 1;
            }
            Err(_) => refused += 1,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let taken_over = killed.elapsed();
    println!("taken over after {taken_over:?}; {answers} answers, {refused} refused, longest gap {gap:?}");
    let acquired_at = lease_time(&cluster, "acquireTime");
    let held_for = acquired_at - renewed_at;
    assert!(
        held_for.to_std().is_ok_and(|held| held >= LEASE_DURATION),
        "the lease was taken {held_for} after it was renewed"
    );
    let (within, silent) =
        (slowdown::allowed(LEASE_DURATION + Duration::from_secs(6)), slowdown::allowed(Duration::from_secs(2)));
    assert!(taken_over < within, "{taken_over:?}, and {within:?} are allowed");
    assert!(
        answers > 5 && gap < silent,
        "{answers} answers, {refused} refused, longest gap {gap:?}, allowed {silent:?}"
    );

    namespace.until_replicas("web", 3).await;
    let scaled: Vec<String> = writes(&namespace).into_iter().filter(|write| write.contains("/web/scale?")).collect();
    assert_eq!(scaled.len(), 1, "{scaled:?}");

    // A replica that is terminated releases the lease, so that the next one need not wait.
    operators.remove(0).terminate().await.unwrap();
    assert_eq!(leader(&cluster), "");
    let _again = RunningOperator::launch(&cluster, &programs::kedge(), replica("c")).await.unwrap();
    namespace.until("the next one is the leader", "c".to_owned(), |namespace| leader(namespace.cluster)).await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(3));
}
