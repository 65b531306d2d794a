//! The events for changes of conditions.

use kedge_api::Condition;
use kedge_api::names::conditions as condition_types;
use kedge_cluster::EventType;

/// The events about the conditions of one kind of objects.
pub(crate) struct ConditionEvents {
    /// The reason of a Ready condition that names a problem, and of the event with its message.
    pub(crate) check_failed: &'static str,
    pub(crate) ready: Words,
    /// Conditions that begin to be true, and cease to be.
    pub(crate) changes: [Change; 2],
}

/// The type of a condition, and what is published when it begins to be true, and when it ceases to be.
pub(crate) struct Change {
    pub(crate) condition: &'static str,
    pub(crate) begins: Words,
    pub(crate) ends: Words,
}

/// The reason and the note of an event.
pub(crate) type Words = (&'static str, &'static str);

impl ConditionEvents {
    /// The events for a change of conditions.
    pub(crate) fn of(&self, before: &[Condition], after: &[Condition]) -> Vec<(EventType, &'static str, String)> {
        let mut found = Vec::new();
        if let Some(ready) = find(after, condition_types::READY) {
            let old = find(before, condition_types::READY);
            let has_failed = ready.reason.as_deref() == Some(self.check_failed);
            if has_failed && old.is_none_or(|old| old.message != ready.message) {
                found.push((EventType::Warning, self.check_failed, ready.message.clone().unwrap_or_default()));
            }
            if ready.status == "True" && old.is_none_or(|old| old.status != "True") {
                found.push(normal(self.ready));
            }
        }
        let is_true = |conditions, kind| find(conditions, kind).is_some_and(|one| one.status == "True");
        for Change { condition, begins, ends } in &self.changes {
            match (is_true(before, condition), is_true(after, condition)) {
                (false, true) => found.push(normal(*begins)),
                (true, false) => found.push(normal(*ends)),
                _ => {}
            }
        }
        found
    }
}

fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|one| one.r#type == kind)
}

fn normal((reason, note): Words) -> (EventType, &'static str, String) {
    (EventType::Normal, reason, note.to_owned())
}
