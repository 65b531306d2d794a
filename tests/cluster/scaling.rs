//! ScaledObjects on a real cluster: the operator, the real HPA controller, a real Prometheus, a real metrics-server.

#[path = "scaling/aws.rs"]
mod aws;
#[path = "scaling/bad_input.rs"]
mod bad_input;
#[path = "scaling/cloudwatch.rs"]
mod cloudwatch;
#[path = "scaling/credentials.rs"]
mod credentials;
#[path = "scaling/external.rs"]
mod external;
#[path = "scaling/fallback.rs"]
mod fallback;
#[path = "scaling/faults.rs"]
mod faults;
#[path = "scaling/formulas.rs"]
mod formulas;
#[path = "scaling/hostile_tenants.rs"]
mod hostile_tenants;
#[path = "scaling/hpas.rs"]
mod hpas;
#[path = "scaling/hung_sources.rs"]
mod hung_sources;
#[path = "scaling/kafka.rs"]
mod kafka;
#[path = "scaling/kills.rs"]
mod kills;
#[path = "scaling/kubernetes_resource.rs"]
mod kubernetes_resource;
#[path = "scaling/load.rs"]
mod load;
#[path = "scaling/mysql.rs"]
mod mysql;
#[path = "scaling/nats.rs"]
mod nats;
#[path = "scaling/pauses.rs"]
mod pauses;
#[path = "scaling/postgresql.rs"]
mod postgresql;
#[path = "scaling/rabbitmq.rs"]
mod rabbitmq;
#[path = "scaling/redis.rs"]
mod redis;
#[path = "scaling/replicas.rs"]
mod replicas;
#[path = "scaling/resources.rs"]
mod resources;
#[path = "scaling/restart.rs"]
mod restart;
#[path = "scaling/rotation.rs"]
mod rotation;
#[path = "scaling/secrets.rs"]
mod secrets;
#[path = "scaling/sources.rs"]
mod sources;
#[path = "scaling/sqs.rs"]
mod sqs;
#[path = "scaling/steps.rs"]
mod steps;
#[path = "scaling/targets.rs"]
mod targets;
#[path = "scaling/triggers.rs"]
mod triggers;

use std::time::Duration;

use kedge_test_cluster::{Cluster, ClusterBuilder, RunningOperator};
use kedge_tests::{files, programs};
use tokio::sync::OnceCell;

static RUNNING: OnceCell<(Cluster, RunningOperator)> = OnceCell::const_new();

/// The cluster that most of these tests share, each in a namespace of its own, with the operator beside it.
async fn cluster() -> &'static Cluster {
    &running().await.0
}

async fn running() -> &'static (Cluster, RunningOperator) {
    RUNNING.get_or_init(|| start_with_operator(quick("scaling").nodes(3))).await
}

/// A cluster with a short HPA sync period.
fn quick(name: &str) -> ClusterBuilder {
    Cluster::builder(name).hpa_sync_period(Duration::from_secs(1))
}

/// Starts a cluster with our CRDs.
async fn start(builder: ClusterBuilder) -> Cluster {
    let cluster = builder.start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    cluster
}

/// Starts a cluster with our CRDs, and the operator beside it.
async fn start_with_operator(builder: ClusterBuilder) -> (Cluster, RunningOperator) {
    let cluster = start(builder).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    (cluster, operator)
}
