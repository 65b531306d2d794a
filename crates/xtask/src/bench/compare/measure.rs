//! What is measured.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    IdleMemory,
    Memory,
    PeakMemory,
    IdleCpu,
    Cpu,
    Writes,
    Queries,
    Connections,
    ApplyToHpas,
    ReadMedian,
    ReadSlowest,
    ReadCpu,
    ReadRate,
    StraightRate,
    StraightCpu,
    Activation,
    Restart,
    Deletion,
    LeftBehind,
}

/// What Kedge is to reach: so many times better than KEDA, and no more than the limit in any case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) ratio: f64,
    pub(super) limit: Option<f64>,
}

impl Measure {
    pub(super) const ALL: [Self; 19] = [
        Self::IdleMemory,
        Self::Memory,
        Self::PeakMemory,
        Self::IdleCpu,
        Self::Cpu,
        Self::Writes,
        Self::Queries,
        Self::Connections,
        Self::ApplyToHpas,
        Self::ReadMedian,
        Self::ReadSlowest,
        Self::ReadCpu,
        Self::ReadRate,
        Self::StraightRate,
        Self::StraightCpu,
        Self::Activation,
        Self::Restart,
        Self::Deletion,
        Self::LeftBehind,
    ];

    /// What it is, and its unit.
    pub(super) fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::IdleMemory => ("resident memory, no objects", "MiB"),
            Self::Memory => ("resident memory, steady state", "MiB"),
            Self::PeakMemory => ("peak of resident memory", "MiB"),
            Self::IdleCpu => ("CPU, no objects", "cores"),
            Self::Cpu => ("CPU, steady state", "cores"),
            Self::Writes => ("writes to the API server, steady state", "per minute"),
            Self::Queries => ("queries of the source, steady state", "per second"),
            Self::Connections => ("connections to the source, steady state", "connections"),
            Self::ApplyToHpas => ("from the first ScaledObject to the last HPA", "s"),
            Self::ReadMedian => ("read through the API server, one at a time, median", "ms"),
            Self::ReadSlowest => ("read through the API server, one at a time, 99th percentile", "ms"),
            Self::ReadCpu => ("CPU for each of these reads", "ms"),
            Self::ReadRate => ("reads through the API server, 16 at once", "per second"),
            Self::StraightRate => ("reads straight from the metrics server, 16 at once", "per second"),
            Self::StraightCpu => ("CPU for each of these reads", "ms"),
            Self::Activation => ("from load for all objects to one replica of each", "s"),
            Self::Restart => ("from a restart to all metrics served", "s"),
            Self::Deletion => ("deletion of all ScaledObjects", "s"),
            Self::LeftBehind => {
                ("objects without an HPA, a metric or replicas after three minutes without progress", "objects")
            }
        }
    }

    /// What Kedge is to reach, for the measures that have a bar.
    pub(super) fn bar(self) -> Option<Bar> {
        let bar = |ratio, limit| Some(Bar { ratio, limit });
        match self {
            Self::IdleMemory => bar(12.0, None),
            Self::Memory => bar(12.0, Some(30.0)),
            Self::Cpu => bar(10.0, Some(0.03)),
            Self::ApplyToHpas => bar(15.0, Some(8.0)),
            Self::ReadMedian | Self::ReadSlowest | Self::Activation | Self::Restart => bar(5.0, None),
            Self::StraightRate => bar(8.0, None),
            Self::StraightCpu => bar(10.0, None),
            _ => None,
        }
    }

    /// Whether more is better.
    pub(super) fn is_rate(self) -> bool {
        matches!(self, Self::ReadRate | Self::StraightRate)
    }
}
