//! The ScaledObjects and their targets. A target whose source has load needs one replica; no pod ever runs.

use std::time::Duration;

use http::{Method, Request};
use kedge_test_cluster::Cluster;
use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::deployment;
use super::source::{Source, TriggerType};
use super::stall::{Waited, until_none_missing};
use super::writer::Writer;

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers";
const SCALED_OBJECTS: &str = "/apis/keda.sh/v1alpha1/scaledobjects";

/// How often objects are counted, and how often all are listed: the operator shares the machine with this.
const COUNT_EVERY: Duration = Duration::from_millis(100);
const LIST_EVERY: Duration = Duration::from_millis(500);

/// How many ScaledObjects there are, and of what kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) objects: usize,
    pub(super) namespaces: usize,
    pub(super) trigger_type: TriggerType,
    /// How many triggers each has.
    pub(super) triggers: usize,
    pub(super) polling_seconds: u32,
}

pub(super) struct Fleet {
    writer: Writer,
    source: Source,
    shape: Shape,
}

#[derive(Deserialize)]
struct Listed {
    metadata: ListMetadata,
    /// Null where there are none.
    items: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    remaining_item_count: Option<usize>,
}

#[derive(Deserialize)]
struct Table {
    /// Null where there are none.
    rows: Option<Vec<Row>>,
}

/// Of a Deployment, one cell is `READY/DESIRED`.
#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
}

impl Fleet {
    /// Starts the source, and creates the namespaces and the targets.
    pub(super) async fn create(cluster: &Cluster, shape: Shape) -> anyhow::Result<Self> {
        let source = Source::start(shape.trigger_type).await?;
        let fleet = Self { writer: Writer::new(cluster).await?, source, shape };
        for number in 0..shape.namespaces {
            let name = fleet.namespace(number);
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            fleet.writer.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
            for (path, object) in fleet.source.credentials(&name) {
                fleet.writer.send(Method::POST, &path, &object).await?;
            }
        }
        println!("creating {} Deployments", shape.objects);
        let create = async |number: usize| {
            let path = format!("/apis/apps/v1/namespaces/{}/deployments", fleet.namespace(number));
            fleet.writer.send(Method::POST, &path, &deployment(&name(number), 0)).await
        };
        fleet.writer.for_each(&fleet.numbers(), create).await?;
        Ok(fleet)
    }

    pub(super) fn len(&self) -> usize {
        self.shape.objects
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    fn numbers(&self) -> Vec<usize> {
        (0..self.shape.objects).collect()
    }

    pub(super) fn namespace(&self, number: usize) -> String {
        format!("team-{}", number % self.shape.namespaces)
    }

    /// Where the metric of an object is read.
    pub(super) fn metric_path(&self, number: usize) -> anyhow::Result<String> {
        let (namespace, name) = (self.namespace(number), name(number));
        let metric = self.source.metric_name(&name)?;
        let selector = format!("scaledobject.keda.sh%2Fname%3D{name}");
        Ok(format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}?labelSelector={selector}"))
    }

    pub(super) async fn set_load(&self, is_active: bool) -> anyhow::Result<()> {
        let names: Vec<String> = self.numbers().into_iter().map(name).collect();
        self.source.set_load(&names, is_active).await
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) async fn create_scaled_objects(&self) -> anyhow::Result<()> {
        let create = async |number: usize| {
            let path = scaled_objects(&self.namespace(number));
            self.writer.send(Method::POST, &path, &self.scaled_object(&name(number))).await
        };
        self.writer.for_each(&self.numbers(), create).await
    }

    /// Makes the requests of an operator until every object has its HPA, without an operator: what the API server needs for them.
    pub(super) async fn create_with_hpas(&self) -> anyhow::Result<()> {
        let create = async |number: usize| {
            let (name, namespace) = (name(number), self.namespace(number));
            let objects = scaled_objects(&namespace);
            let object = format!("{objects}/{name}");
            let marked = json!({ "metadata": { "labels": { "scaledobject.keda.sh/name": name } } });
            let scale = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale");
            let original = json!({ "status": { "originalReplicaCount": 0 } });
            self.writer.send(Method::POST, &objects, &self.scaled_object(&name)).await?;
            self.writer.send(Method::PATCH, &object, &marked).await?;
            self.writer.client().request::<Value>(Request::get(scale).body(Vec::new())?).await?;
            self.writer.send(Method::PATCH, &format!("{object}/status"), &original).await?;
            self.writer.send(Method::POST, &hpas(&namespace), &hpa(&name)).await
        };
        self.writer.for_each(&self.numbers(), create).await
    }

    pub(super) async fn delete_hpas(&self) -> anyhow::Result<()> {
        self.delete_all(|namespace, name| format!("{}/keda-hpa-{name}", hpas(namespace))).await
    }

    pub(super) async fn delete_scaled_objects(&self) -> anyhow::Result<()> {
        self.delete_all(|namespace, name| format!("{}/{name}", scaled_objects(namespace))).await
    }

    /// Deletes the object at this path for each number. One by one: an API server that is busy does not end the deletion of a whole
    /// collection in time.
    async fn delete_all(&self, path: impl Fn(&str, &str) -> String) -> anyhow::Result<()> {
        let delete = async |number: usize| {
            let path = path(&self.namespace(number), &name(number));
            self.writer.send(Method::DELETE, &path, &json!({})).await
        };
        self.writer.for_each(&self.numbers(), delete).await
    }

    /// Waits until there are so many HPAs.
    pub(super) async fn until_hpas(&self, expected: usize) -> anyhow::Result<Waited> {
        let count = async || Ok(expected.saturating_sub(self.count(HPAS).await?));
        until_none_missing("every ScaledObject has its HPA", COUNT_EVERY, count).await
    }

    pub(super) async fn until_no_hpas(&self) -> anyhow::Result<Waited> {
        until_none_missing("every HPA is gone", COUNT_EVERY, async || self.count(HPAS).await).await
    }

    /// Waits until the controllers have deleted every pod.
    pub(super) async fn until_no_pods(&self) -> anyhow::Result<Waited> {
        until_none_missing("every pod is gone", LIST_EVERY, async || self.count("/api/v1/pods").await).await
    }

    /// Waits until there are no more ScaledObjects than this.
    pub(super) async fn until_scaled_objects(&self, left: usize) -> anyhow::Result<Waited> {
        let count = async || Ok(self.count(SCALED_OBJECTS).await?.saturating_sub(left));
        until_none_missing("every other ScaledObject is gone", COUNT_EVERY, count).await
    }

    /// Waits until all targets have this number of replicas.
    pub(super) async fn until_replicas(&self, expected: u64) -> anyhow::Result<Waited> {
        let wanted = format!("/{expected}");
        let others = async || {
            let deployments = self.table("/apis/apps/v1/deployments?includeObject=None").await?;
            let has_wanted =
                |row: &Row| row.cells.iter().any(|cell| cell.as_str().is_some_and(|cell| cell.ends_with(&wanted)));
            Ok(deployments.rows.unwrap_or_default().iter().filter(|row| !has_wanted(row)).count())
        };
        until_none_missing(&format!("every target has {expected} replicas"), LIST_EVERY, others).await
    }

    /// How many objects there are. Only one of them is read.
    async fn count(&self, path: &str) -> anyhow::Result<usize> {
        let listed = self.list(&format!("{path}?limit=1")).await?;
        Ok(listed.items.unwrap_or_default().len() + listed.metadata.remaining_item_count.unwrap_or(0))
    }

    async fn list(&self, path: &str) -> anyhow::Result<Listed> {
        Ok(self.writer.client().request(Request::get(path).body(Vec::new())?).await?)
    }

    /// Lists what `kubectl get` shows of each object: much less than all of it.
    async fn table(&self, path: &str) -> anyhow::Result<Table> {
        let request = Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        Ok(self.writer.client().request(request.body(Vec::new())?).await?)
    }

    /// A ScaledObject whose target has the same name.
    pub(super) fn scaled_object(&self, name: &str) -> Value {
        let trigger = self.source.trigger(name);
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
            "spec": {
                "scaleTargetRef": { "name": name }, "pollingInterval": self.shape.polling_seconds,
                "cooldownPeriod": 1, "maxReplicaCount": 10, "triggers": vec![trigger; self.shape.triggers],
            },
        })
    }
}

/// The path of the ScaledObjects of a namespace.
fn scaled_objects(namespace: &str) -> String {
    format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects")
}

/// The path of the HPAs of a namespace.
fn hpas(namespace: &str) -> String {
    format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers")
}

/// An HPA as an operator renders it.
fn hpa(name: &str) -> Value {
    let selector = json!({ "matchLabels": { "scaledobject.keda.sh/name": name } });
    let external = json!({
        "metric": { "name": "s0-prometheus", "selector": selector },
        "target": { "type": "AverageValue", "averageValue": "10" },
    });
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": format!("keda-hpa-{name}"), "labels": { "scaledobject.keda.sh/name": name } },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name },
            "minReplicas": 1, "maxReplicas": 10, "metrics": [{ "type": "External", "external": external }],
        },
    })
}

pub(super) fn name(number: usize) -> String {
    format!("worker-{number}")
}
