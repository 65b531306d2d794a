//! The sources of a run, and the network in memory that leads to them: a Prometheus server, and an external scaler.

mod external;
mod prometheus;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{BoxFuture, Connector};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::fault::SourceFault;

/// Room for an answer on its way.
const PIPE: usize = 16 * 1024;

/// The sources. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct Sources {
    state: Arc<Mutex<State>>,
    /// What the external scaler tells by itself.
    pushed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<String, f64>,
    /// Tokens without which questions are refused.
    tokens: BTreeMap<String, String>,
    asked: u32,
    faults: Vec<Planned>,
    served: Vec<Served>,
    failed_at: Option<Instant>,
}

/// Questions that go wrong: the first of them, and how many.
#[derive(Clone, Copy, Debug)]
struct Planned {
    first: u32,
    times: u32,
    how: SourceFault,
}

/// An answer that was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    pub at: Instant,
    pub question: String,
    /// None where it went wrong.
    pub value: Option<f64>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Value(f64),
    Refused,
    Wrong(SourceFault),
}

impl Sources {
    pub fn new() -> Self {
        Self { state: Arc::default(), pushed: watch::Sender::new(false) }
    }

    /// From now on the answer to a question.
    pub fn set(&self, question: &str, value: f64) {
        self.lock().values.insert(question.to_owned(), value);
    }

    /// From now on the token without which a question is refused, if there is one.
    pub fn require(&self, question: &str, token: Option<&str>) {
        let tokens = &mut self.lock().tokens;
        match token {
            Some(token) => drop(tokens.insert(question.to_owned(), token.to_owned())),
            None => drop(tokens.remove(question)),
        }
    }

    /// Lets the external scaler say that there is work.
    pub fn push(&self, active: bool) {
        self.pushed.send_replace(active);
    }

    /// Questions go wrong from the `first` on, so many `times`.
    pub fn break_from(&self, first: u32, times: u32, how: SourceFault) {
        self.lock().faults.push(Planned { first, times, how });
    }

    /// From now on nothing goes wrong any more.
    pub fn disarm(&self) {
        self.lock().faults.clear();
    }

    /// When a question last went wrong.
    pub fn failed_at(&self) -> Option<Instant> {
        self.lock().failed_at
    }

    /// How many questions there were.
    pub fn asked(&self) -> u32 {
        self.lock().asked
    }

    /// All answers so far.
    pub fn served(&self) -> Vec<Served> {
        self.lock().served.clone()
    }

    /// The way to them.
    pub fn connector(&self) -> Connector {
        let sources = self.clone();
        Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (ours, theirs) = tokio::io::duplex(PIPE);
            match uri.host() {
                Some("scaler") => drop(tokio::spawn(external::serve(sources.clone(), theirs))),
                _ => drop(tokio::spawn(prometheus::serve(sources.clone(), theirs))),
            }
            Box::pin(async move { Ok(Box::new(ours) as BoxStream) })
        })
    }

    fn answer(&self, question: &str, token: Option<&str>) -> Answer {
        let mut state = self.lock();
        state.asked += 1;
        let number = state.asked;
        let wrong = |planned: &&Planned| (planned.first..planned.first + planned.times).contains(&number);
        let answer = match state.faults.iter().find(wrong) {
            Some(planned) => Answer::Wrong(planned.how),
            None if state.tokens.get(question).is_some_and(|needed| Some(needed.as_str()) != token) => Answer::Refused,
            None => Answer::Value(state.values.get(question).copied().unwrap_or(0.0)),
        };
        if let Answer::Wrong(_) = answer {
            state.failed_at = Some(Instant::now());
        }
        let value = match answer {
            Answer::Value(value) => Some(value),
            Answer::Refused | Answer::Wrong(_) => None,
        };
        state.served.push(Served { at: Instant::now(), question: question.to_owned(), value });
        answer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics holding it")
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::new()
    }
}
