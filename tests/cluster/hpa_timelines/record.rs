//! What the real controller saw and wrote, pass by pass, from the audit log.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::board::{Happening, REACTION_MAX, Story};
use super::script::{Answer, Deed, Timeline};

/// One timeline as it went.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) timeline: Timeline,
    pub(super) deeds: Vec<(DateTime<Utc>, Deed)>,
    pub(super) passes: Vec<Pass>,
}

/// One pass of the controller.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// When it read the scale.
    pub(super) begun_at: DateTime<Utc>,
    /// When it was told the last metric, where it asked for any.
    pub(super) told_at: Option<DateTime<Utc>>,
    /// The scale that it saw.
    pub(super) scale: Value,
    pub(super) answers: Vec<(String, Answer)>,
    /// How many pods there were, where it asked for metrics.
    pub(super) pods: Option<i32>,
    /// The replicas that it wrote.
    pub(super) written: Option<i64>,
    /// The status that it wrote, or wanted to.
    pub(super) status: Option<Value>,
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

pub(super) fn read(log: &Path, stories: Vec<Story>) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read_to_string(log)?;
    let mut entries = BTreeMap::<String, Vec<Entry>>::new();
    for line in text.lines() {
        let entry = parse(line)?;
        entries.entry(entry.name.clone()).or_default().push(entry);
    }
    let records = stories.into_iter().map(|story| {
        let mut entries = entries.remove(story.timeline.name).unwrap_or_default();
        entries.sort_by_key(|entry| entry.at);
        assemble(story, entries)
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

/// A scale that is read begins a pass, unless a write was refused just before. What comes after the last answer of the
/// story is no part of it.
fn assemble(story: Story, entries: Vec<Entry>) -> Record {
    let ends_at = story.happened.last().map(|(at, _)| *at);
    let mut passes = Vec::<Pass>::new();
    let mut is_retry = false;
    for entry in entries {
        if let (Some(pass), "update") = (passes.last_mut(), entry.verb.as_str()) {
            let first = pass.wrote_at.map_or(entry.at, |(first, _)| first);
            pass.wrote_at = Some((first, entry.over_at));
        }
        match (entry.verb.as_str(), entry.subresource.as_str(), passes.last_mut()) {
            ("get", "scale", _) if !is_retry => passes.push(Pass::begin(entry)),
            ("update", "scale", Some(pass)) => {
                is_retry = entry.code == 409;
                pass.written = entry.asked["spec"]["replicas"].as_i64().or(Some(0)).filter(|_| entry.code == 200);
            }
            ("update", "status", Some(pass)) => pass.status = Some(entry.asked["status"].clone()),
            _ => {}
        }
    }
    passes.retain(|pass| Some(pass.begun_at) < ends_at);
    let mut deeds = Vec::new();
    for (at, happening) in story.happened {
        match happening {
            Happening::Done(deed) => deeds.push((at, deed)),
            Happening::Told { metric, answer, pods } => {
                let pass = passes.iter_mut().rev().find(|pass| pass.begun_at < at).expect("a pass that asked");
                pass.told_at = Some(at);
                pass.answers.push((metric, answer));
                pass.pods = Some(pods);
            }
        }
    }
    Record { timeline: story.timeline, deeds, passes }
}

impl Record {
    /// How many passes tell what the controller decides: those before the first that may have been decided before or
    /// after the end of a window or period.
    pub(super) fn clear_passes(&self) -> &[Pass] {
        let lengths: Vec<_> =
            self.timeline.lengths().into_iter().map(|seconds| TimeDelta::seconds(seconds as i64)).collect();
        let is_blurred = |number: &usize| {
            let pass = &self.passes[*number];
            let ages =
                self.passes[..*number].iter().map(|past| (pass.at() - past.over_at(), pass.decided_at() - past.at()));
            ages.into_iter().any(|(least, most)| lengths.iter().any(|length| least <= *length && *length <= most))
        };
        let end = (0..self.passes.len()).find(is_blurred).unwrap_or(self.passes.len());
        &self.passes[..end]
    }
}

impl Pass {
    /// When it knew what it needed to know.
    pub(super) fn at(&self) -> DateTime<Utc> {
        self.told_at.unwrap_or(self.begun_at)
    }

    /// When it had decided, at the latest.
    fn decided_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + REACTION_MAX, |(first, _)| first)
    }

    /// When everything that it remembers was remembered.
    fn over_at(&self) -> DateTime<Utc> {
        self.wrote_at.map_or_else(|| self.at() + REACTION_MAX, |(_, last)| last)
    }

    fn begin(entry: Entry) -> Self {
        let (answers, scale) = (Vec::new(), entry.answered);
        Self {
            begun_at: entry.at,
            told_at: None,
            scale,
            answers,
            pods: None,
            written: None,
            status: None,
            wrote_at: None,
        }
    }
}
