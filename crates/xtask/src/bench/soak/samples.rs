//! What a process weighs over time.

use std::fmt::{self, Write as _};
use std::fs;

use anyhow::Context;
use kedge_test_cluster::RunningOperator;
use kedge_test_cluster::usage::Usage;

const MIB: u64 = 1024 * 1024;

/// One process at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) replica: usize,
    /// Seconds since the start.
    pub(super) at: u64,
    /// Whether leaders are killed at that time.
    pub(super) with_kills: bool,
    pub(super) memory_bytes: u64,
    pub(super) file_descriptors: u64,
    pub(super) series: u64,
}

/// A measure of a sample: its name, its value, and the growth that is no leak.
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) value: fn(&Sample) -> u64,
    allowance: u64,
}

pub(super) const MEASURES: [Measure; 3] = [
    Measure { name: "memory (bytes)", value: |sample| sample.memory_bytes, allowance: 4 * MIB },
    Measure { name: "file descriptors", value: |sample| sample.file_descriptors, allowance: 20 },
    Measure { name: "series", value: |sample| sample.series, allowance: 100 },
];

impl Sample {
    pub(super) async fn take(
        operator: &RunningOperator,
        replica: usize,
        at: u64,
        with_kills: bool,
    ) -> anyhow::Result<Self> {
        let process = operator.process_id().context("it does not run")?;
        // A process that was just started does not serve yet.
        let metrics = operator.metrics().await.unwrap_or_default();
        Ok(Self {
            replica,
            at,
            with_kills,
            memory_bytes: Usage::of(process)?.resident_bytes,
            file_descriptors: fs::read_dir(format!("/proc/{process}/fd"))?.count() as u64,
            series: metrics.lines().filter(|line| line.starts_with("keda_")).count() as u64,
        })
    }
}

/// All samples, in order of time.
#[derive(Debug, Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

impl Samples {
    pub(super) fn add(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    pub(super) fn replicas(&self) -> usize {
        self.0.iter().map(|sample| sample.replica + 1).max().unwrap_or_default()
    }

    pub(super) fn of(&self, replica: usize) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |sample| sample.replica == replica)
    }

    /// The newest sample of each replica in one line.
    pub(super) fn latest(&self) -> String {
        let newest = (0..self.replicas()).filter_map(|replica| self.of(replica).last());
        let one = |sample: &Sample| {
            let Sample { replica, memory_bytes, file_descriptors, series, .. } = sample;
            format!(
                "replica {replica}: {} MiB, {file_descriptors} file descriptors, {series} series",
                memory_bytes / MIB
            )
        };
        newest.map(one).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn csv(&self) -> String {
        let mut csv = "seconds,replica,with_kills,memory_bytes,file_descriptors,series\n".to_owned();
        for Sample { replica, at, with_kills, memory_bytes, file_descriptors, series } in &self.0 {
            let _ = writeln!(csv, "{at},{replica},{with_kills},{memory_bytes},{file_descriptors},{series}");
        }
        csv
    }

    /// How each measure of each replica grew while no process was killed: from the middle of that time to its end.
    pub(super) fn growth(&self) -> Growth {
        let mut rows = Vec::new();
        for replica in 0..self.replicas() {
            let calm: Vec<&Sample> = self.of(replica).filter(|sample| !sample.with_kills).collect();
            let sixth = calm.len() / 6;
            for measure in &MEASURES {
                let median = |samples: &[&Sample]| {
                    let mut values: Vec<u64> = samples.iter().map(|sample| (measure.value)(sample)).collect();
                    values.sort_unstable();
                    values.get(values.len() / 2).copied().unwrap_or_default()
                };
                let (before, after) = (median(&calm[2 * sixth..3 * sixth]), median(&calm[5 * sixth..]));
                let is_flat = after <= before + before / 10 + measure.allowance;
                rows.push(GrowthRow { replica, name: measure.name, before, after, is_flat });
            }
        }
        Growth(rows)
    }
}

/// How the processes grew.
#[derive(Debug)]
pub(super) struct Growth(Vec<GrowthRow>);

#[derive(Debug)]
struct GrowthRow {
    replica: usize,
    name: &'static str,
    before: u64,
    after: u64,
    is_flat: bool,
}

impl Growth {
    pub(super) fn is_flat(&self) -> bool {
        self.0.iter().all(|row| row.is_flat)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| replica | measure | in the middle | at the end | |\n|---|---|---|---|---|")?;
        for GrowthRow { replica, name, before, after, is_flat } in &self.0 {
            let verdict = if *is_flat { "flat" } else { "GREW" };
            writeln!(f, "| {replica} | {name} | {before} | {after} | {verdict} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u64) -> u64) -> Samples {
        let sample = |at| Sample {
            replica: 0,
            at,
            with_kills: at >= 60,
            memory_bytes: memory(at) * MIB,
            file_descriptors: 30,
            series: 2000,
        };
        Samples((0..70).map(sample).collect())
    }

    #[test]
    fn growth_counts_after_the_warm_up_and_before_the_kills() {
        assert!(samples(|_| 40).growth().is_flat());
        assert!(samples(|at| if at < 10 { at } else { 40 }).growth().is_flat(), "warm-up is no growth");
        assert!(samples(|at| if at < 60 { 40 } else { 400 }).growth().is_flat(), "another process is no growth");
        assert!(!samples(|at| 40 + at).growth().is_flat());
    }
}
