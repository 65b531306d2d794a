//! The ScaledObjects of a soak, and what happens to them: values and specs change, objects are deleted and created again, sources fail.

use std::time::Duration;

use anyhow::Context;
use http::{Method, Request};
use kedge_core::rng::Rng;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::wait::wait_for;
use serde_json::{Value, json};

use crate::bench::objects::deployment;
use crate::bench::writer::Writer;

/// How many objects share a namespace.
const OBJECTS_OF_A_NAMESPACE: usize = 50;
/// Every so many ticks sources begin to fail, for so many ticks.
const OUTAGE_EVERY: u64 = 60;
const OUTAGE_LASTS: u64 = 20;
/// The value of an active source, which needs two replicas.
const ACTIVE: f64 = 15.0;
/// How long the fleet may take to scale.
const SCALED_WITHIN: Duration = Duration::from_secs(600);

/// The objects and their source.
pub(super) struct Fleet {
    writer: Writer,
    source: HttpSource,
    size: usize,
    /// The objects that are deleted at the moment.
    deleted: Vec<usize>,
    /// The objects whose source fails at the moment.
    failing: Vec<usize>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    values: usize,
    edits: usize,
    deletions: usize,
    outages: usize,
}

impl Fleet {
    pub(super) async fn create(cluster: &Cluster, size: usize) -> anyhow::Result<Self> {
        let fleet = Self {
            writer: Writer::new(cluster).await?,
            source: HttpSource::start().await?,
            size,
            deleted: Vec::new(),
            failing: Vec::new(),
            counts: Counts::default(),
        };
        for number in (0..size).step_by(OBJECTS_OF_A_NAMESPACE) {
            let namespace =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace_of(number) } });
            fleet.writer.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
        }
        let create = async |number: usize| {
            fleet.source.set(&query_of(number), SourceResponse::Value(0.0));
            fleet.writer.send(Method::POST, &deployments_of(number), &deployment(&name_of(number), 0)).await?;
            fleet.writer.send(Method::POST, &objects_of(number), &fleet.scaled_object(number)).await
        };
        fleet.writer.for_each(&(0..size).collect::<Vec<_>>(), create).await?;
        Ok(fleet)
    }

    /// What happens in one tick.
    pub(super) async fn disturb(&mut self, tick: u64, rng: &mut Rng) -> anyhow::Result<()> {
        for _ in 0..2 {
            let number = self.any(rng);
            if !self.failing.contains(&number) {
                let value = if rng.below(2) == 0 { 0.0 } else { ACTIVE };
                self.source.set(&query_of(number), SourceResponse::Value(value));
                self.counts.values += 1;
            }
        }
        let number = self.any(rng);
        if !self.deleted.contains(&number) {
            let edit = json!({ "spec": { "maxReplicaCount": 2 + rng.below(3), "pollingInterval": 5 + rng.below(10) } });
            self.writer.send(Method::PATCH, &object(number), &edit).await?;
            self.counts.edits += 1;
        }
        if tick.is_multiple_of(5) {
            self.delete_and_recreate(rng).await?;
        }
        self.fail_sources(tick, rng);
        Ok(())
    }

    /// Creates the object that was deleted last, and deletes another one.
    async fn delete_and_recreate(&mut self, rng: &mut Rng) -> anyhow::Result<()> {
        // An object that is still being deleted cannot be created: the finalizer has a tick to go.
        for number in std::mem::take(&mut self.deleted) {
            let created = self.writer.send(Method::POST, &objects_of(number), &self.scaled_object(number)).await;
            if created.is_err() {
                self.deleted.push(number);
            }
        }
        let number = self.any(rng);
        if !self.deleted.contains(&number) {
            self.writer.send(Method::DELETE, &object(number), &json!({})).await?;
            self.deleted.push(number);
            self.counts.deletions += 1;
        }
        Ok(())
    }

    fn fail_sources(&mut self, tick: u64, rng: &mut Rng) {
        if tick.is_multiple_of(OUTAGE_EVERY) {
            self.failing = (0..self.size).filter(|_| rng.below(5) == 0).collect();
            self.failing.iter().for_each(|number| self.source.set(&query_of(*number), SourceResponse::broken()));
            self.counts.outages += 1;
        }
        if tick % OUTAGE_EVERY == OUTAGE_LASTS {
            for number in std::mem::take(&mut self.failing) {
                self.source.set(&query_of(number), SourceResponse::Value(0.0));
            }
        }
    }

    /// Makes every source active, and waits until every target has the replicas for that.
    pub(super) async fn until_all_are_scaled(&mut self) -> anyhow::Result<()> {
        for number in 0..self.size {
            self.source.set(&query_of(number), SourceResponse::Value(ACTIVE));
        }
        wait_for("every target is scaled", SCALED_WITHIN, async || {
            for number in std::mem::take(&mut self.deleted) {
                if self.writer.send(Method::POST, &objects_of(number), &self.scaled_object(number)).await.is_err() {
                    self.deleted.push(number);
                }
            }
            let unscaled = self.unscaled().await.map_err(|error| error.to_string())?;
            if unscaled == 0 { Ok(()) } else { Err(format!("{unscaled} targets are not scaled")) }
        })
        .await
    }

    async fn unscaled(&self) -> anyhow::Result<usize> {
        let request = Request::get("/apis/apps/v1/deployments").body(Vec::new())?;
        let list: Value = self.writer.client().request(request).await?;
        let items = list["items"].as_array().context("no list")?;
        let ours = items
            .iter()
            .filter(|one| one["metadata"]["namespace"].as_str().is_some_and(|name| name.starts_with("soak-")));
        Ok(ours.filter(|one| one["spec"]["replicas"] != 2).count())
    }

    pub(super) fn summary(&self) -> String {
        let Counts { values, edits, deletions, outages } = &self.counts;
        format!(
            "{values} changes of values, {edits} edits, {deletions} deletions, {outages} outages of a fifth of the sources"
        )
    }

    fn scaled_object(&self, number: usize) -> Value {
        let metadata = json!({ "serverAddress": self.source.url(), "query": query_of(number), "threshold": "10" });
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name_of(number) },
            "spec": {
                "scaleTargetRef": { "name": name_of(number) }, "pollingInterval": 10, "cooldownPeriod": 10, "maxReplicaCount": 2,
                "triggers": [{ "type": "prometheus", "metadata": metadata }],
            },
        })
    }

    fn any(&self, rng: &mut Rng) -> usize {
        usize::try_from(rng.below(self.size as u64)).unwrap_or_default()
    }
}

fn namespace_of(number: usize) -> String {
    format!("soak-{}", number / OBJECTS_OF_A_NAMESPACE)
}

fn query_of(number: usize) -> String {
    format!("q-{number}")
}

fn name_of(number: usize) -> String {
    format!("worker-{number}")
}

fn deployments_of(number: usize) -> String {
    format!("/apis/apps/v1/namespaces/{}/deployments", namespace_of(number))
}

fn objects_of(number: usize) -> String {
    format!("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects", namespace_of(number))
}

fn object(number: usize) -> String {
    format!("{}/{}", objects_of(number), name_of(number))
}
