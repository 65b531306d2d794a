//! The result: progress while it runs, a table at the end, and the same in a document.

mod document;
mod machine;
mod verdict;

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::bail;
use kedge_test_cluster::Cluster;

use self::machine::Machine;
use self::verdict::Verdict;
use super::operators::Peer;
use super::recorder::Change;
use super::takeover::{Followed, Handover, Profile};

/// Everything that was found out.
pub(crate) struct Report {
    machine: Machine,
    handovers: Vec<(Handover, Verdict)>,
    /// What moved though nothing happened.
    at_rest: Vec<Change>,
    scalings: Vec<(Peer, Followed)>,
    refusals: Vec<(Peer, String)>,
    deletions: Vec<(Peer, Duration)>,
    violations: Vec<String>,
}

impl Report {
    pub(crate) async fn begin(cluster: &Cluster, profile: Profile) -> anyhow::Result<Self> {
        Ok(Self {
            machine: Machine::look(cluster, profile).await?,
            handovers: Vec::new(),
            at_rest: Vec::new(),
            scalings: Vec::new(),
            refusals: Vec::new(),
            deletions: Vec::new(),
            violations: Vec::new(),
        })
    }

    pub(crate) fn rest(&mut self, changes: Vec<Change>) {
        let moved = changes.iter().filter(|change| verdict::is_violation(change));
        self.violations.extend(moved.map(|change| format!("at rest under KEDA: {change}")));
        self.at_rest = changes;
    }

    pub(crate) fn scaling(&mut self, peer: Peer, followed: Followed) {
        self.scalings.push((peer, followed));
    }

    pub(crate) fn refusal(&mut self, peer: Peer, answer: Result<String, String>) {
        match answer {
            Ok(message) => self.refusals.push((peer, message.lines().next().unwrap_or_default().to_owned())),
            Err(problem) => self.violations.push(format!("a mistake is not refused under {peer}: {problem}")),
        }
    }

    /// The story could not be played to its end.
    pub(crate) fn broken(&mut self, error: &anyhow::Error) {
        self.violations.push(format!("not played to its end: {error:#}"));
    }

    pub(crate) fn deletion(&mut self, peer: Peer, took: Duration) {
        self.deletions.push((peer, took));
    }

    pub(crate) fn handover(&mut self, seen: Handover) {
        let verdict = Verdict::from_handover(&seen);
        for note in &verdict.notes {
            println!("  noted: {note}");
        }
        for violation in &verdict.violations {
            println!("  VIOLATION: {violation}");
        }
        for gap in &seen.gaps {
            let (name, longest, failures) = (&gap.metric.object, gap.longest, gap.failures);
            let said = gap.last_failure.as_deref().unwrap_or("nothing");
            println!("  {name}: {longest:.1?} without an answer, {failures} failures, the last said: {said}");
        }
        let title = seen.title();
        self.violations.extend(verdict.violations.iter().map(|violation| format!("{title}: {violation}")));
        self.handovers.push((seen, verdict));
    }

    /// Prints the result, writes it where it was asked for, and fails if anything was not as it is to be.
    pub(crate) fn finish(self, document: Option<&Path>) -> anyhow::Result<()> {
        let text = self.text();
        println!("\n{text}");
        if let Some(path) = document {
            document::write(path, &text)?;
        }
        match self.violations.len() {
            0 => Ok(()),
            count => bail!("{count} violations:\n{}", self.violations.join("\n")),
        }
    }
}

/// Tells whoever waits what is going on.
pub(crate) fn say(what: &str) {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let elapsed = BEGUN.get_or_init(Instant::now).elapsed();
    println!("[{:>5.1} s] {what}", elapsed.as_secs_f64());
}
