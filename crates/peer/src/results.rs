//! What a takeover measures, as plain values: `takeover` creates them, and `report` renders them.

use std::fmt;
use std::time::Duration;

use crate::operators::Peer;
use crate::prober::ProbeSummary;
use crate::recorder::Change;
use kedge_test_cluster::audit::Writes;

/// The prefix of the process names that handovers use. Kedge's identity in a Lease starts with its process name.
pub(crate) const PROCESS_NAME_PREFIX: &str = "handover";

/// How long replicas took to follow the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalingTimes {
    pub(crate) higher_load: Duration,
    pub(crate) from_zero: Duration,
}

/// The order in which the old operator stops and the new one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoverMode {
    /// The new operator starts after the old one has ended.
    Sequential,
    /// Like [`HandoverMode::Sequential`], from KEDA's Helm release to Kedge's, which has its own namespace.
    HelmReleases,
    /// The old operator stops after the new one is ready and serves metrics. Both use the same Lease.
    SideBySide,
    /// Like [`HandoverMode::SideBySide`], in two namespaces with a Lease each, so both are leaders.
    TwoLeases,
}

impl HandoverMode {
    /// Returns whether both operators run at the same time.
    pub(crate) fn overlaps(self) -> bool {
        matches!(self, HandoverMode::SideBySide | HandoverMode::TwoLeases)
    }
}

impl fmt::Display for HandoverMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HandoverMode::Sequential => "one after the other",
            HandoverMode::HelmReleases => "from release to release",
            HandoverMode::SideBySide => "side by side",
            HandoverMode::TwoLeases => "side by side with two Leases",
        })
    }
}

/// The result of one handover.
#[derive(Debug)]
pub(crate) struct Handover {
    /// Counts from 1.
    pub(crate) number: u32,
    pub(crate) from: Peer,
    pub(crate) to: Peer,
    pub(crate) mode: HandoverMode,
    /// From SIGTERM to the old operator until it ended.
    pub(crate) shutdown: Duration,
    /// From the start of the new operator until it was ready.
    pub(crate) readiness: Duration,
    /// From the end of the old operator until the new one acquired a Lease; zero if it did so before.
    pub(crate) lease_acquisition: Duration,
    /// From the end of the old operator until the new one had polled every object; zero if it did so before.
    pub(crate) first_polls: Duration,
    /// From the start of the new operator until it had returned every probed metric; unknown where both run.
    pub(crate) first_responses: Option<Duration>,
    pub(crate) probes: Vec<ProbeSummary>,
    pub(crate) changes: Vec<Change>,
    pub(crate) writes: Writes,
    pub(crate) lease_changes: Vec<LeaseChange>,
    /// ScaledObjects that do not have the expected replicas or `Ready` condition at the end.
    pub(crate) unsettled: Vec<String>,
}

/// A new holder of a Lease.
#[derive(Clone, Debug)]
pub(crate) struct LeaseChange {
    /// The time since the handover began.
    pub(crate) after: Duration,
    /// `namespace/name`.
    pub(crate) lease: String,
    /// The holder identity; empty for a released Lease.
    pub(crate) holder: String,
}

impl Handover {
    /// Renders the number, both operators and the mode.
    pub(crate) fn title(&self) -> String {
        format!("{}. {} → {}, {}", self.number, self.from, self.to, self.mode)
    }

    /// Returns the time without a response for each metric: from the last valid response of the old operator to the
    /// first of the new one; where both run, the longest time between two valid responses.
    pub(crate) fn response_gaps(&self) -> impl Iterator<Item = Duration> {
        self.probes.iter().map(|probe| if self.mode.overlaps() { probe.longest_gap } else { probe.handover_gap })
    }
}

impl LeaseChange {
    /// Names the operator that has this holder identity.
    pub(crate) fn holder_name(&self) -> &'static str {
        match self.holder.as_str() {
            "" => "no process",
            kedge if kedge.starts_with(PROCESS_NAME_PREFIX) => "Kedge",
            _ => "KEDA",
        }
    }
}
