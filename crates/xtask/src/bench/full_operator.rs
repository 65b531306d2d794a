//! Kedge as it is shipped: one process with all roles.

use std::path::Path;

use anyhow::Context;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::usage::Usage;
use kedge_test_cluster::{Cluster, Launch, RunningOperator};

/// Admission runs as well, though no webhook is registered.
pub(super) struct FullOperator {
    pub(super) operator: RunningOperator,
    _webhooks: Port,
}

impl FullOperator {
    pub(super) async fn start(cluster: &Cluster, program: &Path, name: &str) -> anyhow::Result<Self> {
        let webhooks = Port::reserve()?;
        let flags = vec![format!("--webhooks-bind-address=127.0.0.1:{}", webhooks.number)];
        let launch = Launch { name: name.to_owned(), flags, ..Launch::default() };
        let operator = RunningOperator::launch(cluster, program, launch).await?;
        Ok(Self { operator, _webhooks: webhooks })
    }

    /// What the process has used so far.
    pub(super) fn usage(&self) -> anyhow::Result<Usage> {
        Usage::of(self.operator.process_id().context("it does not run")?)
    }
}
