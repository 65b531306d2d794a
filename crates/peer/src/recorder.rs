//! Every change of what is watched, as the API server sent it: targets, HPAs, ScaledObjects, and the Lease of the one in charge.

mod facets;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures::{StreamExt, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

pub(crate) use self::facets::{Facet, KINDS, Kind};

/// A facet of an object was one thing and is another.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) at: Instant,
    pub(crate) kind: Kind,
    /// `namespace/name`.
    pub(crate) object: String,
    pub(crate) facet: Facet,
    pub(crate) from: Value,
    pub(crate) to: Value,
}

impl Change {
    /// What changed, whatever the object is called.
    pub(crate) fn without_object(&self) -> String {
        let Change { kind, object, facet, from, to, .. } = self;
        let name = object.split_once('/').map_or(object.as_str(), |(_, name)| name);
        let differences = facets::differences(from, to).join("; ").replace(name, "NAME");
        format!("{kind:?}: {facet:?} {differences}")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { kind, object, facet, from, to, .. } = self;
        let differences = facets::differences(from, to);
        write!(f, "{kind:?} {object}: {facet:?} {}", differences.join("; "))
    }
}

type Seen = BTreeMap<(Kind, String), BTreeMap<Facet, Value>>;

#[derive(Default)]
struct State {
    seen: Seen,
    changes: Vec<Change>,
}

/// Watches until it is dropped.
pub(crate) struct Recorder {
    state: Arc<Mutex<State>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Begins to watch, and returns when all that is there was seen.
    pub(crate) async fn start(client: &kube::Client) -> anyhow::Result<Self> {
        let state = Arc::<Mutex<State>>::default();
        let mut tasks = Vec::new();
        for kind in KINDS {
            let api = Api::all_with(client.clone(), &kind.resource());
            let version = list(&api, kind, &state).await?;
            tasks.push(tokio::spawn(follow(api, kind, state.clone(), version)));
        }
        Ok(Self { state, tasks })
    }

    /// What changed since a moment.
    pub(crate) fn since(&self, moment: Instant) -> Vec<Change> {
        lock(&self.state).changes.iter().filter(|change| change.at >= moment).cloned().collect()
    }

    /// What a facet of an object is now.
    pub(crate) fn now(&self, kind: Kind, object: &str, facet: Facet) -> Option<Value> {
        lock(&self.state).seen.get(&(kind, object.to_owned()))?.get(&facet).cloned()
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

/// Takes in all there is, and answers the version from which to watch.
async fn list(api: &Api<DynamicObject>, kind: Kind, state: &Mutex<State>) -> kube::Result<String> {
    let listed = api.list(&ListParams::default()).await?;
    let mut state = lock(state);
    let found: BTreeMap<_, _> = listed.items.iter().filter_map(|object| kind.look(object)).collect();
    let of_kind = state.seen.keys().filter(|(seen, _)| *seen == kind).map(|(_, object)| object.clone());
    let gone: Vec<String> = of_kind.filter(|object| !found.contains_key(object)).collect();
    gone.into_iter().for_each(|object| state.remove(kind, object));
    found.into_iter().for_each(|(object, facets)| state.put(kind, object, facets));
    Ok(listed.metadata.resource_version.unwrap_or_default())
}

/// Watches for ever; where a watch ends, everything is listed again, so that no change is lost.
async fn follow(api: Api<DynamicObject>, kind: Kind, state: Arc<Mutex<State>>, mut version: String) {
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

async fn watch(api: &Api<DynamicObject>, kind: Kind, state: &Mutex<State>, version: &str) -> kube::Result<()> {
    let events = api.watch(&WatchParams::default().disable_bookmarks(), version).await?;
    pin_mut!(events);
    while let Some(event) = events.next().await.transpose()? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if let Some((object, facets)) = kind.look(&object) {
                    lock(state).put(kind, object, facets);
                }
            }
            WatchEvent::Deleted(object) => {
                if let Some((object, _)) = kind.look(&object) {
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
    fn put(&mut self, kind: Kind, object: String, facets: BTreeMap<Facet, Value>) {
        let key = (kind, object);
        let before = self.seen.get(&key).cloned().unwrap_or_default();
        for (facet, value) in &facets {
            let from = before.get(facet).unwrap_or(&Value::Null);
            if from != value {
                self.note(&key, *facet, from.clone(), value.clone());
            }
        }
        self.seen.insert(key, facets);
    }

    fn remove(&mut self, kind: Kind, object: String) {
        let key = (kind, object);
        if let Some(facets) = self.seen.remove(&key) {
            let identity = facets.get(&Facet::Identity).cloned().unwrap_or_default();
            self.note(&key, Facet::Identity, identity, Value::Null);
        }
    }

    fn note(&mut self, key: &(Kind, String), facet: Facet, from: Value, to: Value) {
        let (kind, object) = key.clone();
        self.changes.push(Change { at: Instant::now(), kind, object, facet, from, to });
    }
}

/// How the API server knows a kind.
impl Kind {
    fn resource(self) -> ApiResource {
        ApiResource::from_gvk(&self.group_version_kind())
    }
}
