//! The options of a cluster.

use std::ffi::OsString;
use std::time::Duration;

use crate::cargo;

/// What the control plane and the nodes are started with.
#[derive(Debug)]
pub(crate) struct ClusterOptions {
    pub(crate) nodes: usize,
    pub(crate) hpa_sync_period: Duration,
    pub(crate) metrics_server: bool,
    /// Ports of pods, each with the port of this machine that stands for it.
    pub(crate) forwarded_ports: Vec<(u16, u16)>,
    pub(crate) apiserver_flags: Vec<OsString>,
    pub(crate) controller_manager_flags: Vec<OsString>,
    /// The profile of cargo that the API in memory is built with.
    pub(crate) plane_profile: &'static str,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            nodes: 1,
            hpa_sync_period: Duration::from_secs(15),
            metrics_server: false,
            forwarded_ports: Vec::new(),
            apiserver_flags: Vec::new(),
            controller_manager_flags: Vec::new(),
            plane_profile: cargo::DEV,
        }
    }
}
