//! Renders the result as Markdown, and writes it into a document.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::Report;
use super::verdict::{self, Verdict};
use crate::fleet::FLEET_SIZE;
use crate::results::{Handover, HandoverMode};

const BEGIN: &str = "<!-- The result: written by `cargo xtask peer takeover --write`. -->";
const END: &str = "<!-- The end of the result. -->";

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
        let mut lines = vec![
            format!("{}; {}; {}, shared with other work.", self.machine.date, self.machine.versions, self.machine.size),
            String::new(),
        ];
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

/// Writes the result into a document, in place of the previous one, or at its end.
pub(super) fn write(path: &Path, result: &str) -> anyhow::Result<()> {
    let old = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(path, replace_result(&old, result)).with_context(|| format!("cannot write {}", path.display()))
}

fn replace_result(old: &str, result: &str) -> String {
    let (before, after) = match (old.split_once(BEGIN), old.split_once(END)) {
        (Some((before, _)), Some((_, after))) => (before.to_owned(), after),
        _ => (format!("{}\n\n", old.trim_end()), "\n"),
    };
    format!("{before}{BEGIN}\n\n{result}\n\n{END}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_replaces_the_previous_one() {
        let first = replace_result("# Title\n\nText.\n", "one");
        assert_eq!(first, format!("# Title\n\nText.\n\n{BEGIN}\n\none\n\n{END}\n"));
        let second = replace_result(&first.replace("Text.", "Other."), "two");
        assert_eq!(second, format!("# Title\n\nOther.\n\n{BEGIN}\n\ntwo\n\n{END}\n"));
    }
}
