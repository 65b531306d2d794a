//! Events that the controller records on the autoscaler. Merging similar ones is left to whoever sends them.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Normal,
    Warning,
}

impl Event {
    pub(super) fn normal(reason: &'static str, message: String) -> Self {
        Self { kind: EventKind::Normal, reason, message }
    }

    pub(super) fn warning(reason: &'static str, message: String) -> Self {
        Self { kind: EventKind::Warning, reason, message }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {} {}", self.kind, self.reason, self.message)
    }
}
