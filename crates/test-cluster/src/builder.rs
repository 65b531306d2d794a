//! Choosing the options of a cluster, and starting it.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context;

use crate::cargo;
use crate::certificates::Certificates;
use crate::cluster::Cluster;
use crate::control_plane::ControlPlane;
use crate::embedded;
use crate::options::ClusterOptions;
use crate::ports::Port;
use crate::process::Group;
use crate::real;
use crate::state::StateFolder;
use crate::tools::{self, Tool};

impl Cluster {
    /// A cluster of this name, which contains a-z, 0-9 and `-`. Two that run at once need two names.
    pub fn builder(name: impl Into<String>) -> ClusterBuilder {
        ClusterBuilder { name: name.into(), control_plane: None, options: ClusterOptions::default() }
    }
}

/// A cluster that is not started yet.
#[derive(Debug)]
pub struct ClusterBuilder {
    name: String,
    control_plane: Option<ControlPlane>,
    options: ClusterOptions,
}

impl ClusterBuilder {
    /// Sets the control plane, whatever the environment says.
    pub fn control_plane(mut self, control_plane: ControlPlane) -> Self {
        self.control_plane = Some(control_plane);
        self
    }

    /// Sets the number of nodes; 1 by default.
    pub fn nodes(mut self, count: usize) -> Self {
        self.options.nodes = count;
        self
    }

    /// Sets the sync period of the HPA controller; 15 s by default, as in any cluster. The first sync of a new HPA comes one period
    /// late.
    pub fn hpa_sync_period(mut self, period: Duration) -> Self {
        self.options.hpa_sync_period = period;
        self
    }

    /// Runs a metrics-server, so that HPAs see the usage of pods, which an annotation of each pod sets.
    pub fn metrics_server(mut self) -> Self {
        self.options.metrics_server = true;
        self
    }

    /// Forwards this port of every pod to a port of this machine, for `kubectl port-forward` and its like: pods run nothing.
    pub fn forwarded_port(mut self, of_pods: u16, of_machine: u16) -> Self {
        self.options.forwarded_ports.push((of_pods, of_machine));
        self
    }

    /// Adds a flag of kube-apiserver; the last one of a name counts.
    pub fn apiserver_flag(mut self, flag: impl Into<OsString>) -> Self {
        self.options.apiserver_flags.push(flag.into());
        self
    }

    /// Adds a flag of kube-controller-manager; the last one of a name counts.
    pub fn controller_manager_flag(mut self, flag: impl Into<OsString>) -> Self {
        self.options.controller_manager_flags.push(flag.into());
        self
    }

    /// Optimizes the API in memory, for as many objects as tests never have. It is compiled for that.
    pub fn optimize_plane(mut self) -> Self {
        self.options.plane_profile = cargo::QUICKLY_BUILT;
        self
    }

    /// Builds what is missing, starts everything, and returns when pods can run.
    pub async fn start(self) -> anyhow::Result<Cluster> {
        let control_plane = self.control_plane.map_or_else(ControlPlane::chosen, Ok)?;
        let needed = match control_plane {
            ControlPlane::Real => real::tools(&self.options),
            ControlPlane::Embedded => vec![Tool::Kubectl],
        };
        tokio::task::spawn_blocking(move || tools::build(&needed)).await??;
        let name = || format!("cluster {}", self.name);
        let mut cluster = self.prepare(control_plane).with_context(name)?;
        match control_plane {
            ControlPlane::Real => real::start(&mut cluster, &self.options).await,
            ControlPlane::Embedded => embedded::start(&mut cluster, &self.options).await,
        }
        .with_context(name)?;
        Ok(cluster)
    }

    /// Creates the folder, the certificates and the process group, before any process runs.
    fn prepare(&self, control_plane: ControlPlane) -> anyhow::Result<Cluster> {
        let state = StateFolder::for_cluster(&self.name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        let port = Port::reserve()?;
        Ok(Cluster {
            group: Group::start(&folder)?,
            pki: Certificates::create(&folder, port.number)?,
            folder,
            control_plane,
            apiserver_port: port.number,
            kubectl: tools::path(Tool::Kubectl)?,
            reader: OnceLock::new(),
            reserved: vec![port],
            _lock: lock,
        })
    }
}
