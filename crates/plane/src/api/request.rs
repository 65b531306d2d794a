//! A request, parsed: user, verb, resource, object, parameters and body.

use serde_json::Value;

use crate::api::resource::Gvr;

/// The verb of a request.
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
    /// The user; writes are recorded under this name.
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

impl Call {
    /// A request for all objects of a resource; namespace, name and body are to be set.
    pub fn new(user: &str, verb: Verb, resource: Gvr) -> Self {
        let (namespace, name, subresource, body) = (None, None, None, None);
        Self { user: user.to_owned(), verb, resource, namespace, name, subresource, params: Vec::new(), body }
    }

    /// A query parameter; empty ones count as absent.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// A boolean query parameter.
    pub fn flag(&self, name: &str) -> Option<bool> {
        Some(matches!(self.param(name)?, "true" | "1"))
    }

    /// An option of a deletion, from the body or else from the query.
    pub(crate) fn option(&self, name: &str) -> Option<Value> {
        let given = self.body.as_ref().and_then(|body| body.get(name)).filter(|value| !value.is_null()).cloned();
        given.or_else(|| {
            let text = self.param(name)?;
            Some(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
        })
    }

    /// Whether the request is a dry run.
    pub fn is_dry_run(&self) -> bool {
        self.params.iter().any(|(key, value)| key == "dryRun" && value == "All")
    }
}

/// The age of the state that a read returns: a request extension, to inject stale reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsOf {
    pub revisions_behind: u64,
}
