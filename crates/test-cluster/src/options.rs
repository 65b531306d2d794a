//! The options of a cluster.

use std::ffi::OsString;
use std::time::Duration;

/// What the control plane and the nodes are started with.
#[derive(Debug)]
pub(crate) struct ClusterOptions {
    pub(crate) nodes: usize,
    pub(crate) hpa_sync_period: Duration,
    pub(crate) metrics_server: bool,
    pub(crate) apiserver_flags: Vec<OsString>,
    pub(crate) controller_manager_flags: Vec<OsString>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            nodes: 1,
            hpa_sync_period: Duration::from_secs(15),
            metrics_server: false,
            apiserver_flags: Vec::new(),
            controller_manager_flags: Vec::new(),
        }
    }
}
