//! The types of KEDA's API: `keda.sh/v1alpha1`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scaled_object`] | `ScaledObject`: a workload scaled by events |
//! | [`scaled_job`] | `ScaledJob`: Jobs created for events |
//! | [`authentication`] | `TriggerAuthentication` and `ClusterTriggerAuthentication`: how triggers authenticate |
//! | [`trigger`] | the trigger, shared by the first two |
//! | [`condition`] | the condition that all of them report |
//! | [`names`] | wire-visible names that are not fields: annotations, labels, reasons, messages |
//! | [`time`] | conversions between Kubernetes' times and chrono's |
//! | [`crd`] | the CustomResourceDefinitions, generated from these types |
//!
//! Optional fields are `Option`s here and stay unset when they were unset: parsing a manifest and writing it back loses
//! nothing. `kedge-core` decides what an unset field means, not these types. There is no client in this crate.

pub mod authentication;
pub mod condition;
pub mod crd;
pub mod names;
pub mod scaled_job;
pub mod scaled_object;
pub mod time;
pub mod trigger;

pub use authentication::{ClusterTriggerAuthentication, TriggerAuthentication};
pub use condition::Condition;
pub use scaled_job::ScaledJob;
pub use scaled_object::ScaledObject;
pub use trigger::Trigger;

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod strategies;
