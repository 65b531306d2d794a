//! Objects, revisions, and the log of what changed.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::resource::Gvr;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Added,
    Modified,
    Deleted,
}

/// One entry of the log: one write that changed something.
#[derive(Clone, Debug)]
pub struct Change {
    pub revision: u64,
    pub at: DateTime<Utc>,
    /// Who wrote.
    pub by: String,
    pub resource: Gvr,
    pub namespace: Option<String>,
    pub name: String,
    pub happened: Happened,
    /// The object before; none where it was created.
    pub before: Option<Arc<Value>>,
    /// The object after; where it was deleted, its last state, with the revision of the deletion.
    pub after: Arc<Value>,
}
