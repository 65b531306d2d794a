//! The request log of a run: counts and records every request of the operator, and chooses the faults to inject into it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use kedge_core::rng::Rng;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fault::{ApiFault, EventFault, Fault};

/// The longest delay of a request, and of its response, in milliseconds.
const DELAY_MAX_MS: u64 = 20;

/// What other clients do right before a request.
pub trait Interference: Send + Sync {
    /// Takes the next step of the scenario.
    fn take_next_step(&self) -> BoxFuture<'_, ()>;
    /// Writes the target.
    fn write_target(&self) -> BoxFuture<'_, ()>;
}

/// The number of requests, events and queries of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests, apart from watches and leases.
    pub calls: u32,
    /// Successful writes, apart from leases.
    pub writes: u32,
    pub events: u32,
    pub queries: u32,
}

/// One request of the log.
#[derive(Clone, Debug)]
pub struct LoggedRequest {
    pub replica: String,
    pub line: String,
    pub issued_at: Instant,
    pub kind: RequestKind,
    /// The revision of the API server right after it.
    pub revision: u64,
    pub status: u16,
    /// Whether it holds a secret of the scenario.
    pub has_secret: bool,
}

impl LoggedRequest {
    /// Whether it changed something, apart from leases.
    pub fn is_write(&self) -> bool {
        self.kind == RequestKind::Write && (200..300).contains(&self.status)
    }
}

/// What is injected into a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Injection {
    pub(crate) delay: Duration,
    pub(crate) response_delay: Duration,
    pub(crate) fault: Option<ApiFault>,
    pub(crate) stale: Option<u64>,
    pub(crate) early_step: bool,
    pub(crate) concurrent_write: bool,
}

/// Shared by all replicas of the operator in a run.
pub struct RequestLog {
    state: Mutex<State>,
    pub(crate) crashed: Notify,
    interference: Mutex<Option<Arc<dyn Interference>>>,
}

struct State {
    counts: Counts,
    faults: Vec<Fault>,
    rng: Rng,
    entries: Vec<LoggedRequest>,
    /// When the last fault, restart or write was.
    active_at: Instant,
    started_at: Instant,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Read,
    Write,
    Watch,
    Lease,
}

impl RequestLog {
    pub fn new(faults: Vec<Fault>, rng: Rng) -> Arc<Self> {
        let now = Instant::now();
        let state =
            State { counts: Counts::default(), faults, rng, entries: Vec::new(), active_at: now, started_at: now };
        Arc::new(Self { state: Mutex::new(state), crashed: Notify::new(), interference: Mutex::default() })
    }

    pub fn set_interference(&self, interference: Arc<dyn Interference>) {
        *self.interference.lock().expect("no holder panics") = Some(interference);
    }

    pub(crate) fn interference(&self) -> Option<Arc<dyn Interference>> {
        self.interference.lock().expect("no holder panics").clone()
    }

    /// Injects no more faults.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// When the last fault, restart or write was.
    pub fn active_at(&self) -> Instant {
        self.lock().active_at
    }

    pub(crate) fn mark_active(&self) {
        self.lock().active_at = Instant::now();
    }

    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    pub fn entries(&self) -> Vec<LoggedRequest> {
        self.lock().entries.clone()
    }

    pub(crate) fn record(&self, entry: LoggedRequest) {
        self.lock().entries.push(entry);
    }

    /// Counts a request, and returns what to inject into it.
    pub(crate) fn next_request(&self, kind: RequestKind) -> Injection {
        let mut state = self.lock();
        let mut delay = || Duration::from_millis(1 + state.rng.below(DELAY_MAX_MS));
        let mut injection = Injection { delay: delay(), response_delay: delay(), ..Injection::default() };
        if matches!(kind, RequestKind::Watch | RequestKind::Lease) {
            return injection;
        }
        state.counts.calls += 1;
        let number = state.counts.calls;
        let state = &mut *state;
        for fault in &state.faults {
            match fault {
                Fault::Api { call, how: ApiFault::Slow { seconds } } if *call == number => {
                    injection.delay = Duration::from_secs(*seconds);
                }
                Fault::Api { call, how } if *call == number => injection.fault = Some(*how),
                Fault::Storm { call, calls } if (*call..call + calls).contains(&number) => {
                    injection.fault = Some(ApiFault::TooMany);
                }
                Fault::Stale { call, calls, revisions } if (*call..call + calls).contains(&number) => {
                    injection.stale = Some(*revisions);
                }
                Fault::EarlyStep { call } if *call == number => injection.early_step = true,
                Fault::ConcurrentWrite { call } if *call == number => injection.concurrent_write = true,
                _ => continue,
            }
            state.active_at = Instant::now();
        }
        injection
    }

    /// Whether RBAC denies requests for this path now.
    pub(crate) fn is_forbidden(&self, path: &str) -> bool {
        let mut state = self.lock();
        let since_start = state.started_at.elapsed();
        let found = state.faults.iter().any(|fault| match fault {
            Fault::Forbidden { at, lasts, resource } => {
                (*at..*at + *lasts).contains(&since_start) && path.contains(resource)
            }
            _ => false,
        });
        if found {
            state.active_at = Instant::now();
        }
        found
    }

    /// Counts a successful write, and returns the downtime of its process if a crash follows.
    pub(crate) fn next_write(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.counts.writes += 1;
        state.active_at = Instant::now();
        let number = state.counts.writes;
        state.faults.iter().find_map(|fault| match fault {
            Fault::Crash { after_write, downtime } if *after_write == number => Some(*downtime),
            _ => None,
        })
    }

    /// Counts a watch event, and returns the fault to inject into it.
    pub(crate) fn next_event(&self) -> Option<EventFault> {
        let mut state = self.lock();
        state.counts.events += 1;
        let at = state.counts.events;
        let found = state.faults.iter().find_map(|fault| match fault {
            Fault::Event { number, how } if *number == at => Some(*how),
            _ => None,
        });
        if found.is_some() {
            state.active_at = Instant::now();
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl std::fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestLog").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
