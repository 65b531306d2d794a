//! One request on its way through the registry, and the warnings that it collects.

use std::sync::{Arc, Mutex};

use super::Plane;
use crate::api::error::ApiError;
use crate::api::request::Call;
use crate::api::resource::Resource;

/// The warnings of a response, each once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn add(&self, text: String) {
        let mut texts = self.0.lock().expect("no thread panics while it holds the lock");
        if !texts.contains(&text) {
            texts.push(text);
        }
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0.into_inner().expect("no thread panics while it holds the lock")
    }
}

/// A call, its resource, and the plane that handles it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext<'a> {
    pub(crate) plane: &'a Plane,
    pub(crate) call: &'a Call,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) warnings: &'a Warnings,
}

impl<'a> RequestContext<'a> {
    /// The namespace, if the resource has them.
    pub(crate) fn namespace(&self) -> Option<&'a str> {
        self.call.namespace.as_deref().filter(|_| self.resource.is_namespaced())
    }

    /// The name in the path.
    pub(crate) fn name(&self) -> &'a str {
        self.call.name.as_deref().unwrap_or("")
    }

    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group_resource(), self.name())
    }
}
