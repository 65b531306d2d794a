//! What every part of Kedge that talks to Kubernetes shares. Scaling rules are in `kedge-core`; controllers are in `kedge-operator`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@list_watch`] | listing and watching one resource, with re-lists and backoff |
//! | [`stored`] | objects that our types may not be able to read |
//! | [`scope`] | the part of the cluster that a watch covers |
//! | [`backoff`] | pauses between attempts |
//! | [`retry_after`] | the client layer that obeys `Retry-After` |
//! | [`api_error`] | reading the errors of the API server |
//! | [`merge_patch`] | JSON merge patches |
//! | [`key`] | the names that objects are stored under |
//! | [`target`] | the workloads being scaled, and their `/scale` |
//! | [`events`] | publishing Kubernetes events |
//! | [`lease`] | leader election |
//! | [`clock`] | the one source of wall time |
//! | [`mod@phase`] | spreading periodic work over its period |

pub mod api_error;
pub mod backoff;
pub mod clock;
pub mod events;
pub mod key;
pub mod lease;
pub mod list_watch;
pub mod merge_patch;
pub mod phase;
pub mod retry_after;
pub mod scope;
pub mod stored;
pub mod target;

pub use backoff::Backoff;
pub use clock::{Clock, instant_after};
pub use events::{EventPublisher, EventType};
pub use kedge_core::lease::LeaseTiming;
pub use key::{NamespacedName, ObjectKey, ScalableKind};
pub use lease::{LeaderElection, LeaderElector};
pub use list_watch::{ListWatchEvent, Projection, ResourceQuery, list, list_watch, list_watch_reporting};
pub use phase::phase;
pub use retry_after::{RetryAfterLayer, client_with_retry_after};
pub use scope::Scope;
pub use target::{ScaleTarget, ScaleTargets, TargetError, TargetKind};
