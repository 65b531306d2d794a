//! The processes of KEDA, or of Kedge.

use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::running_keda::ClientLimits;
use kedge_test_cluster::usage::Usage;
use kedge_test_cluster::{Cluster, Launch, RunningKeda, RunningOperator, operator};
use serde::{Deserialize, Serialize};

use crate::image;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Contender {
    /// As it is shipped.
    KedaDefaults,
    /// With raised limits of requests to the API server.
    Keda,
    Kedge,
    /// Answers every read at once: nothing that goes through the API server can be faster.
    StaticResponder,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KedaDefaults => "KEDA at its defaults",
            Self::Keda => "KEDA",
            Self::Kedge => "Kedge",
            Self::StaticResponder => "static responder",
        })
    }
}

pub(super) enum Processes {
    Keda(RunningKeda),
    Kedge { operator: RunningOperator, _webhooks: Port },
}

impl Processes {
    /// Starts it, and returns when the API server reads metrics from it. All roles run, admission included, though no webhook is
    /// registered.
    pub(super) async fn start(
        contender: Contender,
        cluster: &Cluster,
        kedge: &Path,
        name: &str,
    ) -> anyhow::Result<Self> {
        let keda = async |limits| RunningKeda::start_with(cluster, name, limits).await.map(Self::Keda);
        match contender {
            Contender::StaticResponder => bail!("the static responder is no operator"),
            Contender::KedaDefaults => keda(ClientLimits::Default).await,
            Contender::Keda => keda(ClientLimits::Raised).await,
            Contender::Kedge => {
                let webhooks = Port::reserve()?;
                let flags = vec![format!("--webhooks-bind-address=127.0.0.1:{}", webhooks.number)];
                let launch = Launch { name: name.to_owned(), flags, environment: image::environment() };
                let operator = RunningOperator::launch(cluster, kedge, launch).await?;
                Ok(Self::Kedge { operator, _webhooks: webhooks })
            }
        }
    }

    /// What its processes have used so far. Of KEDA those of operator and adapter: its webhooks are a third process.
    pub(super) fn usage(&self) -> anyhow::Result<Usage> {
        match self {
            Self::Keda(keda) => keda.process_ids().into_iter().map(Usage::of).sum(),
            Self::Kedge { operator, .. } => Usage::of(operator.process_id().context("it does not run")?),
        }
    }

    /// The user of its requests in the audit log.
    pub(super) fn user(&self) -> &'static str {
        match self {
            Self::Keda(_) => kedge_test_cluster::running_keda::USER,
            Self::Kedge { .. } => operator::IDENTITY,
        }
    }

    pub(super) fn metrics_api_port(&self) -> u16 {
        match self {
            Self::Keda(keda) => keda.metrics_api_port(),
            Self::Kedge { operator, .. } => operator.metrics_api_port(),
        }
    }

    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.check(),
            Self::Kedge { operator, .. } => operator.check(),
        }
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Keda(keda) => keda.end().await,
            Self::Kedge { operator, .. } => operator.terminate().await,
        }
    }
}
