//! Prints the progress of a takeover, renders its results as tables, and writes them to a document.

mod document;
mod verdict;

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::bail;
use kedge_test_cluster::machine::Machine;
use kedge_test_cluster::{Cluster, result_document};

use self::verdict::Verdict;
use crate::operators::{Peer, Profile};
use crate::recorder::Change;
use crate::results::{Handover, ScalingTimes};

/// The results of all steps.
pub(crate) struct Report {
    machine: Machine,
    handovers: Vec<(Handover, Verdict)>,
    /// Changes under constant load, before the first handover.
    idle_changes: Vec<Change>,
    scalings: Vec<(Peer, ScalingTimes)>,
    /// The message of each denial.
    denials: Vec<(Peer, String)>,
    deletions: Vec<(Peer, Duration)>,
    violations: Vec<String>,
}

impl Report {
    /// Reads the versions and the size of the machine.
    pub(crate) async fn start(cluster: &Cluster, profile: Profile) -> anyhow::Result<Self> {
        Ok(Self {
            machine: Machine::read(cluster, profile.describe()).await?,
            handovers: Vec::new(),
            idle_changes: Vec::new(),
            scalings: Vec::new(),
            denials: Vec::new(),
            deletions: Vec::new(),
            violations: Vec::new(),
        })
    }

    pub(crate) fn add_idle_changes(&mut self, changes: Vec<Change>) {
        let violations = changes.iter().filter(|change| verdict::is_violation(change));
        self.violations.extend(violations.map(|change| format!("under constant load with KEDA: {change}")));
        self.idle_changes = changes;
    }

    pub(crate) fn add_scaling(&mut self, peer: Peer, times: ScalingTimes) {
        self.scalings.push((peer, times));
    }

    /// Adds the message of a denial, or the problem if the object was not denied.
    pub(crate) fn add_denial(&mut self, peer: Peer, result: Result<String, String>) {
        match result {
            Ok(message) => self.denials.push((peer, message.lines().next().unwrap_or_default().to_owned())),
            Err(problem) => self.violations.push(format!("a duplicate is not denied under {peer}: {problem}")),
        }
    }

    /// Adds the error that ended the takeover early.
    pub(crate) fn add_error(&mut self, error: &anyhow::Error) {
        self.violations.push(format!("the takeover did not complete: {error:#}"));
    }

    pub(crate) fn add_deletion(&mut self, peer: Peer, duration: Duration) {
        self.deletions.push((peer, duration));
    }

    pub(crate) fn add_handover(&mut self, handover: Handover) {
        let verdict = Verdict::from_handover(&handover);
        for change in &verdict.allowed_changes {
            println!("  changed: {change}");
        }
        for violation in &verdict.violations {
            println!("  VIOLATION: {violation}");
        }
        for probe in &handover.probes {
            let (name, longest_gap, failures) = (&probe.metric.object, probe.longest_gap, probe.failures);
            let last_error = probe.last_error.as_deref().unwrap_or("none");
            println!(
                "  {name}: {longest_gap:.1?} without a response, {failures} failed requests, last error: {last_error}"
            );
        }
        let title = handover.title();
        self.violations.extend(verdict.violations.iter().map(|violation| format!("{title}: {violation}")));
        self.handovers.push((handover, verdict));
    }

    /// Prints the result, writes it to the document if there is one, and fails on a violation.
    pub(crate) fn finish(self, document: Option<&Path>) -> anyhow::Result<()> {
        let text = self.render();
        println!("\n{text}");
        if let Some(path) = document {
            result_document::write(path, "peer takeover", &text)?;
        }
        match self.violations.len() {
            0 => Ok(()),
            count => bail!("{count} violations:\n{}", self.violations.join("\n")),
        }
    }
}

/// Prints a message with the time since the first one.
pub(crate) fn print_progress(message: &str) {
    static STARTED_AT: OnceLock<Instant> = OnceLock::new();
    let elapsed = STARTED_AT.get_or_init(Instant::now).elapsed();
    println!("[{:>5.1} s] {message}", elapsed.as_secs_f64());
}
