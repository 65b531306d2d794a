//! The whole, and how to talk to it.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use http::{Request, Response};
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

use crate::call::Call;
use crate::error::ApiError;
use crate::resource::Gvr;
use crate::store::Change;

/// Tells wall time.
pub type Wall = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// What may be chosen about a plane.
#[derive(Clone)]
pub struct Options {
    pub wall: Wall,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { wall: Arc::new(Utc::now) }
    }
}

/// An API server in memory. Clones are the same one.
#[derive(Clone)]
pub struct Plane {}

impl fmt::Debug for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plane")
    }
}

impl Plane {
    /// A plane with the namespaces that every cluster has. Spawns nothing.
    pub fn new(_options: Options) -> Self {
        todo!()
    }

    /// A client whose requests are this user's.
    pub fn client(&self, _user: &str) -> kube::Client {
        todo!()
    }

    /// Answers one HTTP request. A watch answers with a body that goes on, one frame for each event.
    pub async fn answer(&self, _user: &str, _request: Request<Body>) -> Response<Body> {
        todo!()
    }

    /// The same for one that is read already; everything but watches.
    pub async fn call(&self, _call: Call) -> Result<Value, ApiError> {
        todo!()
    }

    /// An object as it is now.
    pub fn object(&self, _resource: &Gvr, _namespace: Option<&str>, _name: &str) -> Option<Arc<Value>> {
        todo!()
    }

    /// All objects of a resource, in the order of lists; of one namespace, or of all.
    pub fn objects(&self, _resource: &Gvr, _namespace: Option<&str>) -> Vec<Arc<Value>> {
        todo!()
    }

    /// The revision of the last change, told as it grows.
    pub fn revision(&self) -> watch::Receiver<u64> {
        todo!()
    }

    /// Everything that changed after a revision, in order; none if the log does not reach back so far.
    pub fn changes_since(&self, _revision: u64) -> Option<Vec<Change>> {
        todo!()
    }

    /// The time, as objects are stamped with it.
    pub fn now(&self) -> DateTime<Utc> {
        todo!()
    }
}
