//! A playground: the real operator, its metrics API and its webhooks on a Kubernetes API in memory, in one process. Sources that cannot
//! be reached are stood in for, and a user turns their values. Time can pass faster than on the machine's clock.
//!
//! | module | what it holds |
//! |---|---|
//! | [`playground`] | starting and stopping one |
//! | `virtual_time` | time that passes at a chosen speed |
//! | `cluster` | the Kubernetes API, its controllers, and what every cluster has |
//! | `components` | the operator, the metrics API and the webhooks |
//! | [`manifests`] | applying a user's manifests; workloads that are missing are made up |
//! | [`dials`] | the values and the health of sources that are stood in for |
//! | `sources` | the stand-ins themselves, and the way to them |
//! | `usage` | what pods use, by dials too |
//! | [`scenario`] | prepared days |
//! | `controls` | what the page may change |
//! | `certificates` | certificates that are made for one run |
//! | `kubectl` | the API over HTTPS, and a kubeconfig |
//!
//! Two threads work. One has the virtual clock: the cluster's controllers, the operator and the stand-ins. The other has the machine's
//! clock: connections of kubectl and of browsers, whose timeouts are real.

mod certificates;
mod cluster;
mod components;
mod controls;
pub mod dials;
mod kubectl;
pub mod manifests;
pub mod playground;
pub mod scenario;
mod sources;
mod usage;
mod virtual_time;

pub use playground::{Options, Playground, StartError};
pub use scenario::Scenario;
