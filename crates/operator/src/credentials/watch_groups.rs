//! How the references in use are watched: those of one resource in one namespace form a group. Few of them are watched one by one;
//! with more, one watch covers the namespace, because each watch is a connection to the API server.
//!
//! Where the operator may not list the namespace, as with permissions by name, the watches stay as they are.

use std::collections::BTreeMap;

use kedge_core::credentials::Reference;
use tokio::task::AbortHandle;

/// Up to this many objects of a namespace are watched one by one.
pub(super) const WATCHED_ALONE_MAX: usize = 4;

/// The references of one resource in one namespace that are in use. Dropping it ends its watches.
#[derive(Debug, Default)]
pub(super) struct WatchGroup {
    /// Each with its own watch, if it has one.
    used: BTreeMap<Reference, Option<AbortHandle>>,
    namespace_watch: NamespaceWatch,
}

/// The watch of all objects of the namespace.
#[derive(Debug, Default)]
enum NamespaceWatch {
    #[default]
    NotNeeded,
    Started {
        task: AbortHandle,
        /// When it listed last, in recorded versions.
        listed_at: Option<u64>,
    },
    Denied,
}

/// Which watch a new reference needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeededWatch {
    None,
    OfObject,
    OfNamespace,
}

impl WatchGroup {
    /// Adds a reference that is used from now on.
    pub(super) fn add(&mut self, reference: &Reference) -> NeededWatch {
        if self.used.contains_key(reference) {
            return NeededWatch::None;
        }
        self.used.insert(reference.clone(), None);
        match &self.namespace_watch {
            NamespaceWatch::Started { .. } => NeededWatch::None,
            NamespaceWatch::NotNeeded if self.used.len() > WATCHED_ALONE_MAX => NeededWatch::OfNamespace,
            NamespaceWatch::NotNeeded | NamespaceWatch::Denied => NeededWatch::OfObject,
        }
    }

    /// Takes the watch of one object.
    pub(super) fn set_object_watch(&mut self, reference: &Reference, task: AbortHandle) {
        if let Some(watch) = self.used.get_mut(reference) {
            *watch = Some(task);
        }
    }

    /// Takes the watch of the namespace. Until it has listed, the others continue.
    pub(super) fn set_namespace_watch(&mut self, task: AbortHandle) {
        self.namespace_watch = NamespaceWatch::Started { task, listed_at: None };
    }

    /// The namespace was listed: its watch replaces those of single objects.
    pub(super) fn listed(&mut self, epoch: u64) {
        if let NamespaceWatch::Started { listed_at, .. } = &mut self.namespace_watch {
            *listed_at = Some(epoch);
            self.used.values_mut().filter_map(Option::take).for_each(|watch| watch.abort());
        }
    }

    /// The operator may not list the namespace. Returns the references that need a watch of their own.
    pub(super) fn denied(&mut self) -> Vec<Reference> {
        if let NamespaceWatch::Started { task, .. } = &self.namespace_watch {
            task.abort();
        }
        self.namespace_watch = NamespaceWatch::Denied;
        self.used.iter().filter(|(_, watch)| watch.is_none()).map(|(reference, _)| reference.clone()).collect()
    }

    /// When the namespace was listed last. A list reports only what is in use.
    pub(super) fn listed_at(&self) -> Option<u64> {
        match &self.namespace_watch {
            NamespaceWatch::Started { listed_at, .. } => *listed_at,
            NamespaceWatch::NotNeeded | NamespaceWatch::Denied => None,
        }
    }

    /// Removes a reference that is not used any more.
    pub(super) fn remove(&mut self, reference: &Reference) {
        if let Some(Some(watch)) = self.used.remove(reference) {
            watch.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

impl Drop for WatchGroup {
    fn drop(&mut self) {
        self.used.values().flatten().for_each(AbortHandle::abort);
        if let NamespaceWatch::Started { task, .. } = &self.namespace_watch {
            task.abort();
        }
    }
}
