//! ScaledObjects on a real cluster: the operator, the real HPA controller, a real Prometheus.

#[path = "scaling/bad_input.rs"]
mod bad_input;
#[path = "scaling/hpas.rs"]
mod hpas;
#[path = "scaling/load.rs"]
mod load;
#[path = "scaling/restart.rs"]
mod restart;
#[path = "scaling/steps.rs"]
mod steps;
#[path = "scaling/targets.rs"]
mod targets;

use std::time::Duration;

use kedge_test_cluster::{Cluster, RunningOperator};
use kedge_tests::{files, programs};
use tokio::sync::OnceCell;

static RUNNING: OnceCell<(Cluster, RunningOperator)> = OnceCell::const_new();

/// The cluster that these tests share, each in a namespace of its own, with the operator beside it.
async fn cluster() -> &'static Cluster {
    let start = async || {
        let cluster = start("scaling").await;
        let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
        (cluster, operator)
    };
    &RUNNING.get_or_init(start).await.0
}

/// A cluster with our CRDs, whose HPA controller is quick.
async fn start(name: &str) -> Cluster {
    let cluster = Cluster::builder(name).nodes(3).hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    cluster
}
