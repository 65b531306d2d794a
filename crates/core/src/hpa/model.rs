//! A model of the HorizontalPodAutoscaler controller of Kubernetes 1.36, as a function of values.
//!
//! [`reconcile`](reconcile::reconcile) is one reconcile of one HPA. Its input is everything that the
//! controller reads (the object, its scale, metrics, pods, its history, the time); its result is everything that the
//! controller does. The caller reads the input, writes the result, and schedules the next reconcile.
//!
//! | module | what it holds |
//! |---|---|
//! | [`settings`] | flags and feature gates of the controller |
//! | [`defaults`] | the API server's defaults of a spec |
//! | [`pods`], [`samples`] | the pods, and the samples of each |
//! | [`external`] | proposals from one amount: External and Object metrics |
//! | [`per_pod`] | proposals from an amount per pod: Resource, ContainerResource and Pods metrics |
//! | [`metric`] | one entry of `spec.metrics`: its proposal with its name and status, or its failure |
//! | [`combine`] | all entries of `spec.metrics` together |
//! | [`rules`] | `spec.behavior` as types |
//! | [`normalise`] | from the combined proposal to the desired replicas: windows, rates, bounds |
//! | [`history`] | recommendations and scale events between reconciles |
//! | [`conditions`] | conditions, their reasons and messages |
//! | [`events`] | events |
//! | [`status`] | the status, and whether it must be written |
//! | [`reconcile`] | the reconcile itself |
//!
//! Numbers follow the controller as built for amd64: amounts are thousandths in `i64`, ratios are `f64`, and what does
//! not fit into an integer becomes its minimum. `// HPA:` marks unexpected behaviour of the controller.

pub mod combine;
pub mod conditions;
mod convert;
pub mod defaults;
pub mod events;
pub mod external;
pub mod history;
pub mod metric;
pub mod normalise;
pub mod per_pod;
pub mod pods;
pub mod reconcile;
pub mod rules;
pub mod samples;
mod selector_text;
pub mod settings;
pub mod status;
pub mod tolerance;
