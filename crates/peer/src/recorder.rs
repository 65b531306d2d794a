//! Watches targets, HPAs, ScaledObjects and the operators' Leases, and records every change that the API server sends.

mod fields;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures::{StreamExt, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

use self::fields::{FieldValues, WATCHED_KINDS};
pub(crate) use self::fields::{WatchedField, WatchedKind};

/// A changed field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) at: Instant,
    pub(crate) kind: WatchedKind,
    /// `namespace/name`.
    pub(crate) object: String,
    pub(crate) field: WatchedField,
    pub(crate) from: Value,
    pub(crate) to: Value,
}

impl Change {
    /// Describes the change without the name of the object, so that equal changes have equal descriptions.
    pub(crate) fn describe_without_name(&self) -> String {
        let Change { kind, object, field, from, to, .. } = self;
        let name = object.split_once('/').map_or(object.as_str(), |(_, name)| name);
        let differences = fields::list_differences(from, to).join("; ").replace(name, "NAME");
        format!("{kind:?}: {field:?} {differences}")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { kind, object, field, from, to, .. } = self;
        let differences = fields::list_differences(from, to);
        write!(f, "{kind:?} {object}: {field:?} {}", differences.join("; "))
    }
}

#[derive(Default)]
struct State {
    /// By kind and `namespace/name`.
    objects: BTreeMap<(WatchedKind, String), FieldValues>,
    changes: Vec<Change>,
}

/// Watches until it is dropped.
pub(crate) struct Recorder {
    state: Arc<Mutex<State>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Lists all objects, and starts to watch them.
    pub(crate) async fn start(client: &kube::Client) -> anyhow::Result<Self> {
        let state = Arc::<Mutex<State>>::default();
        let mut tasks = Vec::new();
        for kind in WATCHED_KINDS {
            let api = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind.group_version_kind()));
            let version = list(&api, kind, &state).await?;
            tasks.push(tokio::spawn(watch_forever(api, kind, state.clone(), version)));
        }
        Ok(Self { state, tasks })
    }

    /// Returns the changes since `begun_at`.
    pub(crate) fn changes_since(&self, begun_at: Instant) -> Vec<Change> {
        lock(&self.state).changes.iter().filter(|change| change.at >= begun_at).cloned().collect()
    }

    /// Returns the current value of a field; `None` without the object.
    pub(crate) fn current_value(&self, kind: WatchedKind, object: &str, field: WatchedField) -> Option<Value> {
        lock(&self.state).objects.get(&(kind, object.to_owned()))?.get(&field).cloned()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no holder of the lock panics")
}

/// Lists all objects of a kind; returns the resource version to watch from.
async fn list(api: &Api<DynamicObject>, kind: WatchedKind, state: &Mutex<State>) -> kube::Result<String> {
    let list = api.list(&ListParams::default()).await?;
    let mut state = lock(state);
    let listed: BTreeMap<_, _> = list.items.iter().filter_map(|object| kind.extract_fields(object)).collect();
    let stored = state.objects.keys().filter(|(stored, _)| *stored == kind).map(|(_, object)| object.clone());
    let deleted: Vec<String> = stored.filter(|object| !listed.contains_key(object)).collect();
    deleted.into_iter().for_each(|object| state.remove(kind, object));
    listed.into_iter().for_each(|(object, values)| state.store(kind, object, values));
    Ok(list.metadata.resource_version.unwrap_or_default())
}

/// Watches a kind; lists all objects again when a watch ends, so that no change is lost.
async fn watch_forever(api: Api<DynamicObject>, kind: WatchedKind, state: Arc<Mutex<State>>, mut version: String) {
    loop {
        if let Err(error) = watch(&api, kind, &state, &version).await {
            eprintln!("the watch of {kind:?}s ended: {error}");
        }
        while let Err(error) = list(&api, kind, &state).await.map(|listed| version = listed) {
            eprintln!("{kind:?}s cannot be listed: {error}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn watch(api: &Api<DynamicObject>, kind: WatchedKind, state: &Mutex<State>, version: &str) -> kube::Result<()> {
    let events = api.watch(&WatchParams::default().disable_bookmarks(), version).await?;
    pin_mut!(events);
    while let Some(event) = events.next().await.transpose()? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if let Some((object, values)) = kind.extract_fields(&object) {
                    lock(state).store(kind, object, values);
                }
            }
            WatchEvent::Deleted(object) => {
                if let Some((object, _)) = kind.extract_fields(&object) {
                    lock(state).remove(kind, object);
                }
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => return Ok(()),
        }
    }
    Ok(())
}

impl State {
    fn store(&mut self, kind: WatchedKind, object: String, values: FieldValues) {
        let key = (kind, object);
        let previous = self.objects.get(&key).cloned().unwrap_or_default();
        for (field, value) in &values {
            let from = previous.get(field).unwrap_or(&Value::Null);
            if from != value {
                self.record_change(&key, *field, from.clone(), value.clone());
            }
        }
        self.objects.insert(key, values);
    }

    fn remove(&mut self, kind: WatchedKind, object: String) {
        let key = (kind, object);
        if let Some(values) = self.objects.remove(&key) {
            let uid = values.get(&WatchedField::Uid).cloned().unwrap_or_default();
            self.record_change(&key, WatchedField::Uid, uid, Value::Null);
        }
    }

    fn record_change(&mut self, key: &(WatchedKind, String), field: WatchedField, from: Value, to: Value) {
        let (kind, object) = key.clone();
        self.changes.push(Change { at: Instant::now(), kind, object, field, from, to });
    }
}
