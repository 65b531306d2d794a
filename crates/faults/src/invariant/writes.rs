//! The operator writes an HPA, and a status, a bounded number of times a minute.

use std::time::Duration;

use tokio::time::Instant;

use super::RunRecord;
use crate::scenario::NAME;

const MINUTE: Duration = Duration::from_secs(60);

/// The budget of one process, and what comes on top of it: the creation of the HPA, and the record of the target.
const PER_MINUTE: usize = 20 + 1;

/// Within no minute more writes than the budget.
pub(super) fn bounded_at_all_times(record: &RunRecord) -> Vec<String> {
    if !record.is_uninterrupted() || record.scenario.operators > 1 {
        return Vec::new();
    }
    let written = [
        ("the HPA", format!("/horizontalpodautoscalers/keda-hpa-{NAME}")),
        ("the status", format!("/scaledobjects/{NAME}/status")),
    ];
    let most = |path: &str| {
        let entries = record.entries.iter().filter(|entry| entry.is_write() && entry.line.contains(path));
        let times: Vec<Instant> = entries.map(|entry| entry.issued_at).collect();
        let within = |from: &Instant| times.iter().filter(|at| **at >= *from && **at < *from + MINUTE).count();
        times.iter().map(within).max().unwrap_or_default()
    };
    let counted = written.into_iter().map(|(what, path)| (what, most(&path)));
    let over = counted.filter(|(_, most)| *most > PER_MINUTE);
    over.map(|(what, most)| format!("{what} was written {most} times within a minute")).collect()
}
