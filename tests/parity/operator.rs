//! The operator that the cases are played with.

use kedge_test_cluster::{RunningKeda, RunningOperator};

/// Kedge, or KEDA while it is recorded.
pub(crate) enum Operator {
    Kedge(RunningOperator),
    Keda(RunningKeda),
}

impl Operator {
    /// Its own metrics.
    pub(crate) async fn metrics(&self) -> anyhow::Result<String> {
        match self {
            Operator::Kedge(kedge) => kedge.metrics().await,
            Operator::Keda(keda) => Ok(keda.metrics().await? + &keda.adapter_metrics().await?),
        }
    }
}
