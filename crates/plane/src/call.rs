//! One request, read: who wants what of which objects.

use serde_json::Value;

use crate::resource::Gvr;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch(PatchKind),
    Delete,
    DeleteCollection,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    Json,
    Merge,
    StrategicMerge,
    /// Server-side apply.
    Apply,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who asks; writes are noted under this name.
    pub user: String,
    pub verb: Verb,
    pub resource: Gvr,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// `status`, `scale`, `finalize`, …
    pub subresource: Option<String>,
    /// The query, decoded, in its order.
    pub params: Vec<(String, String)>,
    pub body: Option<Value>,
}
