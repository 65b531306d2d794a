//! Admission webhooks: they refuse an object that could not work, before it is stored, and warn of what surprises.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rules`] | every rule, pure: an object and its neighbours in, findings out |
//! | [`finding`] | what a rule says |
//! | [`nearest`] | the word that was probably meant |
//! | [`neighbours`] | what rules may know of the objects around theirs |
//! | [`index`] | the same for a whole cluster, in memory, kept fresh by watches |
//! | [`lookups`] | what is asked of the API server because no index has it |
//! | [`change`] | which updates need not be judged |
//! | [`review`] | the questions of the API server, and our answers |
//! | [`webhooks`] | from a request over HTTP to its answer |
//! | [`telemetry`] | what is counted, under KEDA's names |
//! | [`routes`], [`registration`] | where each kind is judged, and how the API server is told so |

pub mod change;
pub mod finding;
pub mod index;
pub mod lookups;
pub mod nearest;
pub mod neighbours;
pub mod registration;
pub mod review;
pub mod routes;
pub mod rules;
pub mod telemetry;
pub mod webhooks;

pub use webhooks::Webhooks;
