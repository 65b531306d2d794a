//! Whether the triggers of an object are active together, and when they last were.

use chrono::{DateTime, TimeDelta, Utc};
use kedge_api::names::conditions;
use kedge_api::scaled_object::ScaledObjectStatus;

/// What one trigger contributed to one poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// Its source answered with a value above the activation threshold.
    Active,
    /// Its source answered with a value at or below the activation threshold.
    Inactive,
    /// Its source did not answer, or the trigger cannot be built.
    Unknown,
    /// Its source has failed for so long that its fallback counts instead, with this many replicas.
    FallenBack { replicas: i32 },
    /// cpu or memory: only the HPA reads it.
    LeftToHpa,
}

impl Contribution {
    /// Whether this trigger alone keeps the target active. A fallback to zero replicas does not; every other fallback does.
    pub fn is_active(&self) -> bool {
        match self {
            Self::Active => true,
            Self::FallenBack { replicas } => *replicas > 0,
            Self::Inactive | Self::Unknown | Self::LeftToHpa => false,
        }
    }
}

/// Whether any trigger is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Active,
    Inactive,
    /// Not known, which is not the same as inactive.
    Unknown,
}

/// Combines all triggers. Inactive needs certainty: one source that did not answer makes the activity unknown.
pub fn activity(contributions: &[Contribution]) -> Activity {
    let any = |wanted: fn(&Contribution) -> bool| contributions.iter().any(wanted);
    // KEDA: with cpu and memory triggers alone the target is always active.
    let only_resources = contributions.iter().all(|one| matches!(one, Contribution::LeftToHpa));
    if only_resources || any(Contribution::is_active) {
        Activity::Active
    } else if any(|one| matches!(one, Contribution::Unknown)) {
        Activity::Unknown
    } else {
        Activity::Inactive
    }
}

/// Whether a status says that its object is active.
pub fn is_recorded_active(status: &ScaledObjectStatus) -> bool {
    let active = status.conditions.iter().flatten().find(|condition| condition.r#type == conditions::ACTIVE);
    active.is_some_and(|condition| condition.status == "True")
}

/// When the object was last active. The cooldown counts from the end of the activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityHistory {
    /// Never active since its creation.
    NeverActive { created_at: DateTime<Utc> },
    /// Active now. After a restart only the status says so, and there is no instant yet.
    Active { last_seen_at: Option<DateTime<Utc>> },
    /// Last active at this instant.
    Ended { at: DateTime<Utc> },
}

impl ActivityHistory {
    /// The history after one more poll. An instant later than now comes from a clock that was set back, or from another machine
    /// whose clock is ahead: it counts as now, so that the cooldown does not become longer.
    #[must_use]
    pub fn after(self, activity: Activity, now: DateTime<Utc>) -> Self {
        match (self, activity) {
            (_, Activity::Active) => Self::Active { last_seen_at: Some(now) },
            (Self::Active { last_seen_at }, Activity::Inactive) => {
                Self::Ended { at: last_seen_at.unwrap_or(now).min(now) }
            }
            (Self::Ended { at }, _) => Self::Ended { at: at.min(now) },
            (Self::NeverActive { created_at }, _) => Self::NeverActive { created_at: created_at.min(now) },
            (history @ Self::Active { .. }, Activity::Unknown) => history,
        }
    }

    /// The history before a poll that is late. Whether the object was active beyond the interval is not known, so the delay does not count
    /// for the cooldown.
    #[must_use]
    pub fn delayed_by(self, delay: TimeDelta) -> Self {
        match self {
            Self::Active { last_seen_at: Some(at) } => {
                Self::Active { last_seen_at: Some(at.checked_add_signed(delay).unwrap_or(DateTime::<Utc>::MAX_UTC)) }
            }
            other => other,
        }
    }

    /// The history where a reading between two polls was active: the HPA may have scaled out on it.
    #[must_use]
    pub fn seen_active(self, at: DateTime<Utc>) -> Self {
        match self {
            Self::NeverActive { .. } => Self::Ended { at },
            Self::Ended { at: last } => Self::Ended { at: last.max(at) },
            Self::Active { last_seen_at } => Self::Active { last_seen_at: last_seen_at.map(|last| last.max(at)) },
        }
    }

    /// The history that a status records: that of an object which an earlier process managed.
    pub fn from_status(status: &ScaledObjectStatus, created_at: DateTime<Utc>) -> Self {
        match (is_recorded_active(status), status.last_active_time.as_ref()) {
            (true, _) => Self::Active { last_seen_at: None },
            (false, Some(at)) => Self::Ended { at: kedge_api::time::from_time(at) },
            (false, None) => Self::NeverActive { created_at },
        }
    }

    /// When the object was last active, or was last seen so. `None` if it never was, or only its status says so.
    pub fn last_active_at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Ended { at } => Some(at),
            Self::Active { last_seen_at } => last_seen_at,
            Self::NeverActive { .. } => None,
        }
    }

    /// When the activity ended, if it has.
    pub fn ended_at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Ended { at } => Some(at),
            Self::NeverActive { .. } | Self::Active { .. } => None,
        }
    }
}

/// The cooldowns of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    /// After the last activity.
    pub period: TimeDelta,
    /// After the creation of an object that was never active.
    pub initial: TimeDelta,
}

impl Cooldown {
    /// The last instant at which the target must not be scaled in yet. KEDA: at that exact second the decision is still to hold.
    pub fn ends_at(self, history: ActivityHistory, now: DateTime<Utc>) -> DateTime<Utc> {
        let (from, period) = match history {
            ActivityHistory::NeverActive { created_at } => (created_at, self.initial),
            ActivityHistory::Ended { at } => (at, self.period),
            ActivityHistory::Active { last_seen_at } => (last_seen_at.unwrap_or(now), self.period),
        };
        from.checked_add_signed(period).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Contribution::{Active, FallenBack, Inactive, LeftToHpa, Unknown};

    #[test]
    fn inactive_needs_certainty() {
        let rows: [(&str, &[Contribution], Activity); 11] = [
            ("one active trigger is enough", &[Inactive, Active], Activity::Active),
            ("also beside one that fails", &[Unknown, Active], Activity::Active),
            ("all inactive is inactive", &[Inactive, Inactive], Activity::Inactive),
            ("one failing trigger makes it unknown", &[Inactive, Unknown], Activity::Unknown),
            ("a failing trigger alone is unknown", &[Unknown], Activity::Unknown),
            ("a fallback is active", &[FallenBack { replicas: 3 }], Activity::Active),
            ("a fallback to zero is inactive", &[FallenBack { replicas: 0 }], Activity::Inactive),
            ("unless another fails without one", &[FallenBack { replicas: 0 }, Unknown], Activity::Unknown),
            ("cpu alone is always active", &[LeftToHpa], Activity::Active),
            ("cpu beside an inactive trigger does not count", &[LeftToHpa, Inactive], Activity::Inactive),
            ("cpu beside a failing trigger does not count", &[LeftToHpa, Unknown], Activity::Unknown),
        ];
        for (name, contributions, expected) in rows {
            assert_eq!(activity(contributions), expected, "{name}");
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn a_clock_set_back_restarts_the_cooldown_once() {
        let ended = |second| ActivityHistory::Ended { at: at(second) };
        assert_eq!(ended(7200).after(Activity::Inactive, at(60)), ended(60), "not two hours from now");
        assert_eq!(ended(60).after(Activity::Inactive, at(90)), ended(60), "once only");
        let active = ActivityHistory::Active { last_seen_at: Some(at(7200)) };
        assert_eq!(active.after(Activity::Inactive, at(60)), ended(60));
        let never = |second| ActivityHistory::NeverActive { created_at: at(second) };
        assert_eq!(never(7200).after(Activity::Inactive, at(60)), never(60), "the API server's clock may be ahead");
        assert_eq!(never(60).after(Activity::Unknown, at(90)), never(60));
    }

    #[test]
    fn the_delay_of_a_poll_does_not_count_for_the_cooldown() {
        let active = ActivityHistory::Active { last_seen_at: Some(at(20)) };
        let after = |delay| active.delayed_by(delay).after(Activity::Inactive, at(90));
        assert_eq!(after(TimeDelta::seconds(40)), ActivityHistory::Ended { at: at(60) });
        assert_eq!(after(TimeDelta::MAX), ActivityHistory::Ended { at: at(90) }, "not later than now");
        let ended = ActivityHistory::Ended { at: at(20) };
        assert_eq!(ended.delayed_by(TimeDelta::seconds(40)), ended, "the cooldown runs");
    }

    #[test]
    fn an_active_reading_between_two_polls_counts() {
        let ended = |second| ActivityHistory::Ended { at: at(second) };
        let active = |second: Option<i64>| ActivityHistory::Active { last_seen_at: second.map(at) };
        let rows = [
            ("never active", ActivityHistory::NeverActive { created_at: at(10) }, ended(40)),
            ("ended before", ended(20), ended(40)),
            ("ended after it", ended(50), ended(50)),
            ("active before", active(Some(20)), active(Some(40))),
            ("active as the status says, which ends at the next inactive poll", active(None), active(None)),
        ];
        for (name, history, expected) in rows {
            assert_eq!(history.seen_active(at(40)), expected, "{name}");
        }
    }

    #[test]
    fn the_history_keeps_the_last_active_poll() {
        let active = |second: Option<i64>| ActivityHistory::Active { last_seen_at: second.map(at) };
        let ended = |second| ActivityHistory::Ended { at: at(second) };
        let never = ActivityHistory::NeverActive { created_at: at(10) };
        let rows = [
            ("activity begins", never, Activity::Active, active(Some(50))),
            ("activity continues", active(Some(20)), Activity::Active, active(Some(50))),
            ("activity ends at the last active poll", active(Some(20)), Activity::Inactive, ended(20)),
            (
                "an active status ends now, at the first certain inactive poll",
                active(None),
                Activity::Inactive,
                ended(50),
            ),
            ("no answer changes nothing", active(Some(20)), Activity::Unknown, active(Some(20))),
            ("an active status stays while nothing is known", active(None), Activity::Unknown, active(None)),
            ("inactive stays inactive", ended(20), Activity::Inactive, ended(20)),
            ("never active stays so", never, Activity::Inactive, never),
        ];
        for (name, history, activity, expected) in rows {
            assert_eq!(history.after(activity, at(50)), expected, "{name}");
        }
    }
}
