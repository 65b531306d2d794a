//! The ScaledObjects and their targets. A target whose source has load needs one replica; no pod ever runs.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, Request};
use kedge_test_cluster::Cluster;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::wait::wait_for;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::objects::deployment;
use crate::bench::writer::Writer;

/// How long anything may take that concerns all objects.
const LIMIT: Duration = Duration::from_secs(900);

const POLLING_INTERVAL: u32 = 10;

/// Half of the threshold: one replica.
const LOAD: f64 = 5.0;

const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(super) struct Fleet<'a> {
    writer: Writer,
    source: &'a HttpSource,
    objects: usize,
    namespaces: usize,
}

#[derive(Deserialize)]
struct Listed {
    /// Null where there are none.
    items: Option<Vec<Value>>,
}

impl<'a> Fleet<'a> {
    /// Creates the namespaces and the targets.
    pub(super) async fn create(
        cluster: &Cluster,
        source: &'a HttpSource,
        objects: usize,
        namespaces: usize,
    ) -> anyhow::Result<Self> {
        let fleet = Self { writer: Writer::new(cluster).await?, source, objects, namespaces };
        for number in 0..namespaces {
            let name = fleet.namespace(number);
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            fleet.writer.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
        }
        println!("creating {objects} Deployments");
        let create = async |number: usize| {
            let path = format!("/apis/apps/v1/namespaces/{}/deployments", fleet.namespace(number));
            fleet.writer.send(Method::POST, &path, &deployment(&name(number), 0)).await
        };
        fleet.writer.for_each(&fleet.numbers(), create).await?;
        Ok(fleet)
    }

    pub(super) fn len(&self) -> usize {
        self.objects
    }

    fn numbers(&self) -> Vec<usize> {
        (0..self.objects).collect()
    }

    fn namespace(&self, number: usize) -> String {
        format!("team-{}", number % self.namespaces)
    }

    /// Where the metric of an object is read.
    pub(super) fn metric_path(&self, number: usize) -> String {
        let namespace = self.namespace(number);
        let selector = format!("scaledobject.keda.sh%2Fname%3D{}", name(number));
        format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/s0-prometheus?labelSelector={selector}")
    }

    pub(super) fn set_load(&self, is_active: bool) {
        let value = if is_active { LOAD } else { 0.0 };
        for number in 0..self.objects {
            self.source.set(&name(number), SourceResponse::Value(value));
        }
    }

    /// Forgets the queries that arrived.
    pub(super) fn forget_queries(&self) {
        drop(self.source.take_received());
    }

    pub(super) async fn create_scaled_objects(&self) -> anyhow::Result<()> {
        let create = async |number: usize| {
            let path = format!("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects", self.namespace(number));
            self.writer.send(Method::POST, &path, &scaled_object(&name(number), &self.source.url())).await
        };
        self.writer.for_each(&self.numbers(), create).await
    }

    pub(super) async fn delete_scaled_objects(&self) -> anyhow::Result<()> {
        for number in 0..self.namespaces {
            let path = format!("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects", self.namespace(number));
            self.writer.send(Method::DELETE, &path, &json!({})).await?;
        }
        Ok(())
    }

    /// Waits until there are so many HPAs.
    pub(super) async fn until_hpas(&self, expected: usize) -> anyhow::Result<()> {
        self.until_count("/apis/autoscaling/v2/horizontalpodautoscalers", expected).await
    }

    pub(super) async fn until_no_scaled_objects(&self) -> anyhow::Result<()> {
        self.until_count("/apis/keda.sh/v1alpha1/scaledobjects", 0).await
    }

    async fn until_count(&self, path: &str, expected: usize) -> anyhow::Result<()> {
        wait_for(&format!("{expected} objects at {path}"), LIMIT, async || {
            let found = self.list(path, METADATA_ONLY).await.map_err(|error| error.to_string())?.len();
            if found == expected { Ok(()) } else { Err(found.to_string()) }
        })
        .await
    }

    /// Waits until all targets have this number of replicas.
    pub(super) async fn until_replicas(&self, expected: u64) -> anyhow::Result<()> {
        wait_for(&format!("all targets have {expected} replicas"), LIMIT, async || {
            let deployments = self.list("/apis/apps/v1/deployments", "application/json").await;
            let mut counts = BTreeMap::<u64, usize>::new();
            for deployment in deployments.map_err(|error| error.to_string())? {
                *counts.entry(deployment["spec"]["replicas"].as_u64().unwrap_or_default()).or_default() += 1;
            }
            if counts.get(&expected) == Some(&self.objects) { Ok(()) } else { Err(format!("{counts:?}")) }
        })
        .await
    }

    async fn list(&self, path: &str, accept: &str) -> anyhow::Result<Vec<Value>> {
        let client: &Client = self.writer.client();
        let listed: Listed = client.request(Request::get(path).header("accept", accept).body(Vec::new())?).await?;
        Ok(listed.items.unwrap_or_default())
    }
}

fn name(number: usize) -> String {
    format!("worker-{number}")
}

fn scaled_object(name: &str, url: &str) -> Value {
    let metadata = json!({ "serverAddress": url, "query": name, "threshold": "10" });
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
        "spec": {
            "scaleTargetRef": { "name": name }, "pollingInterval": POLLING_INTERVAL, "cooldownPeriod": 1, "maxReplicaCount": 10,
            "triggers": [{ "type": "prometheus", "metadata": metadata }],
        },
    })
}
