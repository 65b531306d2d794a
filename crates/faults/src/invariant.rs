//! Invariants: what must hold throughout a run, checked on the record of all its requests, changes and readings.

mod certificates;
mod cooldown;
mod hpas;
mod jobs;
mod leadership;
mod pause;
mod polls;
mod readings;
mod replicas;
mod restore;
mod secrets;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use kedge_plane::Change;
use kedge_plane::Plane;
use serde_json::Value;
use tokio::time::Instant;

use crate::driver::resource;
use crate::environment::TestEnvironment;
use crate::fault::{ApiFault, Cut, Fault};
use crate::request_log::{LoggedRequest, RequestLog};
use crate::scenario::{NAME, NAMESPACE, Scenario};
use crate::source::ServedReading;

/// The record of a run.
#[derive(Debug)]
pub struct RunRecord {
    pub scenario: Scenario,
    pub faults: Vec<Fault>,
    pub changes: Vec<Change>,
    pub entries: Vec<LoggedRequest>,
    pub served: Vec<ServedReading>,
    started_at: Instant,
}

/// A write of the target's replicas.
#[derive(Debug)]
pub struct Step<'a> {
    pub change: &'a Change,
    pub from: i64,
    pub to: i64,
    /// The request that made it, if the operator did.
    pub entry: Option<&'a LoggedRequest>,
    /// When the request was issued.
    pub issued_at: Instant,
}

impl RunRecord {
    pub fn collect(
        scenario: &Scenario,
        faults: Vec<Fault>,
        environment: &TestEnvironment,
        requests: &RequestLog,
        started_at: Instant,
    ) -> Self {
        Self {
            scenario: scenario.clone(),
            faults,
            changes: all_changes(environment.plane()),
            entries: requests.entries(),
            served: environment.sources().served(),
            started_at,
        }
    }

    /// The record in lines, in order of time.
    pub fn lines(&self) -> Vec<String> {
        let mut all: Vec<(Instant, String)> = Vec::new();
        for entry in &self.entries {
            all.push((
                entry.issued_at,
                format!("{} {} -> {} r{}", entry.replica, entry.line, entry.status, entry.revision),
            ));
        }
        for served in &self.served {
            all.push((served.at, format!("source {}: {:?}", served.query, served.value)));
        }
        for change in &self.changes {
            let what = format!("{:?} {} {} by {}", change.change_type, change.resource.plural, change.name, change.by);
            all.push((self.instant(change), format!("    r{} {what}: {}", change.revision, summarize(&change.after))));
        }
        all.sort_by_key(|(at, _)| *at);
        let with_time = |(at, line): (Instant, String)| format!("{:>9.3} {line}", self.since_start(at).as_secs_f64());
        all.into_iter().map(with_time).collect()
    }

    /// The instant of a change, on the clock of the requests.
    pub fn instant(&self, change: &Change) -> Instant {
        self.started_at + (change.at - self.scenario.begins_at).to_std().unwrap_or_default()
    }

    /// The time from the start of the run to an instant.
    pub fn since_start(&self, at: Instant) -> Duration {
        at.duration_since(self.started_at)
    }

    pub fn has(&self, fault: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(fault)
    }

    /// Whether the operator runs and reaches the API server all the time.
    pub fn is_uninterrupted(&self) -> bool {
        !self.has(|fault| match fault {
            Fault::Crash { .. } | Fault::Kill { .. } | Fault::Partition { .. } => true,
            Fault::Storm { .. } | Fault::Forbidden { .. } => true,
            Fault::Api { how, .. } => {
                matches!(how, ApiFault::LostResponse | ApiFault::TooMany | ApiFault::Slow { .. })
            }
            _ => false,
        })
    }

    /// Whether requests to the API server take seconds.
    pub fn has_slow_api_server(&self) -> bool {
        self.has(|fault| match fault {
            Fault::Storm { .. } | Fault::Partition { cut: Cut::Slow, .. } => true,
            Fault::Api { how, .. } => matches!(how, ApiFault::TooMany | ApiFault::Slow { .. }),
            _ => false,
        })
    }

    /// The changes of all objects of a kind.
    pub fn changes_of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Change> {
        let resource = resource(kind);
        self.changes.iter().filter(move |change| change.resource == resource)
    }

    /// The ScaledObject at a revision.
    pub fn object_at(&self, revision: u64) -> Option<&Arc<Value>> {
        let own = self.changes_of("ScaledObject").filter(|change| change.name == NAME);
        let last = own.take_while(|change| change.revision <= revision).last()?;
        (last.change_type != kedge_plane::ChangeType::Deleted).then_some(&last.after)
    }

    /// Every write of the target's replicas by the operator or the HPA controller.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let replicas = |object: &Value| object["spec"]["replicas"].as_i64().unwrap_or(1);
        self.changes_of("Deployment").filter(|change| change.name == NAME).filter_map(move |change| {
            let (from, to) = (replicas(change.before.as_ref()?), replicas(&change.after));
            let entry = self.entries.iter().find(|entry| entry.is_write() && entry.revision == change.revision);
            // Timestamps have a resolution of a second: the HPA controller wrote at the end of that second at the latest.
            let stamped = self.instant(change) + Duration::from_secs(1);
            let issued_at = entry.map_or(stamped, |entry| entry.issued_at);
            (from != to).then_some(Step { change, from, to, entry, issued_at })
        })
    }

    /// Every write of the target's replicas by the operator.
    pub fn own_steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps().filter(|step| is_operator(&step.change.by))
    }

    /// The queries of the object's triggers.
    pub fn queries(object: &Value) -> Vec<String> {
        let triggers = object["spec"]["triggers"].as_array().into_iter().flatten();
        let query = |trigger: &Value| match trigger["type"].as_str() {
            Some("prometheus") => trigger["metadata"]["query"].as_str().map(str::to_owned),
            Some("redis") => trigger["metadata"]["listName"].as_str().map(str::to_owned),
            Some("kafka") => trigger["metadata"]["topic"].as_str().map(str::to_owned),
            Some("external-push") => Some("jobs".to_owned()),
            _ => None,
        };
        triggers.filter_map(query).collect()
    }

    /// The object that the operator could know when it took a step: as the API server last returned it for a read or a write, or else as
    /// it was. A response from before a conflict does not count: after a conflict the operator must ask again.
    pub fn object_known_at(&self, step: &Step<'_>) -> Option<&Arc<Value>> {
        let path = format!("/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}/scaledobjects/{NAME}");
        let own = self.entries.iter().filter(|entry| entry.replica == step.change.by);
        let before: Vec<&LoggedRequest> = own.take_while(|entry| entry.revision < step.change.revision).collect();
        let refused = |entry: &&LoggedRequest| entry.status == 409 && entry.line.contains("/scale");
        let fresh = before.iter().rev().take_while(|entry| !refused(entry));
        let is_of_object =
            |entry: &&LoggedRequest| entry.line.split_once(' ').is_some_and(|(_, at)| at.starts_with(&path));
        let returned = fresh.copied().find(|entry| is_of_object(entry) && entry.status == 200);
        self.object_at(returned.map_or(step.change.revision, |entry| entry.revision))
    }
}

/// The parts of an object that show what changed.
fn summarize(object: &Value) -> String {
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

/// Checks all invariants, and returns the violations.
pub fn check(record: &RunRecord) -> Vec<String> {
    let invariants = [
        certificates::trusted_at_all_times,
        cooldown::not_before_cooldown,
        cooldown::not_long_after_cooldown,
        hpas::at_most_one,
        hpas::only_owned,
        jobs::one_for_each_message,
        readings::scale_in_needs_readings,
        leadership::only_the_leader_writes,
        pause::paused_objects_are_not_scaled,
        polls::polled_within_twice_the_interval,
        replicas::within_bounds,
        restore::restored_before_removal,
        secrets::in_no_request,
        writes::bounded_at_all_times,
    ];
    invariants.iter().flat_map(|invariant: &fn(&RunRecord) -> Vec<String>| invariant(record)).collect()
}

pub fn is_operator(user: &str) -> bool {
    user.starts_with("kedge-")
}

/// The revision of a plane without any write.
const FIRST: u64 = 1;

fn all_changes(plane: &Plane) -> Vec<Change> {
    plane.changes_since(FIRST).expect("the log of a run is complete")
}

/// Describes a step.
fn describe(record: &RunRecord, step: &Step<'_>) -> String {
    let at = record.since_start(step.issued_at).as_secs_f64();
    format!("at {at:.1} s {} scaled the target from {} to {}", step.change.by, step.from, step.to)
}
