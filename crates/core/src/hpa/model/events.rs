//! Events that the controller publishes on the HPA. The caller aggregates similar ones.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub event_type: EventType,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    Normal,
    Warning,
}

impl Event {
    pub(super) fn normal(reason: &'static str, message: String) -> Self {
        Self { event_type: EventType::Normal, reason, message }
    }

    pub(super) fn warning(reason: &'static str, message: String) -> Self {
        Self { event_type: EventType::Warning, reason, message }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {} {}", self.event_type, self.reason, self.message)
    }
}
