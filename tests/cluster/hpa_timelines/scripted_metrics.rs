//! The external metrics API, which responds by the scripts. A query waits until the pods are settled, so that the other
//! input of the controller is known; and until no window or period ends near an instant in the controller's history, so
//! that its reaction time does not matter.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_metrics_api::source::MetricFuture;
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};
use kedge_test_cluster::slowdown;
use tokio::time::{Instant, sleep};

use super::real_cluster::PodWatch;
use super::script::{Action, MetricResponse, Step, Timeline};

/// How long the controller takes at most to act on a response, on an idle machine. Where it took longer, the record shows it.
const REACTION_MAX: Duration = Duration::from_millis(300);

/// How long after the last write of a sync an action may follow: the sync is over, and the next has not begun.
const AFTER_WRITE: Duration = Duration::from_millis(100);

/// After how long a sync that wrote nothing counts as over.
const AFTER_SILENCE: Duration = Duration::from_millis(800);

/// How long after an action its watch events have arrived.
const AFTER_ACTION: Duration = Duration::from_millis(300);

/// The events of one playback, in order.
#[derive(Clone, Debug)]
pub(super) struct Playback {
    pub(super) timeline: Timeline,
    pub(super) events: Vec<(DateTime<Utc>, TimelineEvent)>,
    /// Whether it came to the end of the timeline.
    pub(super) is_over: bool,
}

#[derive(Clone, Debug)]
pub(super) enum TimelineEvent {
    Responded {
        metric: String,
        answer: MetricResponse,
        /// How many pods there were, all of them ready.
        pods: i32,
    },
    Done(Done),
}

/// An action that was taken.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) action: Action,
    pub(super) written: Written,
}

/// The object that an action wrote, with its version.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    Deployment(u64),
    Hpa(u64),
    Other,
}

/// What a playback does next.
#[derive(Debug)]
pub(super) enum Next {
    Over,
    Wait,
    Act(Action),
}

#[derive(Debug)]
pub(super) struct ScriptedMetrics {
    pod_watch: PodWatch,
    progress: Mutex<BTreeMap<String, Progress>>,
}

#[derive(Debug)]
struct Progress {
    playback: Playback,
    step: usize,
    /// Metrics of this step that were responded to already.
    responded: Vec<String>,
    /// When the first query came. The controller has added the replicas that it found to its history then.
    first_query_at: Option<Instant>,
    /// The syncs so far, each from its response to its last write: entries of the controller's history are from in between.
    syncs: Vec<(Instant, Instant)>,
    step_began_at: Instant,
    quiet_until: Instant,
    /// How long the controller takes at most to act on a response.
    reaction_max: Duration,
}

impl ScriptedMetrics {
    pub(super) fn new(timelines: &[Timeline], pod_watch: PodWatch) -> Self {
        let (now, reaction_max) = (Instant::now(), REACTION_MAX.mul_f64(slowdown::measure()));
        let progress = |timeline: &Timeline| {
            let playback = Playback { timeline: timeline.clone(), events: Vec::new(), is_over: false };
            let progress = Progress {
                playback,
                step: 0,
                responded: Vec::new(),
                first_query_at: None,
                syncs: Vec::new(),
                step_began_at: now,
                quiet_until: now,
                reaction_max,
            };
            (timeline.name.to_owned(), progress)
        };
        Self { pod_watch, progress: Mutex::new(timelines.iter().map(progress).collect()) }
    }

    /// Starts a timeline whose HPA exists now.
    pub(super) fn begin(&self, name: &str) {
        let mut all = self.lock();
        all.get_mut(name).expect("every playback has its progress").step_began_at = Instant::now();
    }

    pub(super) fn next(&self, name: &str) -> Next {
        let writes = self.pod_watch.hpa_writes(name);
        let mut all = self.lock();
        let progress = all.get_mut(name).expect("every playback has its progress");
        let (began_at, since) = (progress.step_began_at, progress.step_began_at.elapsed());
        let is_over = writes.last().is_some_and(|write| *write > began_at && write.elapsed() > AFTER_WRITE);
        match progress.playback.timeline.steps.get(progress.step) {
            None => {
                progress.playback.is_over = true;
                Next::Over
            }
            Some(Step::Do(action)) if is_over || since > AFTER_SILENCE => Next::Act(action.clone()),
            Some(Step::Pause(pause)) if since > *pause => {
                progress.advance();
                Next::Wait
            }
            Some(_) => Next::Wait,
        }
    }

    pub(super) fn acted(&self, name: &str, at: DateTime<Utc>, done: Done) {
        let mut all = self.lock();
        let progress = all.get_mut(name).expect("every playback has its progress");
        progress.playback.events.push((at, TimelineEvent::Done(done)));
        progress.quiet_until = Instant::now() + AFTER_ACTION;
        progress.advance();
    }

    pub(super) fn playbacks(&self) -> Vec<Playback> {
        self.lock().values().map(|progress| progress.playback.clone()).collect()
    }

    /// The response to a query, if it is due.
    fn answer(&self, name: &str, metric: &str) -> Option<MetricResponse> {
        let (pods, writes) = (self.pod_watch.settled(name), self.pod_watch.hpa_writes(name));
        let mut all = self.lock();
        let progress = all.get_mut(name)?;
        let steps = progress.playback.timeline.steps.get(progress.step);
        let Some(step) = steps else { return Some(MetricResponse::Refusal("the playback is over")) };
        let Step::Respond(answers) = step else { return None };
        let first_query_at = *progress.first_query_at.get_or_insert_with(Instant::now);
        let (answers, pods) = (answers.clone(), pods?);
        if progress.responded.is_empty() {
            progress.update_syncs(&writes);
            if !progress.is_clear() {
                return None;
            }
            let now = Instant::now();
            let added_at = if progress.syncs.is_empty() { first_query_at } else { now };
            progress.syncs.push((added_at, now + progress.reaction_max));
        }
        let (_, answer) = answers.iter().find(|(known, _)| *known == metric)?;
        progress.responded.push(metric.to_owned());
        let response = TimelineEvent::Responded { metric: metric.to_owned(), answer: answer.clone(), pods };
        progress.playback.events.push((Utc::now(), response));
        if progress.responded.len() == answers.len() {
            progress.advance();
        }
        Some(answer.clone())
    }

    async fn wait_for_response(&self, name: &str, metric: &str) -> Result<Vec<MetricValue>, MetricError> {
        let answer = loop {
            match self.answer(name, metric) {
                Some(answer) => break answer,
                None => sleep(Duration::from_millis(10)).await,
            }
        };
        let value = |value: String| MetricValue { name: metric.to_owned(), value, at: Utc::now() };
        match answer {
            MetricResponse::Series(values) => Ok(values.into_iter().map(value).collect()),
            MetricResponse::Refusal(text) => Err(MetricError::Unavailable(text.to_owned())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Progress>> {
        self.progress.lock().expect("no holder of the lock panics")
    }
}

impl MetricSource for ScriptedMetrics {
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a> {
        Box::pin(self.wait_for_response(request.scaled_object, request.metric))
    }
}

impl Progress {
    fn advance(&mut self) {
        self.step += 1;
        self.responded.clear();
        self.step_began_at = Instant::now();
    }

    /// Sets the end of the last sync, which is over when a new query comes, and adds the syncs that queried nothing.
    fn update_syncs(&mut self, writes: &[Instant]) {
        if let Some((responded_at, over_at)) = self.syncs.last_mut() {
            *over_at = writes.iter().copied().find(|write| *write > *responded_at).unwrap_or(*over_at).max(*over_at);
        }
        let is_known =
            |write: &Instant| self.syncs.iter().any(|(responded_at, over_at)| write > responded_at && write <= over_at);
        let strays: Vec<_> = writes.iter().copied().filter(|write| !is_known(write)).collect();
        self.syncs.extend(strays.into_iter().map(|write| (write - self.reaction_max, write)));
        self.syncs.sort();
    }

    /// Whether no window or period ends for an entry of the controller's history while it acts on a response.
    fn is_clear(&self) -> bool {
        let now = Instant::now();
        if now < self.quiet_until {
            return false;
        }
        let lengths = self.playback.timeline.lengths();
        let lengths: Vec<Duration> = lengths.iter().filter_map(|length| length.to_std().ok()).collect();
        let mut ages =
            self.syncs.iter().map(|(responded_at, over_at)| (now - *over_at, now + self.reaction_max - *responded_at));
        !ages.any(|(least, most)| lengths.iter().any(|length| least <= *length && *length <= most))
    }
}
