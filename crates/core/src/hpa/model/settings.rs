//! The flags and feature gates of the controller, with their defaults.

use chrono::TimeDelta;

/// Flags of kube-controller-manager that the algorithm reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `--horizontal-pod-autoscaler-sync-period`: the time between two reconciles of one HPA. The
    /// reconcile itself does not use it; its caller does.
    pub sync_period: TimeDelta,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`: the window of scale-downs whose spec names none.
    pub downscale_stabilization: TimeDelta,
    /// `--horizontal-pod-autoscaler-tolerance`, for both directions.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`: how long a pod counts as young.
    pub cpu_initialization_period: TimeDelta,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`: a pod that became unready this soon was never ready.
    pub initial_readiness_delay: TimeDelta,
    pub gates: Gates,
}

/// The feature gates that change the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `HPAConfigurableTolerance`: an autoscaler may name its own tolerances.
    pub configurable_tolerance: Gate,
    /// `HPAScaleToZero`: the autoscaler may scale to zero and come back from there.
    pub scale_to_zero: Gate,
    /// `PodLevelResources`: a pod's own requests count before those of its containers.
    pub pod_level_resources: Gate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    On,
    Off,
}

impl Gate {
    pub(super) fn is_on(self) -> bool {
        self == Self::On
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sync_period: TimeDelta::seconds(15),
            downscale_stabilization: TimeDelta::minutes(5),
            tolerance: 0.1,
            cpu_initialization_period: TimeDelta::minutes(5),
            initial_readiness_delay: TimeDelta::seconds(30),
            gates: Gates::default(),
        }
    }
}

impl Default for Gates {
    fn default() -> Self {
        Self { configurable_tolerance: Gate::On, scale_to_zero: Gate::Off, pod_level_resources: Gate::On }
    }
}
