//! The processes of KEDA, or of Kedge.

use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};
use kedge_test_cluster::running_keda::ClientLimits;
use kedge_test_cluster::usage::Usage;
use kedge_test_cluster::{Cluster, RunningKeda, operator};
use serde::{Deserialize, Serialize};

use crate::bench::full_operator::FullOperator;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Contender {
    /// As it is shipped.
    KedaDefaults,
    /// With raised limits of requests to the API server.
    Keda,
    Kedge,
    /// No operator: nothing that goes through the API server can be faster.
    Floor,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KedaDefaults => "KEDA at its defaults",
            Self::Keda => "KEDA",
            Self::Kedge => "Kedge",
            Self::Floor => "floor",
        })
    }
}

pub(super) enum Processes {
    Keda(RunningKeda),
    Kedge(FullOperator),
}

impl Processes {
    /// Starts it, and returns when the API server reads metrics from it.
    pub(super) async fn start(
        contender: Contender,
        cluster: &Cluster,
        kedge: &Path,
        name: &str,
    ) -> anyhow::Result<Self> {
        let keda = async |limits| RunningKeda::start_with(cluster, name, limits).await.map(Self::Keda);
        match contender {
            Contender::Floor => bail!("the floor is no operator"),
            Contender::KedaDefaults => keda(ClientLimits::Default).await,
            Contender::Keda => keda(ClientLimits::Raised).await,
            Contender::Kedge => FullOperator::start(cluster, kedge, name).await.map(Self::Kedge),
        }
    }

    /// What its processes have used so far.
    pub(super) fn usage(&self) -> anyhow::Result<Usage> {
        self.ids()?.into_iter().map(Usage::of).sum()
    }

    /// Its processes. Of KEDA operator and adapter: its webhooks are a third process.
    pub(super) fn ids(&self) -> anyhow::Result<Vec<u32>> {
        match self {
            Self::Keda(keda) => Ok(keda.process_ids()),
            Self::Kedge(kedge) => Ok(vec![kedge.operator.process_id().context("it does not run")?]),
        }
    }

    /// The user of its requests in the audit log.
    pub(super) fn user(&self) -> &'static str {
        match self {
            Self::Keda(_) => kedge_test_cluster::running_keda::USER,
            Self::Kedge(_) => operator::IDENTITY,
        }
    }

    pub(super) fn metrics_api_port(&self) -> u16 {
        match self {
            Self::Keda(keda) => keda.metrics_api_port(),
            Self::Kedge(kedge) => kedge.operator.metrics_api_port(),
        }
    }

    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.check(),
            Self::Kedge(kedge) => kedge.operator.check(),
        }
    }

    /// Asks its processes to end, and starts them again when they have.
    pub(super) async fn restart(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.restart().await,
            Self::Kedge(kedge) => kedge.operator.restart().await,
        }
    }

    /// Returns when the API server reads metrics from it, though it was away.
    pub(super) async fn until_registered(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.until_registered(cluster).await,
            Self::Kedge(kedge) => kedge.operator.until_registered(cluster).await,
        }
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.end().await,
            Self::Kedge(kedge) => kedge.operator.terminate().await,
        }
    }
}
