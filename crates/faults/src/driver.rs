//! The driver of a scenario: takes its steps in time, and writes the target concurrently where a fault requires that.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kedge_plane::{Call, Gvr, PatchKind, Plane, Verb};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::request_log::Interference;
use crate::scenario::{Action, NAME, NAMESPACE, Step};
use crate::source::Sources;

/// Takes the steps of a scenario, in the role of a user.
#[derive(Debug)]
pub struct ScenarioDriver {
    plane: Plane,
    sources: Sources,
    steps: Vec<Step>,
    next: Mutex<usize>,
    started_at: Instant,
}

impl ScenarioDriver {
    pub fn new(plane: Plane, sources: Sources, steps: Vec<Step>) -> Self {
        Self { plane, sources, steps, next: Mutex::new(0), started_at: Instant::now() }
    }

    /// Takes every step at its time.
    pub async fn run(&self) {
        for (number, step) in self.steps.iter().enumerate() {
            tokio::time::sleep_until(self.started_at + step.at).await;
            while self.is_being_deleted(&step.action) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            if self.claim(|next| next == number).is_some() {
                self.perform(&step.action).await;
            }
        }
    }

    /// Whether an action applies an object of which an older one still has a finalizer: `kubectl delete` waits until it is gone.
    fn is_being_deleted(&self, action: &Action) -> bool {
        let Action::Apply(object) = action else { return false };
        self.stored(object).is_some_and(|stored| !stored["metadata"]["deletionTimestamp"].is_null())
    }

    /// The object of the same kind and name that the API server has.
    fn stored(&self, object: &Value) -> Option<Arc<Value>> {
        let resource = resource(object["kind"].as_str().expect("a kind"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        self.plane.object(&resource, Some(NAMESPACE), name)
    }

    /// Claims the next step, if it is the expected one.
    fn claim(&self, is_expected: impl Fn(usize) -> bool) -> Option<usize> {
        let mut next = self.next.lock().expect("no holder panics");
        let claimed = Some(*next).filter(|next| *next < self.steps.len() && is_expected(*next))?;
        *next += 1;
        Some(claimed)
    }

    async fn perform(&self, action: &Action) {
        match action {
            Action::Both(first, second) => {
                Box::pin(self.perform(first)).await;
                Box::pin(self.perform(second)).await;
            }
            Action::Apply(object) => self.apply(object).await,
            Action::Annotate(annotations) => {
                let patch = json!({ "metadata": { "annotations": annotations } });
                self.patch(&resource("ScaledObject"), NAME, patch).await;
            }
            Action::PatchHpa(patch) => {
                self.patch(&resource("HorizontalPodAutoscaler"), &format!("keda-hpa-{NAME}"), patch.clone()).await;
            }
            Action::Scale(replicas) => {
                let patch = json!({ "spec": { "replicas": replicas } });
                self.patch(&resource("Deployment"), NAME, patch).await;
            }
            Action::Delete(plural, name) => {
                let resource = Gvr::new("keda.sh", "v1alpha1", plural);
                self.call("user", Verb::Delete, resource, Some(name), None).await;
            }
            Action::SetValue(query, value) => self.sources.set_value(query, *value),
            Action::AddMessages(query, count) => self.sources.add_value(query, f64::from(*count)),
            Action::RequireToken(query, token) => self.sources.require_token(query, *token),
            Action::SetMetrics(names) => self.sources.set_metrics(names),
            Action::SetVaultToken(token) => self.sources.set_vault_token(token),
            Action::Push(active) => self.sources.push(*active),
            Action::FreezeConnections => self.sources.freeze_connections(),
        }
    }

    async fn apply(&self, object: &Value) {
        let resource = resource(object["kind"].as_str().expect("a kind"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        match self.stored(object) {
            None => self.call("user", Verb::Create, resource, None, Some(object.clone())).await,
            Some(_) => self.patch(&resource, name, object.clone()).await,
        }
    }

    async fn patch(&self, resource: &Gvr, name: &str, patch: Value) {
        let patch = Some(patch);
        self.call("user", Verb::Patch(PatchKind::Merge), resource.clone(), Some(name), patch).await;
    }

    /// A step may be too late for an object that is gone; no other failure is expected.
    async fn call(&self, user: &str, verb: Verb, resource: Gvr, name: Option<&str>, body: Option<Value>) {
        let (namespace, name) = (Some(NAMESPACE.to_owned()), name.map(str::to_owned));
        let call = Call { namespace, name, body, ..Call::new(user, verb, resource) };
        match self.plane.call(call).await {
            Ok(_) => {}
            Err(error) if error.code == 404 => {}
            Err(error) => panic!("a step of the scenario fails: {error}"),
        }
    }
}

impl Interference for ScenarioDriver {
    fn take_next_step(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(step) = self.claim(|next| !self.is_being_deleted(&self.steps[next].action)) {
                self.perform(&self.steps[step].action).await;
            }
        }
        .boxed()
    }

    fn write_target(&self) -> BoxFuture<'_, ()> {
        async {
            let patch =
                json!({ "metadata": { "annotations": { "example.com/seen-at": self.plane.now().to_rfc3339() } } });
            let kind = Verb::Patch(PatchKind::Merge);
            self.call("other-client", kind, resource("Deployment"), Some(NAME), Some(patch)).await;
        }
        .boxed()
    }
}

/// The resource of a kind that scenarios use.
pub fn resource(kind: &str) -> Gvr {
    match kind {
        "Deployment" => Gvr::new("apps", "v1", "deployments"),
        "HorizontalPodAutoscaler" => Gvr::new("autoscaling", "v2", "horizontalpodautoscalers"),
        "Job" => Gvr::new("batch", "v1", "jobs"),
        "ScaledJob" => Gvr::new("keda.sh", "v1alpha1", "scaledjobs"),
        "Secret" => Gvr::new("", "v1", "secrets"),
        "ScaledObject" => Gvr::new("keda.sh", "v1alpha1", "scaledobjects"),
        "TriggerAuthentication" => Gvr::new("keda.sh", "v1alpha1", "triggerauthentications"),
        other => panic!("no scenario uses a {other}"),
    }
}
