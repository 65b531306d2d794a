//! What goes wrong in a run, as values: which call, event, question or moment, and how.

use std::fmt;
use std::time::Duration;

/// One thing that goes wrong. Numbers count from 1, over all replicas of the operator together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process that made a write ends right after it, before it hears the answer.
    Crash { after_write: u32, away: Duration },
    /// The process that acts ends at some moment.
    Kill { at: Duration, away: Duration },
    /// A request to the API server goes wrong.
    Api { call: u32, how: ApiFault },
    /// Reads show what was some revisions ago.
    Stale { call: u32, calls: u32, revisions: u64 },
    /// An event of a watch goes wrong.
    Event { number: u32, how: EventFault },
    /// A question to a source goes wrong, and those after it.
    Source { question: u32, times: u32, how: SourceFault },
    /// The user takes the next step of the scenario right before a request.
    Early { call: u32 },
    /// Somebody else writes the target right before a request.
    Meddle { call: u32 },
    /// The clock of the operator's machine is set.
    Clock { at: Duration, by_seconds: i64 },
    /// The replica that leads cannot reach the API server for a while, in part or at all.
    Partition { at: Duration, lasts: Duration, cut: Cut },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiFault {
    /// 409; a read is told 500.
    Conflict,
    /// 429 with word of when to come back.
    TooMany,
    /// 500, nothing done.
    Internal,
    /// Done, but the answer is lost half a minute later.
    LostAnswer,
    /// The connection fails before anything is done.
    NotSent,
}

impl ApiFault {
    pub const ALL: [Self; 5] = [Self::Conflict, Self::TooMany, Self::Internal, Self::LostAnswer, Self::NotSent];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    /// It never comes, and nobody says so.
    Dropped,
    /// It comes later, and all that follow it in that watch.
    Delayed {
        seconds: u64,
    },
    Twice,
    /// 410 instead, and the watch ends.
    Gone,
    /// The connection breaks instead.
    Cut,
}

impl EventFault {
    pub const ALL: [Self; 6] = [
        Self::Dropped,
        Self::Delayed { seconds: 5 },
        Self::Delayed { seconds: 70 },
        Self::Twice,
        Self::Gone,
        Self::Cut,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFault {
    /// 500.
    Fails,
    /// No answer at all.
    Hangs,
    /// An answer that makes no sense.
    Garbage,
    /// The connection breaks in the middle of the answer.
    Resets,
}

impl SourceFault {
    pub const ALL: [Self; 4] = [Self::Fails, Self::Hangs, Self::Garbage, Self::Resets];
}

/// What a replica cannot reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Only writes of the lease fail.
    Lease,
    /// Nothing gets through.
    All,
    /// Requests reach the API server only when it is over.
    Slow,
}

impl Cut {
    pub const ALL: [Self; 3] = [Self::Lease, Self::All, Self::Slow];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { after_write, away } => write!(f, "crash after write {after_write}, back after {away:?}"),
            Self::Kill { at, away } => write!(f, "killed at {at:?}, back after {away:?}"),
            Self::Api { call, how } => write!(f, "call {call}: {how:?}"),
            Self::Stale { call, calls, revisions } => {
                write!(f, "{calls} calls from {call} on read what was {revisions} revisions ago")
            }
            Self::Event { number, how } => write!(f, "watch event {number}: {how:?}"),
            Self::Source { question, times, how } => write!(f, "{times} questions from {question} on: {how:?}"),
            Self::Early { call } => write!(f, "the user's next step comes right before call {call}"),
            Self::Meddle { call } => write!(f, "somebody writes the target right before call {call}"),
            Self::Clock { at, by_seconds } => write!(f, "at {at:?} the clock is set by {by_seconds} s"),
            Self::Partition { at, lasts, cut } => write!(f, "at {at:?} the leader is cut off for {lasts:?}: {cut:?}"),
        }
    }
}
