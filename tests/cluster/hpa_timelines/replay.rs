//! Replays a record on a plane: its controller gets the input of the real one at the same instants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use http::{Request, Response, StatusCode};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kedge_core::hpa::model::settings::Settings;
use kedge_plane::controllers::HpaController;
use kedge_plane::{Backend, Options, Plane};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use serde_json::{Value, json};

use super::real_cluster::apply_action;
use super::record::{HpaSync, Record};
use super::script::{Action, DOWNSCALE_WINDOW, MetricResponse, NAMESPACE, Timeline};

/// One value of one sync that differs between the controllers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) timeline: &'static str,
    pub(super) sync: usize,
    pub(super) what: &'static str,
    pub(super) real: Value,
    pub(super) plane: Value,
}

/// A plane on which one timeline is replayed.
struct Replay<'a> {
    timeline: &'a Timeline,
    client: kube::Client,
    controller: HpaController,
    now: Arc<Mutex<DateTime<Utc>>>,
    /// The current response to each metric.
    responses: Arc<Mutex<BTreeMap<String, MetricResponse>>>,
    pods: i32,
    /// The status after each sync so far.
    statuses: Vec<HorizontalPodAutoscalerStatus>,
    /// The sync whose status the HPA has.
    stored: Option<usize>,
}

pub(super) async fn replay(record: &Record) -> anyhow::Result<Vec<Difference>> {
    let Some(first) = record.syncs.first() else { return Ok(Vec::new()) };
    let mut replay = Replay::begin(&record.timeline, first.begun_at - TimeDelta::seconds(1)).await?;
    let mut actions = record.actions.iter().peekable();
    let mut differences = Vec::new();
    for (number, sync) in record.clear_syncs().iter().enumerate() {
        while let Some((at, done)) = actions.next_if(|(at, done)| sync.is_after(*at, done)) {
            replay.apply_action(*at, &done.action).await?;
        }
        let read = record.status_read_by(number);
        if !replay.restore_status(read).await? {
            // The real controller still had an HPA in its cache that was deleted.
            let (real, plane) = (Value::Bool(true), Value::Bool(false));
            differences.push(Difference { timeline: record.timeline.name, sync: number, what: "exists", real, plane });
            break;
        }
        let unchanged = read.and_then(|number| record.syncs[number].status.as_ref());
        let status = sync.status.as_ref().or(unchanged).cloned().map_or(Value::Null, without_times);
        let pairs = replay.run_sync(sync, status).await?;
        let compared = pairs.into_iter().filter(|(_, real, plane)| real != plane);
        let timeline = record.timeline.name;
        differences.extend(compared.map(|(what, real, plane)| Difference {
            timeline,
            sync: number,
            what,
            real,
            plane,
        }));
    }
    Ok(differences)
}

impl<'a> Replay<'a> {
    async fn begin(timeline: &'a Timeline, at: DateTime<Utc>) -> anyhow::Result<Self> {
        let now = Arc::new(Mutex::new(at));
        let clock = now.clone();
        let wall = Arc::new(move || *clock.lock().expect("no holder of the lock panics"));
        let plane = Plane::new(Options { wall, ..Options::default() });
        let responses = Arc::<Mutex<BTreeMap<String, MetricResponse>>>::default();
        let settings = Settings { downscale_stabilization: DOWNSCALE_WINDOW, ..Settings::default() };
        let client = plane.client("system:admin");
        serve(&plane, &client, responses.clone()).await?;
        let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
        let deployment: Deployment = serde_json::from_value(timeline.deployment())?;
        Api::namespaced(client.clone(), NAMESPACE).create(&PostParams::default(), &deployment).await?;
        apply_action(&client, timeline, &Action::Create).await?;
        let controller = HpaController::new(&plane, settings);
        let (statuses, stored) = (Vec::new(), None);
        Ok(Self { timeline, client, controller, now, responses, pods: 0, statuses, stored })
    }

    async fn apply_action(&mut self, at: DateTime<Utc>, action: &Action) -> anyhow::Result<()> {
        self.set_time(at);
        apply_action(&self.client, self.timeline, action).await?;
        if matches!(action, Action::Delete) {
            self.stored = None;
            // The sync that finds no HPA.
            self.controller.reconcile(NAMESPACE, self.timeline.name).await;
        }
        Ok(())
    }

    /// Gives the HPA the status that it had after a sync: the one that the real controller read. Returns whether there is an HPA.
    async fn restore_status(&mut self, sync: Option<usize>) -> anyhow::Result<bool> {
        if self.stored == sync {
            return Ok(true);
        }
        let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(self.client.clone(), NAMESPACE);
        let Some(mut hpa) = hpas.get_opt(self.timeline.name).await? else { return Ok(false) };
        hpa.status = sync.map(|number| self.statuses[number].clone());
        hpas.replace_status(self.timeline.name, &PostParams::default(), &hpa).await?;
        self.stored = sync;
        Ok(true)
    }

    /// Runs a sync with the recorded input. Returns the values to compare: those of the real controller, and those of this one.
    async fn run_sync(&mut self, sync: &HpaSync, status: Value) -> anyhow::Result<Vec<(&'static str, Value, Value)>> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        let before = deployments.get(self.timeline.name).await?;
        let replicas = before.spec.and_then(|spec| spec.replicas).unwrap_or_default();
        let reported = json!({ "status": { "replicas": number(&sync.scale["status"]["replicas"]) } });
        deployments.patch_status(self.timeline.name, &PatchParams::default(), &Patch::Merge(reported)).await?;
        self.set_pods(sync.pods.unwrap_or(self.pods)).await?;
        *self.responses.lock().expect("no holder of the lock panics") = sync.answers.iter().cloned().collect();
        self.set_time(sync.at());
        let outcome = self.controller.reconcile(NAMESPACE, self.timeline.name).await;
        let outcome = outcome.ok_or_else(|| anyhow::anyhow!("no such autoscaler"))?;
        let written = outcome.rescaled_to.map(i64::from);
        self.stored = Some(self.statuses.len());
        self.statuses.push(outcome.status.clone());
        Ok(vec![
            ("replicas before", number(&sync.scale["spec"]["replicas"]), json!(replicas)),
            ("replicas written", json!(sync.written), json!(written)),
            ("status", status, without_times(serde_json::to_value(&outcome.status)?)),
        ])
    }

    fn set_time(&self, at: DateTime<Utc>) {
        *self.now.lock().expect("no holder of the lock panics") = at;
    }

    /// Creates or deletes pods until there are this many, all of them ready.
    async fn set_pods(&mut self, wanted: i32) -> anyhow::Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        for number in self.pods..wanted {
            let pod: Pod = serde_json::from_value(json!({
                "metadata": { "name": format!("pod-{number}"), "labels": { "app": self.timeline.name } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            }))?;
            pods.create(&PostParams::default(), &pod).await?;
            let ready =
                json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
            pods.patch_status(&format!("pod-{number}"), &PatchParams::default(), &Patch::Merge(ready)).await?;
        }
        for number in wanted..self.pods {
            pods.delete(&format!("pod-{number}"), &DeleteParams::default().grace_period(0)).await?;
        }
        self.pods = wanted;
        Ok(())
    }
}

/// Serves the external metrics API of the plane from the set responses.
async fn serve(
    plane: &Plane,
    client: &kube::Client,
    responses: Arc<Mutex<BTreeMap<String, MetricResponse>>>,
) -> anyhow::Result<()> {
    let service: APIService = serde_json::from_value(json!({
        "metadata": { "name": "v1beta1.external.metrics.k8s.io" },
        "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "namespace": "default", "name": "metrics" },
        },
    }))?;
    Api::all(client.clone()).create(&PostParams::default(), &service).await?;
    let backend = Backend::new(move |request: Request<Body>| {
        let metric = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let answer = responses.lock().expect("no holder of the lock panics").get(&metric).cloned();
        async move { Ok(respond(&metric, answer)) }
    });
    plane.register_backend("metrics.default.svc", backend);
    Ok(())
}

/// Responds as the metrics API of the real cluster does: no value is an error.
fn respond(metric: &str, answer: Option<MetricResponse>) -> Response<Body> {
    let now = "2026-01-01T00:00:00Z";
    let item = |value: String| json!({ "metricName": metric, "metricLabels": null, "timestamp": now, "value": value });
    let (code, body) = match answer {
        Some(MetricResponse::Series(values)) if !values.is_empty() => {
            let items: Vec<Value> = values.into_iter().map(item).collect();
            (
                200,
                json!({ "kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "items": items }),
            )
        }
        Some(MetricResponse::Refusal(text)) => (503, failure(text)),
        _ => (404, failure(&format!("no value was found for metric {metric}"))),
    };
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code of HTTP");
    response
}

fn failure(message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message })
}

/// Zero is left out on the wire.
fn number(value: &Value) -> Value {
    json!(value.as_i64().unwrap_or_default())
}

/// A status without times and null fields.
fn without_times(mut status: Value) -> Value {
    if let Some(fields) = status.as_object_mut() {
        fields.remove("lastScaleTime");
        fields.retain(|_, value| !value.is_null());
    }
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = condition.as_object_mut() {
            fields.remove("lastTransitionTime");
        }
    }
    status
}
