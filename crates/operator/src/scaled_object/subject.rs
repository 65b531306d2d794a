//! What the steps after the target work on: the object, its target, its scalers, and its HPA.

use std::sync::Arc;

use kedge_cluster::ScaleTarget;
use kedge_core::policy::Policy;

use crate::cluster_cache::LazyObject;
use crate::scalers_cache::ObjectScalers;

/// What the HPA is rendered from, and what a poll, or a push, decides about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) object: &'a LazyObject,
    pub(super) policy: &'a Policy,
    pub(super) target: &'a ScaleTarget,
    pub(super) scalers: &'a Arc<ObjectScalers>,
    /// The HPA, once it was ensured.
    pub(super) hpa: Option<&'a HpaStep>,
}

/// The result of ensuring the HPA.
#[derive(Debug)]
pub(super) enum HpaStep {
    /// The HPA of this name is as it must be.
    Ensured { name: Option<String> },
    /// As `Ensured`, and it did not exist before.
    Created { name: Option<String> },
    /// The object has no metric yet, so there is no HPA to write.
    NoMetrics,
    /// Why the object can have no HPA: it cannot be rendered, or another owner has its name.
    Rejected { problem: String },
    /// It was written too often within the last minute.
    Postponed { name: Option<String>, problem: String },
    /// Writing failed.
    NotWritten { problem: String },
}

impl HpaStep {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Ensured { name } | Self::Created { name } | Self::Postponed { name, .. } => name.as_deref(),
            Self::NoMetrics | Self::Rejected { .. } | Self::NotWritten { .. } => None,
        }
    }

    pub(super) fn problem(&self) -> Option<&str> {
        match self {
            Self::Rejected { problem } | Self::Postponed { problem, .. } | Self::NotWritten { problem } => {
                Some(problem)
            }
            Self::Ensured { .. } | Self::Created { .. } | Self::NoMetrics => None,
        }
    }
}
