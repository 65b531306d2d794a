//! The class of a trigger type: the one fact about a type that decisions depend on.
//!
//! The descriptors of trigger types, with their parameters and build functions, belong to `kedge-scalers`, which depends on
//! this crate. Functions here that need the class of a trigger take a [`ClassOf`] as a value, so that this crate knows no type
//! by name. (The alternative, descriptors in this crate, would have split each of them from the code that builds it.)

/// Looks up the class of a trigger type by its name. `None`: there is no such type.
pub type ClassOf = fn(&str) -> Option<TriggerClass>;

/// What kind of signal the triggers of a type follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerClass {
    /// A resource of the pods: the HPA controller measures it, and the operator reads no value.
    Resource(Resource),
    /// The time of day: the value depends on the clock alone.
    Schedule,
    /// The state of the cluster itself.
    Cluster,
    /// A source outside of the operator, which is queried.
    Source,
    /// A source that is queried and also pushes activity.
    Push,
}

/// A resource that the HPA controller measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Cpu,
    Memory,
}

impl Resource {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

impl TriggerClass {
    pub fn name(self) -> &'static str {
        match self {
            Self::Resource(_) => "resource",
            Self::Schedule => "schedule",
            Self::Cluster => "cluster",
            Self::Source => "source",
            Self::Push => "push",
        }
    }

    /// The resource that the HPA controller measures for triggers of this class.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Self::Resource(resource) => Some(resource),
            Self::Schedule | Self::Cluster | Self::Source | Self::Push => None,
        }
    }

    /// Whether `useCachedMetrics` can be set.
    // KEDA: refuses it for cpu, memory and cron.
    pub fn allows_cached_metrics(self) -> bool {
        !matches!(self, Self::Resource(_) | Self::Schedule)
    }

    /// Whether readings depend on a server that can fail independently of the cluster.
    pub fn queries_a_source(self) -> bool {
        matches!(self, Self::Source | Self::Push)
    }
}

/// Classes of a few types, for the tests of this crate.
#[cfg(test)]
pub(crate) fn sample_class_of(trigger_type: &str) -> Option<TriggerClass> {
    match trigger_type {
        "cpu" => Some(TriggerClass::Resource(Resource::Cpu)),
        "memory" => Some(TriggerClass::Resource(Resource::Memory)),
        "cron" => Some(TriggerClass::Schedule),
        "prometheus" => Some(TriggerClass::Source),
        _ => None,
    }
}
