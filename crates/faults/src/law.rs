//! What may never happen on the way, judged on everything that was written and answered in a run.

mod cooldown;
mod hpas;
mod knowledge;
mod leadership;
mod pause;
mod replicas;
mod restore;

use std::sync::Arc;
use std::time::Duration;

use kedge_plane::Plane;
use kedge_plane::store::Change;
use serde_json::Value;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::journal::{Entry, Journal};
use crate::lab::Lab;
use crate::scenario::{NAME, NAMESPACE, Scenario};
use crate::source::Served;
use crate::user::resource;

/// Everything that is known of a run.
#[derive(Debug)]
pub struct Evidence {
    pub scenario: Scenario,
    pub faults: Vec<Fault>,
    pub changes: Vec<Change>,
    pub entries: Vec<Entry>,
    pub served: Vec<Served>,
    began_at: Instant,
}

/// A write of the target's replicas.
#[derive(Debug)]
pub struct Step<'a> {
    pub change: &'a Change,
    pub from: i64,
    pub to: i64,
    /// The request by which it was made, if the operator made it.
    pub entry: Option<&'a Entry>,
    /// When it was asked for.
    pub issued_at: Instant,
}

impl Evidence {
    pub fn gather(scenario: &Scenario, faults: Vec<Fault>, lab: &Lab, journal: &Journal, began_at: Instant) -> Self {
        Self {
            scenario: scenario.clone(),
            faults,
            changes: all_changes(lab.plane()),
            entries: journal.entries(),
            served: lab.sources().served(),
            began_at,
        }
    }

    /// Everything that happened, in lines, in order.
    pub fn lines(&self) -> Vec<String> {
        let mut all: Vec<(Instant, String)> = Vec::new();
        for entry in &self.entries {
            all.push((
                entry.issued_at,
                format!("{} {} -> {} r{}", entry.replica, entry.line, entry.status, entry.revision),
            ));
        }
        for served in &self.served {
            all.push((served.at, format!("source {}: {:?}", served.question, served.value)));
        }
        for change in &self.changes {
            let what = format!("{:?} {} {} by {}", change.happened, change.resource.plural, change.name, change.by);
            all.push((self.instant(change), format!("    r{} {what}: {}", change.revision, short(&change.after))));
        }
        all.sort_by_key(|(at, _)| *at);
        let told = |(at, line): (Instant, String)| format!("{:>9.3} {line}", self.since_start(at).as_secs_f64());
        all.into_iter().map(told).collect()
    }

    /// When a change was made, on the clock of requests.
    pub fn instant(&self, change: &Change) -> Instant {
        self.began_at + (change.at - self.scenario.begins_at).to_std().unwrap_or_default()
    }

    /// How long after the beginning an instant is.
    pub fn since_start(&self, at: Instant) -> Duration {
        at.duration_since(self.began_at)
    }

    pub fn has(&self, fault: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(fault)
    }

    /// The changes of all objects of a kind.
    pub fn changes_of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Change> {
        let resource = resource(kind);
        self.changes.iter().filter(move |change| change.resource == resource)
    }

    /// The ScaledObject as it was at a revision.
    pub fn object_at(&self, revision: u64) -> Option<&Arc<Value>> {
        let last = self.changes_of("ScaledObject").take_while(|change| change.revision <= revision).last()?;
        (last.happened != kedge_plane::store::Happened::Deleted).then_some(&last.after)
    }

    /// Every write of the target's replicas by the operator or the HPA controller.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let replicas = |object: &Value| object["spec"]["replicas"].as_i64().unwrap_or(1);
        self.changes_of("Deployment").filter(|change| change.name == NAME).filter_map(move |change| {
            let (from, to) = (replicas(change.before.as_ref()?), replicas(&change.after));
            let entry = self.entries.iter().find(|entry| entry.is_write() && entry.revision == change.revision);
            // Objects are stamped with whole seconds: the HPA controller wrote at the end of that one at the latest.
            let stamped = self.instant(change) + Duration::from_secs(1);
            let issued_at = entry.map_or(stamped, |entry| entry.issued_at);
            (from != to).then_some(Step { change, from, to, entry, issued_at })
        })
    }

    /// The same, by the operator alone.
    pub fn own_steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps().filter(|step| is_operator(&step.change.by))
    }

    /// The questions that the object's triggers ask.
    pub fn questions(object: &Value) -> Vec<String> {
        let triggers = object["spec"]["triggers"].as_array().into_iter().flatten();
        let question = |trigger: &Value| match trigger["type"].as_str() {
            Some("prometheus") => trigger["metadata"]["query"].as_str().map(str::to_owned),
            Some("external-push") => Some("jobs".to_owned()),
            _ => None,
        };
        triggers.filter_map(question).collect()
    }

    /// The object as the operator could know it when it took a step: as it last read it itself, and else as it was. A read from
    /// before a write that was refused does not count: whoever was refused must look again.
    pub fn object_behind(&self, step: &Step<'_>) -> Option<&Arc<Value>> {
        let path = format!("GET /apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects/{NAME}");
        let own = self.entries.iter().filter(|entry| entry.replica == step.change.by);
        let before: Vec<&Entry> = own.take_while(|entry| entry.revision < step.change.revision).collect();
        let refused = |entry: &&Entry| entry.status == 409 && entry.line.contains("/scale");
        let fresh = before.iter().rev().take_while(|entry| !refused(entry));
        let read = fresh.copied().find(|entry| entry.line.starts_with(&path) && entry.status == 200);
        self.object_at(read.map_or(step.change.revision, |entry| entry.revision))
    }
}

/// As much of an object as tells what changed.
fn short(object: &Value) -> String {
    let parts = [
        ("replicas", &object["spec"]["replicas"]),
        ("conditions", &object["status"]["conditions"]),
        ("annotations", &object["metadata"]["annotations"]),
        ("finalizers", &object["metadata"]["finalizers"]),
        ("reason", &object["reason"]),
        ("note", &object["note"]),
    ];
    let shown = parts.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| format!("{name}={value}"));
    shown.collect::<Vec<_>>().join(" ")
}

/// Everything a law found.
pub fn judge(evidence: &Evidence) -> Vec<String> {
    let laws = [
        cooldown::not_early,
        cooldown::not_late,
        hpas::only_one,
        hpas::only_ours,
        knowledge::shrinks_only_on_knowledge,
        leadership::only_the_leader_writes,
        pause::a_pause_is_kept,
        replicas::within_bounds,
        restore::restored_before_the_end,
    ];
    laws.iter().flat_map(|law: &fn(&Evidence) -> Vec<String>| law(evidence)).collect()
}

pub fn is_operator(user: &str) -> bool {
    user.starts_with("kedge-")
}

/// The revision of a plane on which nothing was written.
const FIRST: u64 = 1;

fn all_changes(plane: &Plane) -> Vec<Change> {
    plane.changes_since(FIRST).expect("the log of a run is whole")
}

/// A step in words.
fn told(evidence: &Evidence, step: &Step<'_>) -> String {
    let at = evidence.since_start(step.issued_at).as_secs_f64();
    format!("at {at:.1} s {} took the target from {} to {}", step.change.by, step.from, step.to)
}
