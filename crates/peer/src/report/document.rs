//! The tables, and the place in a document that holds them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::Report;
use super::verdict::{self, Verdict};
use crate::fleet::SIZE;
use crate::takeover::{Handover, How};

const BEGIN: &str = "<!-- The result: written by `cargo xtask peer takeover --write`. -->";
const END: &str = "<!-- The end of the result. -->";

type Entry = (Handover, Verdict);

/// A row of the table: its title, and its cell for each hand-over.
type Row = (&'static str, fn(&Entry) -> String);

const ROWS: [Row; 17] = [
    ("replica counts that changed", |entry| entry.1.replicas_changed.to_string()),
    ("HPAs recreated or deleted", |entry| entry.1.hpas_replaced.to_string()),
    ("HPAs whose spec changed", |entry| entry.1.hpa_specs_changed.to_string()),
    ("HPAs whose labels, annotations or owners changed", |entry| entry.1.hpa_marks_changed.to_string()),
    ("ScaledObjects whose `Ready` changed during the handover", |entry| entry.1.ready_changed.to_string()),
    ("ScaledObjects that differ at the end", |entry| entry.0.unsettled.len().to_string()),
    ("HPA writes by KEDA", |entry| entry.0.writes.hpas.keda.to_string()),
    ("HPA writes by Kedge", |entry| entry.0.writes.hpas.kedge.to_string()),
    ("writes of the scale subresource, by either", |entry| {
        (entry.0.writes.scales.keda + entry.0.writes.scales.kedge).to_string()
    }),
    ("time without a response for a metric: longest of the four", |entry| seconds(entry.0.silences().max())),
    ("the same: shortest of the four", |entry| seconds(entry.0.silences().min())),
    ("requests without a valid response", |entry| {
        entry.0.gaps.iter().map(|gap| gap.failures).sum::<usize>().to_string()
    }),
    ("shutdown of the old one, after SIGTERM", |entry| seconds(Some(entry.0.ending))),
    ("readiness of the new one, after its start", |entry| seconds(Some(entry.0.ready))),
    ("first response for every metric, after its start", |entry| seconds(entry.0.answered)),
    ("Lease acquired, after the old one ended", |entry| seconds(Some(entry.0.leading))),
    ("every object reconciled, after the old one ended", |entry| seconds(Some(entry.0.polled))),
];

impl Report {
    /// All of it, as Markdown.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![
            format!("{}; {}; {}, shared with other work.", self.machine.date, self.machine.versions, self.machine.size),
            String::new(),
        ];
        for chosen in [|how: How| !how.overlaps(), How::overlaps] {
            lines.extend(self.table(chosen));
            lines.push(String::new());
        }
        lines.extend(self.under_each());
        lines.extend(self.leases());
        lines.extend(self.notes());
        let verdict = match self.violations.len() {
            0 => format!("Nothing changed: {SIZE} ScaledObjects, {} handovers.", self.handovers.len()),
            count => format!("{count} violations: {}", self.violations.join("; ")),
        };
        lines.extend([String::new(), verdict]);
        lines.join("\n")
    }

    /// The hand-overs of some forms, side by side.
    fn table(&self, chosen: fn(How) -> bool) -> Vec<String> {
        let columns: Vec<&Entry> = self.handovers.iter().filter(|(seen, _)| chosen(seen.how)).collect();
        let titles = columns.iter().map(|(seen, _)| seen.title());
        let mut lines = vec![row("what", titles), row("---", columns.iter().map(|_| "---:".to_owned()))];
        lines.extend(ROWS.iter().map(|(title, cell)| row(title, columns.iter().copied().map(cell))));
        lines
    }

    /// What was tried under each.
    fn under_each(&self) -> Vec<String> {
        let scalings = self.scalings.iter().map(|(peer, followed)| {
            let (more, woken) = (seconds(Some(followed.more)), seconds(Some(followed.woken)));
            format!("- Under {peer}, replicas followed a higher load after {more}, and a target scaled from zero after {woken}.")
        });
        let refusals = self.refusals.iter().map(|(peer, message)| {
            format!("- Under {peer}, a second ScaledObject for a target was denied: `{message}`")
        });
        let deletions = self.deletions.iter().map(|(peer, took)| {
            let took = seconds(Some(*took));
            format!("- Under {peer}, an object that the other managed before was deleted, and its target had its original replicas again after {took}.")
        });
        let at_rest = match verdict::notes(&self.at_rest.iter().collect::<Vec<_>>()) {
            notes if notes.is_empty() => "- While nothing happened under KEDA, nothing changed.".to_owned(),
            notes => format!("- While nothing happened under KEDA: {}.", notes.join("; ")),
        };
        std::iter::once(at_rest).chain(scalings).chain(refusals).chain(deletions).collect()
    }

    /// What changed and may.
    fn notes(&self) -> Vec<String> {
        let line = |(seen, verdict): &Entry| {
            let notes = if verdict.notes.is_empty() { "nothing".to_owned() } else { verdict.notes.join("; ") };
            format!("- Changed in {}: {notes}.", seen.title())
        };
        self.handovers.iter().map(line).collect()
    }

    fn leases(&self) -> Vec<String> {
        let line = |(seen, _): &Entry| {
            let held = seen.leases.iter().map(|(after, lease, holder)| {
                format!("{} holds `{lease}` after {}", Handover::who(holder), seconds(Some(*after)))
            });
            let held: Vec<String> = held.collect();
            format!("- Leases in {}: {}.", seen.title(), held.join(", "))
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

/// Puts the result into a document, in place of the last one, or at its end.
pub(super) fn write(path: &Path, result: &str) -> anyhow::Result<()> {
    let old = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(path, replaced(&old, result)).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(old: &str, result: &str) -> String {
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
    fn a_result_takes_the_place_of_the_last_one() {
        let first = replaced("# Title\n\nText.\n", "one");
        assert_eq!(first, format!("# Title\n\nText.\n\n{BEGIN}\n\none\n\n{END}\n"));
        let second = replaced(&first.replace("Text.", "Other."), "two");
        assert_eq!(second, format!("# Title\n\nOther.\n\n{BEGIN}\n\ntwo\n\n{END}\n"));
    }
}
