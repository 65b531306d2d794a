//! Admission webhooks: they deny an object that could not work before it is stored, and warn of settings that have no effect.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rules`] | every admission rule, pure: an object and its neighbours in, violations out; `kedge lint` and `kedge migrate` share them |
//! | [`violation`] | what a rule reports: rule, field, problem, remedy |
//! | [`nearest`] | spelling suggestions |
//! | [`neighbours`] | what rules may know of the objects around theirs |
//! | [`index`] | the neighbours in a cluster, in memory, kept up to date by watches |
//! | [`lookups`] | what is fetched from the API server because no index has it |
//! | [`change`] | which updates need no validation |
//! | [`review`] | `AdmissionReview` requests and responses |
//! | [`webhooks`] | from an HTTP request to its response |
//! | [`telemetry`] | the counters, under KEDA's names |
//! | [`routes`], [`webhook_configuration`] | the path of each kind, and the `ValidatingWebhookConfiguration` that names it |

pub mod change;
pub mod index;
pub mod lookups;
pub mod nearest;
pub mod neighbours;
pub mod review;
pub mod routes;
pub mod rules;
pub mod telemetry;
pub mod violation;
pub mod webhook_configuration;
pub mod webhooks;

pub use webhooks::Webhooks;
