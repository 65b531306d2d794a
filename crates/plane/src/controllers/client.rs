//! How a controller reads and writes: typed objects, under a name of its own.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::api::error::ApiError;
use crate::api::request::{Call, Verb};
use crate::api::resource::Gvr;
use crate::plane::Plane;
use crate::storage::revision::Revision;
use crate::storage::store::Change;

pub(crate) static PODS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "pods"));

/// After how long a refused write is tried again, if nothing changes before.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Which object of its kind; without a namespace where its kind has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectKey {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }

    pub(crate) fn from_meta(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Object,
    Status,
    Scale,
    Binding,
}

impl Part {
    fn subresource(self) -> Option<String> {
        match self {
            Self::Object => None,
            Self::Status => Some("status".to_owned()),
            Self::Scale => Some("scale".to_owned()),
            Self::Binding => Some("binding".to_owned()),
        }
    }
}

/// The grace period of a deleted pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grace {
    /// As it says itself.
    Own,
    None,
}

/// A plane, as one controller sees it.
#[derive(Clone, Debug)]
pub(crate) struct ControllerClient {
    pub(crate) plane: Plane,
    /// The name that the controller's writes are noted under.
    user: &'static str,
}

impl ControllerClient {
    pub(crate) fn new(plane: &Plane, user: &'static str) -> Self {
        Self { plane: plane.clone(), user }
    }

    pub(crate) fn user(&self) -> &'static str {
        self.user
    }

    /// The object as it is now, if there is one that can be read.
    pub(crate) fn object<T: DeserializeOwned>(&self, resource: &Gvr, key: &ObjectKey) -> Option<T> {
        self.plane.object(resource, key.namespace(), &key.name).and_then(|object| read(&object))
    }

    /// All objects of a resource in a namespace, or in all.
    pub(crate) fn objects<T: DeserializeOwned>(&self, resource: &Gvr, namespace: Option<&str>) -> Vec<T> {
        self.plane.objects(resource, namespace).iter().filter_map(read).collect()
    }

    pub(crate) async fn get(&self, resource: &Gvr, key: &ObjectKey, part: Part) -> Result<Value, ApiError> {
        self.plane.call(self.write(Verb::Get, resource, key, part)).await
    }

    pub(crate) async fn create(
        &self,
        resource: &Gvr,
        namespace: &str,
        object: &impl Serialize,
    ) -> Result<(), ApiError> {
        let mut call = self.write(Verb::Create, resource, &ObjectKey::new(namespace, ""), Part::Object);
        call.name = None;
        self.send(call, object).await
    }

    /// Creates something below an object.
    pub(crate) async fn create_part(
        &self,
        resource: &Gvr,
        key: &ObjectKey,
        part: Part,
        object: &impl Serialize,
    ) -> Result<(), ApiError> {
        self.send(self.write(Verb::Create, resource, key, part), object).await
    }

    /// Replaces a part of an object; refused if the object is another one by now.
    pub(crate) async fn update(
        &self,
        resource: &Gvr,
        key: &ObjectKey,
        part: Part,
        object: &impl Serialize,
    ) -> Result<(), ApiError> {
        self.send(self.write(Verb::Update, resource, key, part), object).await
    }

    /// Makes a request with an object.
    async fn send(&self, mut call: Call, object: &impl Serialize) -> Result<(), ApiError> {
        call.body = Some(body(object)?);
        self.plane.call(call).await.map(drop)
    }

    /// Deletes an object; one that is gone is deleted.
    pub(crate) async fn delete(&self, resource: &Gvr, key: &ObjectKey, grace: Grace) -> Result<(), ApiError> {
        let mut call = self.write(Verb::Delete, resource, key, Part::Object);
        if grace == Grace::None {
            call.body = Some(json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0 }));
        }
        match self.plane.call(call).await {
            Err(error) if error.code != 404 => Err(error),
            _ => Ok(()),
        }
    }

    /// The time as the API writes it.
    pub(crate) fn time(&self) -> Time {
        let second = self.plane.now().timestamp();
        Time(Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    fn write(&self, verb: Verb, resource: &Gvr, key: &ObjectKey, part: Part) -> Call {
        Call {
            namespace: key.namespace().map(str::to_owned),
            name: Some(key.name.clone()),
            subresource: part.subresource(),
            ..Call::new(self.user, verb, resource.clone())
        }
    }
}

/// An object that is not what its kind says is no concern of a controller.
fn read<T: DeserializeOwned>(object: &Arc<Value>) -> Option<T> {
    T::deserialize(&**object)
        .inspect_err(|error| tracing::warn!(%error, object = %object["metadata"]["name"], "an object cannot be read"))
        .ok()
}

fn body(object: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(|error| ApiError::new(500, "InternalError", error.to_string()))
}

/// The reference by which an object is owned and controlled.
pub(crate) fn owned_by(api_version: &str, kind: &str, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The owner that controls an object.
pub(crate) fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Waits for a change, or until an instant.
pub(crate) async fn wait(revision: &mut Revision, until: Option<Instant>) {
    let pause = async {
        match until {
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = revision.changed() => {}
        () = pause => {}
    }
}

/// Waits for changes of some resources, for controllers that then reconcile all objects.
#[derive(Debug)]
pub(crate) struct ChangeWaiter {
    plane: Plane,
    resources: Vec<Gvr>,
    revision: Revision,
    seen: u64,
    again_at: Option<Instant>,
}

impl ChangeWaiter {
    pub(crate) fn new(plane: &Plane, resources: &[&Gvr]) -> Self {
        Self {
            plane: plane.clone(),
            resources: resources.iter().map(|resource| (*resource).clone()).collect(),
            revision: plane.revision(),
            seen: 0,
            again_at: Some(Instant::now()),
        }
    }

    /// Returns at first at once, then after a change, or when the time has come.
    pub(crate) async fn wait(&mut self) {
        loop {
            let newest = self.revision.see();
            let changes = self.plane.changes_since(std::mem::replace(&mut self.seen, newest));
            let concerns =
                |changes: Vec<Change>| changes.iter().any(|change| self.resources.contains(&change.resource));
            let is_due = self.again_at.is_some_and(|at| at <= Instant::now());
            if is_due || changes.is_none_or(concerns) {
                self.again_at = None;
                return;
            }
            wait(&mut self.revision, self.again_at).await;
        }
    }

    /// A failed write is retried a moment later.
    pub(crate) fn note<T>(&mut self, done: Result<T, ApiError>) {
        if let Err(error) = done {
            tracing::debug!(%error, "a controller tries again");
            self.again_at = Some(Instant::now() + RETRY_PAUSE);
        }
    }

    /// It returns at this instant, too.
    #[cfg(feature = "serve")]
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.again_at = Some(at);
    }
}
