//! `kubernetes-workload`: the number of pods that a label selector matches, or of their nodes.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use crate::cluster::{self, ClusterReads, PodCount};
use crate::error::ReadError;
use crate::field::{Field, FieldGroup};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{ClusterRead, MetricsOrigin, OtherParameters, ReadCondition, ReadNamespace, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "kubernetes-workload",
    keda_scaler: "kubernetesWorkloadScaler",
    class: TriggerClass::Cluster,
    help: "the number of pods of another workload",
    docs_page: "kubernetes-workload.md",
    groups: &[FieldGroup { title: "Parameters", fields: &[POD_SELECTOR, VALUE, ACTIVATION_VALUE, GROUP_BY_NODE] }],
    other_parameters: OtherParameters::Ignored,
    activation: Some(ACTIVATION_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[ClusterRead {
        group: "",
        resource: "pods",
        verbs: &["list"],
        namespace: ReadNamespace::Object,
        name: None,
        condition: ReadCondition::Always,
    }],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

const POD_SELECTOR: Field =
    Field::required("podSelector").help("The label selector of the pods to count, in the namespace of the object");
const VALUE: Field = Field::required("value").help("How many pods one replica is for");
const ACTIVATION_VALUE: Field =
    Field::optional("activationValue").default("0").help("The trigger is active while the count is above this");
const GROUP_BY_NODE: Field =
    Field::optional("groupByNode").default("false").help("`true`: counts the nodes of the pods instead of the pods");

/// Pods that are counted.
#[derive(Debug)]
struct CountedPods {
    cluster: Arc<dyn ClusterReads>,
    namespace: String,
    selector: String,
    counted: Counted,
    limit: Duration,
}

/// What is counted: `groupByNode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Pods,
    Nodes,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<CountedPods>, BuildError> {
    let mut read = Reader::new(trigger);
    let selector = read.required(POD_SELECTOR, convert::selector);
    let name = metric_name::full_name(trigger.index, &format!("workload-{}", trigger.namespace));
    let metric = External::parse(&mut read, trigger, name, VALUE, "write how many pods one replica is for");
    let activation = read.or_default(ACTIVATION_VALUE, convert::float);
    let by_node = read.or_default(GROUP_BY_NODE, convert::boolean);
    let made = (|| {
        let source = CountedPods {
            cluster: Arc::clone(&shared.cluster),
            namespace: trigger.namespace.to_owned(),
            selector: selector?,
            counted: if by_node { Counted::Nodes } else { Counted::Pods },
            limit: shared.http.settings().limit(None),
        };
        Some(OneMetric { metric: metric?, activation, source })
    })();
    read.finish(made)
}

impl NumberSource for CountedPods {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        let answer = self.cluster.pods(&self.namespace, &self.selector);
        let PodCount { pods, nodes } = cluster::with_timeout(self.limit, cluster::PODS, answer).await?;
        let count = match self.counted {
            Counted::Pods => pods,
            Counted::Nodes => nodes,
        };
        Ok(count as f64)
    }

    fn host(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests;
