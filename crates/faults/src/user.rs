//! The user of a run, who takes the steps of its scenario, and somebody else who gets in the way.

use std::sync::Mutex;

use futures::FutureExt;
use futures::future::BoxFuture;
use kedge_plane::{Call, Gvr, PatchKind, Plane, Verb};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::journal::Bystanders;
use crate::scenario::{Act, NAME, NAMESPACE, Step};
use crate::source::Sources;

/// Who takes the steps.
#[derive(Debug)]
pub struct User {
    plane: Plane,
    sources: Sources,
    steps: Vec<Step>,
    next: Mutex<usize>,
    began_at: Instant,
}

impl User {
    pub fn new(plane: Plane, sources: Sources, steps: Vec<Step>) -> Self {
        Self { plane, sources, steps, next: Mutex::new(0), began_at: Instant::now() }
    }

    /// Takes every step in time.
    pub async fn run(&self) {
        for (number, step) in self.steps.iter().enumerate() {
            tokio::time::sleep_until(self.began_at + step.at).await;
            if self.take(|next| next == number).is_some() {
                self.act(&step.act).await;
            }
        }
    }

    /// Takes the next step, if it is the right one.
    fn take(&self, right: impl Fn(usize) -> bool) -> Option<usize> {
        let mut next = self.next.lock().expect("nobody panics holding it");
        let taken = Some(*next).filter(|next| *next < self.steps.len() && right(*next))?;
        *next += 1;
        Some(taken)
    }

    async fn act(&self, act: &Act) {
        match act {
            Act::Both(first, second) => {
                Box::pin(self.act(first)).await;
                Box::pin(self.act(second)).await;
            }
            Act::Apply(object) => self.apply(object).await,
            Act::Annotate(annotations) => {
                let patch = json!({ "metadata": { "annotations": annotations } });
                self.patch(&resource("ScaledObject"), NAME, patch).await;
            }
            Act::Scale(replicas) => {
                let patch = json!({ "spec": { "replicas": replicas } });
                self.patch(&resource("Deployment"), NAME, patch).await;
            }
            Act::Delete(plural, name) => {
                let resource = Gvr::new("keda.sh", "v1alpha1", plural);
                self.call("user", Verb::Delete, resource, Some(name), None).await;
            }
            Act::Serve(question, value) => self.sources.set(question, *value),
            Act::Require(question, token) => self.sources.require(question, *token),
            Act::Push => self.sources.push(true),
        }
    }

    async fn apply(&self, object: &Value) {
        let resource = resource(object["kind"].as_str().expect("a kind"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        match self.plane.object(&resource, Some(NAMESPACE), name) {
            None => self.call("user", Verb::Create, resource, None, Some(object.clone())).await,
            Some(_) => self.patch(&resource, name, object.clone()).await,
        }
    }

    async fn patch(&self, resource: &Gvr, name: &str, patch: Value) {
        let patch = Some(patch);
        self.call("user", Verb::Patch(PatchKind::Merge), resource.clone(), Some(name), patch).await;
    }

    /// A step may come too late, for an object that is gone; nothing else may fail.
    async fn call(&self, user: &str, verb: Verb, resource: Gvr, name: Option<&str>, body: Option<Value>) {
        let (namespace, name) = (Some(NAMESPACE.to_owned()), name.map(str::to_owned));
        let call = Call { namespace, name, body, ..Call::new(user, verb, resource) };
        match self.plane.call(call).await {
            Ok(_) => {}
            Err(error) if error.code == 404 => {}
            Err(error) => panic!("a user's step is refused: {error}"),
        }
    }
}

impl Bystanders for User {
    fn step(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(step) = self.take(|_| true) {
                self.act(&self.steps[step].act).await;
            }
        }
        .boxed()
    }

    fn meddle(&self) -> BoxFuture<'_, ()> {
        async {
            let patch =
                json!({ "metadata": { "annotations": { "example.com/seen-at": self.plane.now().to_rfc3339() } } });
            let kind = Verb::Patch(PatchKind::Merge);
            self.call("meddler", kind, resource("Deployment"), Some(NAME), Some(patch)).await;
        }
        .boxed()
    }
}

/// The resource of a kind that scenarios use.
pub fn resource(kind: &str) -> Gvr {
    match kind {
        "Deployment" => Gvr::new("apps", "v1", "deployments"),
        "HorizontalPodAutoscaler" => Gvr::new("autoscaling", "v2", "horizontalpodautoscalers"),
        "Secret" => Gvr::new("", "v1", "secrets"),
        "ScaledObject" => Gvr::new("keda.sh", "v1alpha1", "scaledobjects"),
        "TriggerAuthentication" => Gvr::new("keda.sh", "v1alpha1", "triggerauthentications"),
        other => panic!("no scenario uses a {other}"),
    }
}
