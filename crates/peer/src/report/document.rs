//! Renders the result as Markdown.

use std::time::Duration;

use super::Report;
use super::verdict::{self, Verdict};
use crate::fleet::FLEET_SIZE;
use crate::results::{Handover, HandoverMode};

type Entry = (Handover, Verdict);

/// A row of the table: its title, and its cell for each handover.
type Row = (&'static str, fn(&Entry) -> String);

const ROWS: [Row; 17] = [
    ("replica counts that changed", |entry| entry.1.replicas_changed.to_string()),
    ("HPAs recreated or deleted", |entry| entry.1.hpas_replaced.to_string()),
    ("HPAs whose spec changed", |entry| entry.1.hpa_specs_changed.to_string()),
    ("HPAs whose labels, annotations or owners changed", |entry| entry.1.hpa_metadata_changed.to_string()),
    ("ScaledObjects whose `Ready` changed during the handover", |entry| entry.1.ready_changed.to_string()),
    ("ScaledObjects that differ at the end", |entry| entry.0.unsettled.len().to_string()),
    ("HPA writes by KEDA", |entry| entry.0.writes.hpas.keda.to_string()),
    ("HPA writes by Kedge", |entry| entry.0.writes.hpas.kedge.to_string()),
    ("writes of the scale subresource, by either", |entry| {
        (entry.0.writes.scales.keda + entry.0.writes.scales.kedge).to_string()
    }),
    ("time without a response for a metric: longest of the four", |entry| seconds(entry.0.response_gaps().max())),
    ("the same: shortest of the four", |entry| seconds(entry.0.response_gaps().min())),
    ("requests without a valid response", |entry| {
        entry.0.probes.iter().map(|probe| probe.failures).sum::<usize>().to_string()
    }),
    ("shutdown of the old one, after SIGTERM", |entry| seconds(Some(entry.0.shutdown))),
    ("readiness of the new one, after its start", |entry| seconds(Some(entry.0.readiness))),
    ("first response for every metric, after its start", |entry| seconds(entry.0.first_responses)),
    ("Lease acquired, after the old one ended", |entry| seconds(Some(entry.0.lease_acquisition))),
    ("every object reconciled, after the old one ended", |entry| seconds(Some(entry.0.first_polls))),
];

impl Report {
    /// Renders all results as Markdown.
    pub(super) fn render(&self) -> String {
        let mut lines = vec![self.machine.to_string(), String::new()];
        for is_selected in [|mode: HandoverMode| !mode.overlaps(), HandoverMode::overlaps] {
            lines.extend(self.render_table(is_selected));
            lines.push(String::new());
        }
        lines.extend(self.render_steps());
        lines.extend(self.render_leases());
        lines.extend(self.render_allowed_changes());
        let verdict = match self.violations.len() {
            0 => format!("Nothing changed: {FLEET_SIZE} ScaledObjects, {} handovers.", self.handovers.len()),
            count => format!("{count} violations: {}", self.violations.join("; ")),
        };
        lines.extend([String::new(), verdict]);
        lines.join("\n")
    }

    /// Renders the handovers whose mode is selected, one per column.
    fn render_table(&self, is_selected: fn(HandoverMode) -> bool) -> Vec<String> {
        let columns: Vec<&Entry> = self.handovers.iter().filter(|(handover, _)| is_selected(handover.mode)).collect();
        let titles = columns.iter().map(|(handover, _)| handover.title());
        let mut lines = vec![row("what", titles), row("---", columns.iter().map(|_| "---:".to_owned()))];
        lines.extend(ROWS.iter().map(|(title, cell)| row(title, columns.iter().copied().map(cell))));
        lines
    }

    /// Renders the results of the steps between handovers.
    fn render_steps(&self) -> Vec<String> {
        let scalings = self.scalings.iter().map(|(peer, times)| {
            let (higher_load, from_zero) = (seconds(Some(times.higher_load)), seconds(Some(times.from_zero)));
            format!(
                "- Under {peer}, replicas followed a higher load after {higher_load}, and a target scaled from zero \
                 after {from_zero}."
            )
        });
        let denials = self.denials.iter().map(|(peer, message)| {
            format!("- Under {peer}, a second ScaledObject for a target was denied: `{message}`")
        });
        let deletions = self.deletions.iter().map(|(peer, duration)| {
            let after = seconds(Some(*duration));
            format!(
                "- Under {peer}, an object that the other managed before was deleted, and its target had its original \
                 replicas again after {after}."
            )
        });
        let idle = match verdict::count_by_description(&self.idle_changes.iter().collect::<Vec<_>>()) {
            changes if changes.is_empty() => "- While nothing happened under KEDA, nothing changed.".to_owned(),
            changes => format!("- While nothing happened under KEDA: {}.", changes.join("; ")),
        };
        std::iter::once(idle).chain(scalings).chain(denials).chain(deletions).collect()
    }

    fn render_allowed_changes(&self) -> Vec<String> {
        let line = |(handover, verdict): &Entry| {
            let changes = match verdict.allowed_changes.as_slice() {
                [] => "nothing".to_owned(),
                changes => changes.join("; "),
            };
            format!("- Changed in {}: {changes}.", handover.title())
        };
        self.handovers.iter().map(line).collect()
    }

    fn render_leases(&self) -> Vec<String> {
        let line = |(handover, _): &Entry| {
            let changes = handover.lease_changes.iter().map(|change| {
                format!("{} holds `{}` after {}", change.holder_name(), change.lease, seconds(Some(change.after)))
            });
            let changes: Vec<String> = changes.collect();
            format!("- Leases in {}: {}.", handover.title(), changes.join(", "))
        };
        self.handovers.iter().map(line).collect()
    }
}

fn seconds(duration: Option<Duration>) -> String {
    duration.map_or("–".to_owned(), |duration| format!("{:.1} s", duration.as_secs_f64()))
}

fn row(title: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = std::iter::once(title.to_owned()).chain(cells).collect();
    format!("| {} |", cells.join(" | "))
}
