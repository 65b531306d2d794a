//! [`Plane`]: an API server in memory, with its state, options and backends.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, SubsecRound, Utc};
use serde_json::Value;

use crate::api::identity::Identity;
use crate::api::resource::Gvr;
use crate::apiextensions::conversion;
use crate::lifecycle;
use crate::storage::revision::{Revision, RevisionPublisher};
use crate::storage::state::State;
use crate::storage::store::{Change, key, within};

mod backend;
mod context;
mod options;

use self::backend::Backends;

pub use self::backend::Backend;
pub(crate) use self::context::{RequestContext, Warnings};
pub use self::options::{Authenticate, Authorize, Issue, Observe, Options, Wall};

/// An API server in memory. Clones are the same one.
#[derive(Clone)]
pub struct Plane {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    state: Mutex<State>,
    /// The revision of the last change.
    revision: RevisionPublisher,
    backends: Backends,
}

impl fmt::Debug for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plane")
    }
}

impl Plane {
    /// A plane with the namespaces that every cluster has. Spawns nothing.
    pub fn new(options: Options) -> Self {
        let state = Mutex::new(State::new(options.history));
        let shared = Shared { options, state, revision: RevisionPublisher::new(1), backends: Backends::default() };
        let plane = Self { shared: Arc::new(shared) };
        let now = plane.now();
        plane.write(|state| state.create_first_namespaces(now));
        plane
    }

    /// Another plane with a copy of the state. Backends must be registered again.
    pub fn fork(&self, options: Options) -> Self {
        let state = self.state().fork(options.history);
        let revision = RevisionPublisher::new(state.store.revision());
        let shared = Shared { options, state: Mutex::new(state), revision, backends: Backends::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The user of a token; none if it is not valid.
    pub fn holder(&self, token: &str) -> Option<Identity> {
        (self.options().authenticate)(token)
    }

    /// An object as it is now.
    pub fn object(&self, resource: &Gvr, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let state = self.state();
        let resource = state.resource(resource)?;
        let stored = state.store.get(&resource.collection, &key(namespace, name))?;
        Some(conversion::to_served(&resource, stored))
    }

    /// All objects of a resource, in the order of lists; of one namespace, or of all.
    pub fn objects(&self, resource: &Gvr, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let state = self.state();
        let Some(resource) = state.resource(resource) else { return Vec::new() };
        within(state.store.collection(&resource.collection), namespace)
            .map(|(_, stored)| conversion::to_served(&resource, stored))
            .collect()
    }

    /// Subscribes to the revision of the last change.
    pub fn revision(&self) -> Revision {
        self.shared.revision.subscribe()
    }

    /// Everything that changed after a revision, in order; none if the log does not reach back so far.
    pub fn changes_since(&self, revision: u64) -> Option<Vec<Change>> {
        Some(self.state().store.since(revision)?.map(|change| Change::clone(change)).collect())
    }

    /// Compacts the log: watches and continued lists of older revisions expire.
    pub fn compact(&self) {
        self.state().store.compact();
    }

    /// Registers the backend of a host: `NAME.NAMESPACE.svc` for a service reference, `host:port` for a URL.
    pub fn register_backend(&self, host: &str, backend: Backend) {
        self.backends().insert(host, backend);
        self.set_reachable(|hosts| hosts.insert(host.to_owned()));
    }

    /// Removes the backend of a host.
    pub fn remove_backend(&self, host: &str) {
        self.backends().remove(host);
        self.set_reachable(|hosts| hosts.remove(host));
    }

    fn set_reachable(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        let now = self.now();
        self.write(|state| {
            if change(&mut state.hosts) {
                lifecycle::api_services::refresh_all(state, now);
                lifecycle::reconcile(state, now);
            }
        });
    }

    /// The time, as objects are stamped with it.
    pub fn now(&self) -> DateTime<Utc> {
        (self.shared.options.wall)().trunc_subsecs(0)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    pub(crate) fn backends(&self) -> &Backends {
        &self.shared.backends
    }

    /// The state, for reading. It must not be held over an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("no thread panics while it holds the lock")
    }

    /// Writes, and publishes the new revision.
    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let written = write(&mut state);
        let revision = state.store.revision();
        drop(state);
        self.shared.revision.publish(revision);
        written
    }
}
