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
//! | [`watches`] | keeping it fresh |
//! | [`reads`] | what triggers read of the cluster |
//! | [`queue`] | who is due when |
//! | [`telemetry`] | the operator's own metrics |
//! | [`push`] | sources that tell by themselves |
//! | [`role`] | leading or standing by, and which objects a leader has come to |
//! | [`jobs`] | ScaledJobs, which are not run yet |
//!
//! It holds no rule of scaling: those are in `kedge-core`. What it shares with other parts that talk to Kubernetes is in `kedge-cluster`.

pub mod board;
pub mod build;
pub mod credentials;
pub mod jobs;
pub mod pass;
pub mod push;
pub mod queue;
pub mod reads;
pub mod role;
pub mod run;
pub mod source;
pub mod telemetry;
pub mod watches;
pub mod world;

pub use reads::KubeReads;
pub use run::{Operator, Settings};
pub use source::BoardSource;
pub use telemetry::Telemetry;

#[cfg(test)]
mod test_cluster;
