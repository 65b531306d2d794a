//! `kubernetes-workload`: how many pods of the namespace a label selector finds, or on how many nodes they are.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;

use crate::cluster::{self, ClusterReads, PodCount};
use crate::error::ReadError;
use crate::metadata::{Field, Reader, convert};
use crate::metric_name;
use crate::registry::Shared;
use crate::scaler::{BoxFuture, Known, Scaler};
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};

/// Pods that are counted.
#[derive(Debug)]
pub(crate) struct WorkloadScaler {
    cluster: Arc<dyn ClusterReads>,
    namespace: String,
    selector: String,
    counted: Counted,
    activation: f64,
    limit: Duration,
    metric: External,
}

/// What is counted: `groupByNode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Pods,
    Nodes,
}

pub(crate) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<WorkloadScaler, BuildError> {
    let mut read = Reader::new(trigger);
    let selector = read.required(Field::metadata(&["podSelector"]), convert::selector);
    let name = metric_name::full_name(trigger.index, &format!("workload-{}", trigger.namespace));
    let value = Field::metadata(&["value"]);
    let metric = External::parse(&mut read, trigger, name, value, "write how many pods one replica is for");
    let activation = read.or(Field::metadata(&["activationValue"]), convert::float, 0.0);
    let by_node = read.or(Field::metadata(&["groupByNode"]), convert::boolean, false);
    let made = (|| {
        Some(WorkloadScaler {
            cluster: Arc::clone(&shared.cluster),
            namespace: trigger.namespace.to_owned(),
            selector: selector?,
            counted: if by_node { Counted::Nodes } else { Counted::Pods },
            activation,
            limit: shared.http.settings().limit(None),
            metric: metric?,
        })
    })();
    read.finish(made)
}

impl WorkloadScaler {
    async fn count(&self) -> Result<Known, ReadError> {
        let answer = self.cluster.pods(&self.namespace, &self.selector);
        let PodCount { pods, nodes } = cluster::within(self.limit, cluster::PODS, answer).await?;
        let count = match self.counted {
            Counted::Pods => pods,
            Counted::Nodes => nodes,
        };
        Ok(Known::above(self.activation, count as f64))
    }
}

impl Scaler for WorkloadScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(vec![self.metric.spec()]) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(self.count())
    }
}

#[cfg(test)]
mod tests;
