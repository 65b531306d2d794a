//! The operator: it watches ScaledObjects and acts on them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`run`] | the whole: watches fill the queue, passes empty it |
//! | [`pass`] | one pass over one object: check, HPA, poll, decision, status, events |
//! | [`board`] | the newest reading of every trigger, and the one place where sources are asked |
//! | [`source`] | the board's answers to the metrics API |
//! | [`credentials`] | the credentials of triggers, and keeping up with them |
//! | [`build`] | building the triggers of an object |
//! | [`world`] | what is known of the cluster |
//! | [`watches`], [`watch`] | keeping it fresh |
//! | [`target`] | the thing being scaled |
//! | [`reads`] | what triggers read of the cluster |
//! | [`queue`] | who is due when |
//! | [`events`] | what users are told happened |
//! | [`telemetry`] | the operator's own metrics |
//! | [`push`] | sources that tell by themselves |
//! | [`role`] | leading or standing by, and which objects a leader has come to |
//! | [`lease`] | who of several replicas acts |
//! | [`jobs`] | ScaledJobs, which are not run yet |
//! | [`patience`] | waiting when the API server asks for it |
//! | [`clock`] | the one source of time |
//!
//! It holds no rule of scaling: those are in `kedge-core`.

pub mod board;
pub mod build;
pub mod clock;
pub mod credentials;
pub mod events;
pub mod jobs;
pub mod key;
pub mod lease;
pub mod merge;
pub mod pass;
pub mod patience;
pub mod push;
pub mod queue;
pub mod reads;
pub mod role;
pub mod run;
pub mod source;
pub mod target;
pub mod telemetry;
pub mod watch;
pub mod watches;
pub mod world;

pub use clock::Clock;
pub use kedge_core::lease::LeaseTiming;
pub use lease::Election;
pub use patience::patient_client;
pub use reads::KubeReads;
pub use run::{Operator, Settings};
pub use source::BoardSource;
pub use telemetry::Telemetry;

#[cfg(test)]
mod test_cluster;
