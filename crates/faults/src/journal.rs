//! The journal of a run: every request of the operator, counted, with what is to go wrong at which.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::chance::Chance;
use crate::fault::{ApiFault, EventFault, Fault};

/// The longest a request takes on its way, and its answer, in milliseconds.
const WAY_MAX_MS: u64 = 20;

/// What others do right before a request.
pub trait Bystanders: Send + Sync {
    /// The user takes the next step of the scenario.
    fn step(&self) -> BoxFuture<'_, ()>;
    /// Somebody writes the target.
    fn meddle(&self) -> BoxFuture<'_, ()>;
}

/// How much there was of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests, apart from watches and leases.
    pub calls: u32,
    /// Writes that were done, apart from leases.
    pub writes: u32,
    pub events: u32,
    pub questions: u32,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Entry {
    pub replica: String,
    pub line: String,
    pub issued_at: Instant,
    pub kind: Kind,
    /// The revision when it was done.
    pub revision: u64,
    pub status: u16,
}

impl Entry {
    /// Whether it wrote something, apart from leases.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write && (200..300).contains(&self.status)
    }
}

/// What is to happen to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) way: Duration,
    pub(crate) way_back: Duration,
    pub(crate) fault: Option<ApiFault>,
    pub(crate) stale: Option<u64>,
    pub(crate) early: bool,
    pub(crate) meddle: bool,
}

/// Shared by all replicas of a run.
pub struct Journal {
    state: Mutex<State>,
    pub(crate) crashed: Notify,
    bystanders: Mutex<Option<Arc<dyn Bystanders>>>,
}

struct State {
    counts: Counts,
    faults: Vec<Fault>,
    chance: Chance,
    entries: Vec<Entry>,
}

/// What kind of a request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Watch,
    Lease,
}

impl Journal {
    pub fn new(faults: Vec<Fault>, chance: Chance) -> Arc<Self> {
        let state = State { counts: Counts::default(), faults, chance, entries: Vec::new() };
        Arc::new(Self { state: Mutex::new(state), crashed: Notify::new(), bystanders: Mutex::default() })
    }

    pub fn stand_by(&self, bystanders: Arc<dyn Bystanders>) {
        *self.bystanders.lock().expect("nobody panics holding it") = Some(bystanders);
    }

    pub(crate) fn bystanders(&self) -> Option<Arc<dyn Bystanders>> {
        self.bystanders.lock().expect("nobody panics holding it").clone()
    }

    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    pub(crate) fn note(&self, entry: Entry) {
        self.lock().entries.push(entry);
    }

    /// Counts a request, and says what happens to it.
    pub(crate) fn turn(&self, kind: Kind) -> Turn {
        let mut state = self.lock();
        let mut way = || Duration::from_millis(1 + state.chance.below(WAY_MAX_MS));
        let mut turn = Turn { way: way(), way_back: way(), ..Turn::default() };
        if matches!(kind, Kind::Watch | Kind::Lease) {
            return turn;
        }
        state.counts.calls += 1;
        let number = state.counts.calls;
        for fault in &state.faults {
            match fault {
                Fault::Api { call, how } if *call == number => turn.fault = Some(*how),
                Fault::Stale { call, calls, revisions } if (*call..call + calls).contains(&number) => {
                    turn.stale = Some(*revisions);
                }
                Fault::Early { call } if *call == number => turn.early = true,
                Fault::Meddle { call } if *call == number => turn.meddle = true,
                _ => {}
            }
        }
        turn
    }

    /// Counts a write that was done, and says whether its process ends here, and for how long.
    pub(crate) fn wrote(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.counts.writes += 1;
        let number = state.counts.writes;
        state.faults.iter().find_map(|fault| match fault {
            Fault::Crash { after_write, away } if *after_write == number => Some(*away),
            _ => None,
        })
    }

    /// Counts an event of a watch, and says what goes wrong with it.
    pub(crate) fn event(&self) -> Option<EventFault> {
        let mut state = self.lock();
        state.counts.events += 1;
        let at = state.counts.events;
        state.faults.iter().find_map(|fault| match fault {
            Fault::Event { number, how } if *number == at => Some(*how),
            _ => None,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics holding it")
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
