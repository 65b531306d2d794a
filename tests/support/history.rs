//! Every version of the objects in a namespace, as the API server sent it: for invariants that must hold all the time and
//! not only at the end.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use futures::StreamExt;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::snapshot::{deployments, scaled_objects};

/// One version of an object.
#[derive(Clone, Debug)]
pub struct Version {
    /// Versions of all kinds are in one order.
    pub number: u64,
    pub kind: String,
    pub name: String,
    pub object: Value,
    pub is_deleted: bool,
    /// When it was received.
    pub received: Instant,
}

/// Watches the ScaledObjects and Deployments of a namespace until it is dropped.
#[derive(Debug)]
pub struct History {
    versions: Arc<Mutex<Vec<Version>>>,
    watches: Vec<JoinHandle<()>>,
}

impl History {
    /// Starts the watches.
    pub async fn watch(client: &Client, namespace: &str) -> Result<Self, kube::Error> {
        let versions = Arc::<Mutex<Vec<Version>>>::default();
        let mut watches = Vec::new();
        for resource in [scaled_objects(), deployments()] {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
            let begin = api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            watches.push(tokio::spawn(follow(api, resource, begin, versions.clone())));
        }
        Ok(Self { versions, watches })
    }

    /// Every version so far, in the order in which they were written.
    pub fn versions(&self) -> Vec<Version> {
        let mut all = lock(&self.versions).clone();
        all.sort_by_key(|version| version.number);
        all
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

fn lock(versions: &Mutex<Vec<Version>>) -> MutexGuard<'_, Vec<Version>> {
    versions.lock().expect("no holder of the lock panics")
}

/// Watches from a version on. The API server ends a watch now and then; the next continues from there.
async fn follow(api: Api<DynamicObject>, resource: ApiResource, begin: String, versions: Arc<Mutex<Vec<Version>>>) {
    let mut last = begin;
    loop {
        let Ok(stream) = api.watch(&WatchParams::default(), &last).await else { continue };
        let mut stream = std::pin::pin!(stream);
        while let Some(Ok(event)) = stream.next().await {
            let (object, is_deleted) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(bookmark) => {
                    last = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(error) => panic!("the history of {} is incomplete: {error:?}", resource.plural),
            };
            last = object.metadata.resource_version.clone().unwrap_or_default();
            let version = Version {
                number: last.parse().expect("versions are numbers"),
                kind: resource.kind.clone(),
                name: object.metadata.name.clone().unwrap_or_default(),
                object: serde_json::to_value(&object).expect("an object is JSON"),
                is_deleted,
                received: Instant::now(),
            };
            lock(&versions).push(version);
        }
    }
}
