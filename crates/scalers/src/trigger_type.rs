//! The descriptor of a trigger type: everything that Kedge knows about a type besides the code that runs it. The registry
//! builds scalers by it; lint, admission, simulate, telemetry, `kedge rbac` and the reference page read it.

pub mod cluster_read;

use std::fmt;
use std::sync::Arc;

use kedge_core::trigger_class::TriggerClass;

use crate::field::{FROM_ENV, Field, FieldGroup};
use crate::scaler::Scaler;
use crate::shared::Shared;
use crate::trigger::{BuildError, TriggerConfig};
pub use cluster_read::{ClusterRead, ReadCondition, ReadNamespace};

/// Builds the scaler of a trigger, or returns every error in the trigger.
pub(crate) type Build = fn(&Shared, &TriggerConfig<'_>) -> Result<Arc<dyn Scaler>, BuildError>;

/// One trigger type.
pub struct TriggerType {
    /// The `type` of its triggers.
    pub name: &'static str,
    /// What KEDA calls its scaler: the `scaler` label of metrics about triggers without a name.
    pub keda_scaler: &'static str,
    pub class: TriggerClass,
    /// What its triggers scale by, as part of a sentence.
    pub help: &'static str,
    /// Its page in `docs/scalers`.
    pub docs_page: &'static str,
    pub groups: &'static [FieldGroup],
    pub other_parameters: OtherParameters,
    /// The parameter above which a trigger is active.
    pub activation: Option<&'static str>,
    pub metrics: MetricsOrigin,
    /// What the operator reads in the cluster for its triggers.
    pub cluster_reads: &'static [ClusterRead],
    pub(crate) build: Build,
}

/// What happens to parameters that the descriptor does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherParameters {
    Ignored,
    /// They are sent to the source, which defines their meaning.
    PassedOn,
}

/// What defines the metrics and the targets of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsOrigin {
    Trigger,
    /// The source reports them when it is queried.
    Source,
}

impl TriggerType {
    /// Every parameter.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.groups.iter().flat_map(|group| group.fields)
    }

    /// The parameters of this name, which may have several entries with different sources.
    pub fn fields_named(&self, name: &str) -> impl Iterator<Item = &'static Field> {
        self.fields().filter(move |field| field.has_name(name))
    }

    /// Whether the type has a parameter for this key of `metadata`.
    // KEDA: a key counts also where the parameter is read from authentication alone, and `FromEnv` counts for every one.
    pub fn expects(&self, key: &str) -> bool {
        let name = key.strip_suffix(FROM_ENV).unwrap_or(key);
        let is_known = |name: &str| self.fields_named(name).next().is_some();
        self.other_parameters == OtherParameters::PassedOn || is_known(name) || is_known(key)
    }

    /// The names that `metadata` can have, without `FromEnv`.
    pub fn metadata_names(&self) -> impl Iterator<Item = &'static str> {
        self.fields().filter(|field| field.is_in_metadata()).flat_map(Field::names)
    }
}

impl fmt::Debug for TriggerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TriggerType").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests;
