//! The faults of a run, as values: the request, watch event, query or time that each affects, and how.

use std::fmt;
use std::time::Duration;

/// One fault. Numbers count from 1, over all replicas of the operator together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process that made a write ends before it receives the response.
    Crash { after_write: u32, downtime: Duration },
    /// The leader, or the only process, ends at a point in time.
    Kill { at: Duration, downtime: Duration },
    /// A request to the API server fails.
    Api { call: u32, how: ApiFault },
    /// Requests to the API server get 429, one after the other.
    Storm { call: u32, calls: u32 },
    /// Reads return the state of some revisions ago.
    Stale { call: u32, calls: u32, revisions: u64 },
    /// A watch event is lost, late, doubled or replaced by an error.
    Event { number: u32, how: EventFault },
    /// A query to a source fails, and so do the next ones.
    Source { query: u32, times: u32, how: SourceFault },
    /// The user takes the next step of the scenario right before a request.
    EarlyStep { call: u32 },
    /// Another client writes the target right before a request.
    ConcurrentWrite { call: u32 },
    /// The clock of the operator's machine is set.
    Clock { at: Duration, by_seconds: i64 },
    /// RBAC denies every request for a resource for some time.
    Forbidden { at: Duration, lasts: Duration, resource: &'static str },
    /// The leader cannot reach the API server for some time, in part or at all.
    Partition { at: Duration, lasts: Duration, cut: Cut },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiFault {
    /// 409 for a write, 500 for a read.
    Conflict,
    /// 429 with a Retry-After header.
    TooMany,
    /// 500 without an effect.
    Internal,
    /// The request takes effect, and the response times out after half a minute.
    LostResponse,
    /// The connection fails before the request is sent.
    NotSent,
    /// The request takes effect this late.
    Slow { seconds: u64 },
    /// 410 for the next page of a list: its first page is too old. Other requests are not affected.
    ExpiredPage,
}

impl ApiFault {
    pub const ALL: [Self; 8] = [
        Self::Conflict,
        Self::TooMany,
        Self::Internal,
        Self::LostResponse,
        Self::NotSent,
        Self::Slow { seconds: 2 },
        Self::Slow { seconds: 20 },
        Self::Slow { seconds: 60 },
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    /// The event is lost without an error.
    Dropped,
    /// The event is delayed, with all that follow it in that watch.
    Delayed {
        seconds: u64,
    },
    Twice,
    /// A 410 replaces the event, and the watch ends.
    Gone,
    /// The connection breaks before the event.
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
    /// No response at all.
    Hangs,
    /// A response that is not valid.
    Garbage,
    /// The connection breaks during the response.
    Resets,
    /// An answer without values and with a warning: a part of the source did not respond.
    Partial,
    /// An answer that names an error, with status 200.
    NamesError,
    /// A hundred thousand values instead of one.
    TooMany,
    /// An answer above the limit of ten mebibytes.
    TooLarge,
}

impl SourceFault {
    pub const ALL: [Self; 8] = [
        Self::Fails,
        Self::Hangs,
        Self::Garbage,
        Self::Resets,
        Self::Partial,
        Self::NamesError,
        Self::TooMany,
        Self::TooLarge,
    ];
}

/// Parts of the paths of resources that RBAC may deny.
pub const DENIED_RESOURCES: [&str; 3] = ["/horizontalpodautoscalers", "/secrets", "/status"];

/// What a replica cannot reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Only writes of the lease fail.
    Lease,
    /// Nothing gets through.
    All,
    /// Requests reach the API server only after the partition.
    Slow,
}

impl Cut {
    pub const ALL: [Self; 3] = [Self::Lease, Self::All, Self::Slow];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { after_write, downtime } => {
                write!(f, "crash after write {after_write}, restart after {downtime:?}")
            }
            Self::Kill { at, downtime } => write!(f, "kill at {at:?}, restart after {downtime:?}"),
            Self::Api { call, how } => write!(f, "call {call}: {how:?}"),
            Self::Storm { call, calls } => write!(f, "{calls} calls from {call} on get 429"),
            Self::Stale { call, calls, revisions } => {
                write!(f, "{calls} calls from {call} on read the state of {revisions} revisions ago")
            }
            Self::Event { number, how } => write!(f, "watch event {number}: {how:?}"),
            Self::Source { query, times, how } => write!(f, "{times} queries from {query} on: {how:?}"),
            Self::EarlyStep { call } => write!(f, "the next step of the scenario right before call {call}"),
            Self::ConcurrentWrite { call } => write!(f, "another client writes the target right before call {call}"),
            Self::Clock { at, by_seconds } => write!(f, "clock adjusted by {by_seconds} s at {at:?}"),
            Self::Forbidden { at, lasts, resource } => write!(f, "{resource} forbidden for {lasts:?} at {at:?}"),
            Self::Partition { at, lasts, cut } => write!(f, "leader partitioned for {lasts:?} at {at:?}: {cut:?}"),
        }
    }
}
