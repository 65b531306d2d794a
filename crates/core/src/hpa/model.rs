//! What the HorizontalPodAutoscaler controller of Kubernetes 1.36 will do, as a function of values.
//!
//! [`reconcile`](reconcile::reconcile) is one pass of the controller over one autoscaler. It is given everything the
//! controller would look at (the object, its scale, metrics, pods, what it remembers, the time) and answers with
//! everything it would do. Fetching those things, writing the answers, and deciding when the next pass is due are left
//! to the caller.
//!
//! | module | what it holds |
//! |---|---|
//! | [`settings`] | flags and feature gates of the controller |
//! | [`defaults`] | what the API server fills into a spec |
//! | [`pods`], [`samples`] | what is known of the pods, and what was measured of each |
//! | [`external`] | proposals from one amount: External and Object metrics |
//! | [`per_pod`] | proposals from an amount per pod: Resource, ContainerResource and Pods metrics |
//! | [`metric`] | one entry of `spec.metrics`: its proposal with its name and status, or its failure |
//! | [`combine`] | all entries of `spec.metrics` together |
//! | [`rules`] | `spec.behavior`, read into types |
//! | [`normalise`] | from the combined proposal to the desired replicas: windows, rates, bounds |
//! | [`history`] | what the controller remembers between passes |
//! | [`conditions`] | conditions, their reasons and texts |
//! | [`events`] | events |
//! | [`status`] | the status, and whether it must be written |
//! | [`reconcile`] | the pass itself |
//!
//! Numbers follow the controller as built for amd64: amounts are thousandths in `i64`, ratios are `f64`, and what does
//! not fit into an integer becomes its minimum. `// HPA:` marks behaviour that looks odd and is the controller's own.

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
