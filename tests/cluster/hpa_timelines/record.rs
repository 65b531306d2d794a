//! What the real controller read and wrote, sync by sync, from the audit log.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::script::{MetricResponse, Timeline};
use super::scripted_metrics::{Done, Playback, TimelineEvent, Written};

/// The maximum duration of a sync that wrote nothing.
const UNSEEN_MAX: TimeDelta = TimeDelta::seconds(1);

/// What happened in one timeline.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) timeline: Timeline,
    pub(super) actions: Vec<(DateTime<Utc>, Done)>,
    pub(super) syncs: Vec<HpaSync>,
    /// Whether it holds the whole timeline.
    is_complete: bool,
}

/// One sync of the controller.
#[derive(Clone, Debug)]
pub(super) struct HpaSync {
    /// When it read the scale.
    pub(super) begun_at: DateTime<Utc>,
    /// When it got the last metric, where it queried any.
    pub(super) responded_at: Option<DateTime<Utc>>,
    /// The scale that it read.
    pub(super) scale: Value,
    pub(super) answers: Vec<(String, MetricResponse)>,
    /// How many pods there were, where it queried metrics.
    pub(super) pods: Option<i32>,
    /// The replicas that it wrote.
    pub(super) written: Option<i64>,
    /// The status that it wrote, or wanted to.
    pub(super) status: Option<Value>,
    /// The HPA that it read, where it wrote a status.
    hpa: Option<ReadHpa>,
    /// The version of the HPA that its status was stored as; none if it was not, since another version was stored meanwhile.
    stored_version: Option<u64>,
    /// When its first write arrived, and when its last was over.
    wrote_at: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

/// An HPA as a sync read it, from the controller's cache: on a busy machine the cache lags behind the controller's own writes.
#[derive(Clone, Debug)]
struct ReadHpa {
    uid: Value,
    version: u64,
}

/// One line of the audit log.
#[derive(Debug)]
struct Entry {
    at: DateTime<Utc>,
    over_at: DateTime<Utc>,
    verb: String,
    subresource: String,
    name: String,
    code: u64,
    request: Value,
    response: Value,
}

/// Reads the entries of the audit log since an instant.
pub(super) fn read_audit_log(
    log: &Path,
    since: DateTime<Utc>,
    playbacks: Vec<Playback>,
) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read_to_string(log)?;
    let mut entries = BTreeMap::<String, Vec<Entry>>::new();
    for line in complete_lines(&text) {
        let entry = parse(line)?;
        if entry.at < since {
            continue;
        }
        entries.entry(entry.name.clone()).or_default().push(entry);
    }
    let records = playbacks.into_iter().map(|playback| {
        let mut entries = entries.remove(playback.timeline.name).unwrap_or_default();
        entries.sort_by_key(|entry| entry.at);
        assemble(playback, entries)
    });
    Ok(records.collect())
}

/// The lines that have ended: the API server may be writing the last one.
fn complete_lines(log: &str) -> impl Iterator<Item = &str> {
    log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

fn parse(line: &str) -> anyhow::Result<Entry> {
    let line: Value = serde_json::from_str(line)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Entry {
        at: text(&line["requestReceivedTimestamp"]).parse().context("the time of an audit line")?,
        over_at: text(&line["stageTimestamp"]).parse().context("the time of an audit line")?,
        verb: text(&line["verb"]),
        subresource: text(&line["objectRef"]["subresource"]),
        name: text(&line["objectRef"]["name"]),
        code: line["responseStatus"]["code"].as_u64().unwrap_or_default(),
        request: line["requestObject"].clone(),
        response: line["responseObject"].clone(),
    })
}

/// Groups the entries into syncs. A read of the scale begins a sync, unless a write was refused just before. Syncs after the
/// last response of the playback are left out.
fn assemble(playback: Playback, entries: Vec<Entry>) -> Record {
    let ends_at = playback.events.last().map(|(at, _)| *at);
    let mut syncs = Vec::<HpaSync>::new();
    let mut is_retry = false;
    for entry in entries {
        if let (Some(sync), "update") = (syncs.last_mut(), entry.verb.as_str()) {
            let first = sync.wrote_at.map_or(entry.at, |(first, _)| first);
            sync.wrote_at = Some((first, entry.over_at));
        }
        match (entry.verb.as_str(), entry.subresource.as_str(), syncs.last_mut()) {
            ("get", "scale", _) if !is_retry => syncs.push(HpaSync::begin(entry)),
            ("update", "scale", Some(sync)) => {
                is_retry = entry.code == 409;
                sync.written = entry.request["spec"]["replicas"].as_i64().or(Some(0)).filter(|_| entry.code == 200);
            }
            ("update", "status", Some(sync)) => {
                sync.status = Some(entry.request["status"].clone());
                let uid = entry.request["metadata"]["uid"].clone();
                sync.hpa = Some(ReadHpa { uid, version: version_of(&entry.request) });
                sync.stored_version = (entry.code == 200).then(|| version_of(&entry.response));
            }
            _ => {}
        }
    }
    syncs.retain(|sync| Some(sync.begun_at) < ends_at);
    let mut actions = Vec::new();
    for (at, event) in playback.events {
        match event {
            TimelineEvent::Done(done) => actions.push((at, done)),
            TimelineEvent::Responded { metric, answer, pods } => {
                let sync = syncs.iter_mut().rev().find(|sync| sync.begun_at < at).expect("a sync that queried metrics");
                sync.responded_at = Some(at);
                sync.answers.push((metric, answer));
                sync.pods = Some(pods);
            }
        }
    }
    Record { timeline: playback.timeline, actions, syncs, is_complete: playback.is_over }
}

impl Record {
    /// The sync whose status a sync read from the HPA, if any had been stored.
    pub(super) fn status_read_by(&self, number: usize) -> Option<usize> {
        let (before, sync) = (&self.syncs[..number], &self.syncs[number]);
        let last = before.iter().rev().find_map(|past| past.hpa.as_ref());
        let read = sync.hpa.as_ref();
        let uid = read.or(last).map(|hpa| &hpa.uid);
        let is_stored = |past: &HpaSync, version: u64| {
            past.hpa.as_ref().map(|hpa| &hpa.uid) == uid && past.stored_version.is_some_and(|stored| stored <= version)
        };
        let newest = |version: u64| before.iter().rposition(|past| is_stored(past, version));
        let Some(read) = read else {
            // It found the status that it would have written: that of the same answers, which need not be the newest.
            let oldest = last.and_then(|last| newest(last.version)).unwrap_or_default();
            let is_same = |past: &HpaSync| is_stored(past, u64::MAX) && past.answers == sync.answers;
            let same = before[oldest..].iter().rposition(is_same).map(|found| oldest + found);
            return same.or_else(|| newest(u64::MAX));
        };
        newest(read.version)
    }

    /// The unambiguous syncs: those before the first whose decision may have come before or after the end of a window or
    /// period.
    pub(super) fn clear_syncs(&self) -> &[HpaSync] {
        let end = (0..self.syncs.len()).find(|number| self.is_ambiguous(*number));
        &self.syncs[..end.unwrap_or(self.syncs.len())]
    }

    pub(super) fn is_clear(&self) -> bool {
        self.is_complete && self.clear_syncs().len() == self.syncs.len()
    }

    fn is_ambiguous(&self, number: usize) -> bool {
        let sync = &self.syncs[number];
        if sync.responded_at.is_none() {
            return false; // Without metrics, time does not matter.
        }
        let in_history =
            self.syncs[..number].iter().enumerate().filter(|(past, sync)| *past == 0 || sync.is_in_history());
        let lengths = self.timeline.lengths();
        let mut ages = in_history.map(|(number, past)| {
            // The first one adds the replicas that it found, before it queries metrics.
            let added_at = if number == 0 { past.begun_at } else { past.at() };
            (sync.at() - past.over_at(), sync.decided_at() - added_at)
        });
        ages.any(|(least, most)| lengths.iter().any(|length| least <= *length && *length <= most))
    }
}

impl HpaSync {
    /// Whether it read the result of an action. Its status write names the version of the HPA that it read; without such a
    /// write, the time decides.
    pub(super) fn is_after(&self, at: DateTime<Utc>, done: &Done) -> bool {
        match (done.written, &self.hpa) {
            (Written::Deployment(version), _) => version_of(&self.scale) >= version,
            (Written::Hpa(version), Some(read)) => read.version >= version,
            (Written::Hpa(_), None) => self.begun_at > at + UNSEEN_MAX / 2,
            (Written::Other, _) => self.begun_at > at,
        }
    }

    /// When it had read the scale and all metrics.
    pub(super) fn at(&self) -> DateTime<Utc> {
        self.responded_at.unwrap_or(self.begun_at)
    }

    /// Whether the controller has added it to the history of the HPA.
    fn is_in_history(&self) -> bool {
        self.responded_at.is_some() || self.written.is_some()
    }

    /// The latest time of its decision.
    fn decided_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + UNSEEN_MAX, |(first, _)| first)
    }

    /// The latest time of its additions to the history.
    fn over_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + UNSEEN_MAX, |(_, last)| last)
    }

    fn begin(entry: Entry) -> Self {
        Self {
            begun_at: entry.at,
            responded_at: None,
            scale: entry.response,
            answers: Vec::new(),
            pods: None,
            written: None,
            status: None,
            hpa: None,
            stored_version: None,
            wrote_at: None,
        }
    }
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}
