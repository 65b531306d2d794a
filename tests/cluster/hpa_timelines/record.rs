//! What the real controller saw and wrote, sync by sync, from the audit log.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::script::{MetricResponse, Timeline};
use super::scripted_metrics::{Done, Playback, TimelineEvent, Written};

/// How long a sync may have taken that wrote nothing.
const UNSEEN_MAX: TimeDelta = TimeDelta::seconds(1);

/// One timeline as it went.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) timeline: Timeline,
    pub(super) actions: Vec<(DateTime<Utc>, Done)>,
    pub(super) syncs: Vec<HpaSync>,
}

/// One sync of the controller.
#[derive(Clone, Debug)]
pub(super) struct HpaSync {
    /// When it read the scale.
    pub(super) begun_at: DateTime<Utc>,
    /// When it got the last metric, where it queried any.
    pub(super) responded_at: Option<DateTime<Utc>>,
    /// The scale that it saw.
    pub(super) scale: Value,
    pub(super) answers: Vec<(String, MetricResponse)>,
    /// How many pods there were, where it asked for metrics.
    pub(super) pods: Option<i32>,
    /// The replicas that it wrote.
    pub(super) written: Option<i64>,
    /// The status that it wrote, or wanted to.
    pub(super) status: Option<Value>,
    /// The version of the HPA that it had, where it wrote a status.
    hpa_version: Option<u64>,
    /// When its first write arrived, and when its last was over.
    wrote_at: Option<(DateTime<Utc>, DateTime<Utc>)>,
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
    asked: Value,
    answered: Value,
}

/// Reads what was written into the log since an instant.
pub(super) fn read(log: &Path, since: DateTime<Utc>, stories: Vec<Playback>) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read_to_string(log)?;
    let mut entries = BTreeMap::<String, Vec<Entry>>::new();
    for line in text.lines() {
        let entry = parse(line)?;
        if entry.at < since {
            continue;
        }
        entries.entry(entry.name.clone()).or_default().push(entry);
    }
    let records = stories.into_iter().map(|playback| {
        let mut entries = entries.remove(playback.timeline.name).unwrap_or_default();
        entries.sort_by_key(|entry| entry.at);
        assemble(playback, entries)
    });
    Ok(records.collect())
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
        asked: line["requestObject"].clone(),
        answered: line["responseObject"].clone(),
    })
}

/// A scale that is read begins a sync, unless a write was refused just before. What comes after the last answer of the
/// playback is no part of it.
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
                sync.written = entry.asked["spec"]["replicas"].as_i64().or(Some(0)).filter(|_| entry.code == 200);
            }
            ("update", "status", Some(sync)) => {
                sync.status = Some(entry.asked["status"].clone());
                sync.hpa_version = Some(version_of(&entry.asked));
            }
            _ => {}
        }
    }
    syncs.retain(|sync| Some(sync.begun_at) < ends_at);
    let mut actions = Vec::new();
    for (at, happening) in playback.events {
        match happening {
            TimelineEvent::Done(done) => actions.push((at, done)),
            TimelineEvent::Responded { metric, answer, pods } => {
                let sync = syncs.iter_mut().rev().find(|sync| sync.begun_at < at).expect("a sync that asked");
                sync.responded_at = Some(at);
                sync.answers.push((metric, answer));
                sync.pods = Some(pods);
            }
        }
    }
    Record { timeline: playback.timeline, actions, syncs }
}

impl Record {
    /// The syncs that tell what the controller decides: those before the first that may have been decided before or
    /// after the end of a window or period.
    pub(super) fn clear_syncs(&self) -> &[HpaSync] {
        let end = (0..self.syncs.len()).find(|number| self.is_ambiguous(*number));
        &self.syncs[..end.unwrap_or(self.syncs.len())]
    }

    pub(super) fn is_clear(&self) -> bool {
        self.clear_syncs().len() == self.syncs.len()
    }

    fn is_ambiguous(&self, number: usize) -> bool {
        let sync = &self.syncs[number];
        if sync.responded_at.is_none() {
            return false; // Without metrics, time does not matter.
        }
        let remembered =
            self.syncs[..number].iter().enumerate().filter(|(past, sync)| *past == 0 || sync.is_remembered());
        let lengths = self.timeline.lengths();
        let mut ages = remembered.map(|(_, past)| (sync.at() - past.over_at(), sync.decided_at() - past.at()));
        ages.any(|(least, most)| lengths.iter().any(|length| least <= *length && *length <= most))
    }
}

impl HpaSync {
    /// Whether it saw what was done. What it wrote tells which version of the HPA it had; where it wrote nothing, the
    /// time decides.
    pub(super) fn is_after(&self, at: DateTime<Utc>, done: &Done) -> bool {
        match (done.written, self.hpa_version) {
            (Written::Deployment(version), _) => version_of(&self.scale) >= version,
            (Written::Hpa(version), Some(seen)) => seen >= version,
            (Written::Hpa(_), None) => self.begun_at > at + UNSEEN_MAX / 2,
            (Written::Other, _) => self.begun_at > at,
        }
    }

    /// When it knew what it needed to know.
    pub(super) fn at(&self) -> DateTime<Utc> {
        self.responded_at.unwrap_or(self.begun_at)
    }

    /// Whether the controller has kept anything of it.
    fn is_remembered(&self) -> bool {
        self.responded_at.is_some() || self.written.is_some()
    }

    /// When it had decided, at the latest.
    fn decided_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + UNSEEN_MAX, |(first, _)| first)
    }

    /// When everything that it remembers was remembered.
    fn over_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + UNSEEN_MAX, |(_, last)| last)
    }

    fn begin(entry: Entry) -> Self {
        Self {
            begun_at: entry.at,
            responded_at: None,
            scale: entry.answered,
            answers: Vec::new(),
            pods: None,
            written: None,
            status: None,
            hpa_version: None,
            wrote_at: None,
        }
    }
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}
