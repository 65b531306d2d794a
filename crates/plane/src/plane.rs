//! The whole, and how to talk to it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, SubsecRound, Utc};
use http::{Request, Response};
use kube::client::Body;
use serde_json::Value;

use crate::aggregate;
use crate::answer::Shape;
use crate::backend::{Backend, Backends};
use crate::call::{AsOf, Call, Verb};
use crate::error::ApiError;
use crate::http::AnswerBody;
use crate::resource::Gvr;
use crate::review::Identity;
use crate::revision::{Revision, Teller};
use crate::settle;
use crate::state::State;
use crate::store::{Change, key, within};
use crate::transport;
use crate::verbs::Warnings;

pub use crate::options::{Authenticate, Authorize, Issue, Observe, Options, Wall};

/// An API server in memory. Clones are the same one.
#[derive(Clone)]
pub struct Plane {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    state: Mutex<State>,
    /// The revision of the last change.
    told: Teller,
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
        let shared = Shared { options, state, told: Teller::new(1), backends: Backends::default() };
        let plane = Self { shared: Arc::new(shared) };
        let now = plane.now();
        plane.write(|state| state.create_first_namespaces(now));
        plane
    }

    /// Another plane that begins as this one is now. Nobody is behind it: backends are registered anew.
    pub fn fork(&self, options: Options) -> Self {
        let state = self.state().alone(options.history);
        let told = Teller::new(state.store.revision());
        let shared = Shared { options, state: Mutex::new(state), told, backends: Backends::default() };
        Self { shared: Arc::new(shared) }
    }

    /// A client whose requests are this user's.
    pub fn client(&self, user: &str) -> kube::Client {
        kube::Client::new(transport::Transport::new(self.clone(), user), "default")
    }

    /// Answers one HTTP request. A watch answers with a body that goes on, one frame for each event.
    pub async fn answer(&self, user: &str, request: Request<Body>) -> Response<Body> {
        transport::with_clients_body(self.serve(user, request).await).await
    }

    /// The same, with a body of this crate's own, for those who need not have the client's.
    pub async fn serve(&self, user: &str, request: Request<Body>) -> Response<AnswerBody> {
        crate::http::serve(self, user, request).await
    }

    /// The same for one that is read already; everything but watches.
    pub async fn call(&self, call: Call) -> Result<Value, ApiError> {
        if call.verb == Verb::Watch {
            return Err(ApiError::bad_request("a watch needs a connection"));
        }
        let answer = crate::verbs::answer(self, &call, AsOf::default(), &Warnings::default()).await;
        let code = answer.as_ref().map_or_else(|refusal| refusal.code, |answer| answer.code);
        (self.options().observe)(&call, code);
        Ok(answer?.into_value(Shape::Full))
    }

    /// Whose token it is; none if nobody's.
    pub fn holder(&self, token: &str) -> Option<Identity> {
        (self.options().authenticate)(token)
    }

    /// An object as it is now.
    pub fn object(&self, resource: &Gvr, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let state = self.state();
        let resource = state.resource(resource)?;
        let stored = state.store.get(&resource.shelf, &key(namespace, name))?;
        Some(crate::convert::to_served(&resource, stored))
    }

    /// All objects of a resource, in the order of lists; of one namespace, or of all.
    pub fn objects(&self, resource: &Gvr, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let state = self.state();
        let Some(resource) = state.resource(resource) else { return Vec::new() };
        within(state.store.shelf(&resource.shelf), namespace)
            .map(|(_, stored)| crate::convert::to_served(&resource, stored))
            .collect()
    }

    /// The revision of the last change, told as it grows.
    pub fn revision(&self) -> Revision {
        self.shared.told.listen()
    }

    /// Everything that changed after a revision, in order; none if the log does not reach back so far.
    pub fn changes_since(&self, revision: u64) -> Option<Vec<Change>> {
        Some(self.state().store.since(revision)?.map(|change| Change::clone(change)).collect())
    }

    /// Forgets the log: watches and continued lists from before now are told that they are too old.
    pub fn compact(&self) {
        self.state().store.compact();
    }

    /// Lets a host be called: `NAME.NAMESPACE.svc` for what configurations name as a service, `host:port` for an URL.
    pub fn register_backend(&self, host: &str, backend: Backend) {
        self.backends().insert(host, backend);
        self.set_reachable(|hosts| hosts.insert(host.to_owned()));
    }

    /// Nobody answers at this host any more.
    pub fn remove_backend(&self, host: &str) {
        self.backends().remove(host);
        self.set_reachable(|hosts| hosts.remove(host));
    }

    fn set_reachable(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        let now = self.now();
        self.write(|state| {
            if change(&mut state.hosts) {
                aggregate::look_again(state, now);
                settle::settle(state, now);
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
        self.shared.state.lock().expect("nobody panics while holding it")
    }

    /// Writes, and tells those who wait what the revision is then.
    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let written = write(&mut state);
        let revision = state.store.revision();
        drop(state);
        self.shared.told.tell(revision);
        written
    }
}
