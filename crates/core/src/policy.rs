//! The bounds, cooldowns and overrides of an object, with KEDA's defaults applied.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use kedge_api::names::annotations;
use kedge_api::scaled_object::ScaledObjectSpec;

use crate::activity::Cooldown;
use crate::formula::settings::has_modifiers;

/// KEDA: the maximum of an object that names none.
pub const MAX_REPLICAS_DEFAULT: i32 = 100;

/// KEDA: the polling interval of an object that names none.
const POLLING_SECONDS_DEFAULT: i32 = 30;

const COOLDOWN_SECONDS_DEFAULT: i32 = 300;

/// Whether the replicas of a spec are left to the HPA: the target is scaled to neither zero nor idle replicas, and no reading of a poll
/// is served to the HPA. Then a poll need not query sources that the HPA asks for anyway.
pub fn left_to_hpa(spec: &ScaledObjectSpec) -> bool {
    let caches = spec.triggers.iter().any(|trigger| trigger.use_cached_metrics == Some(true));
    spec.min_replica_count.unwrap_or(0) > 0 && spec.idle_replica_count.is_none() && !caches && !has_modifiers(spec)
}

/// The bounds and pauses between which an object is scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub min: i32,
    pub max: i32,
    pub idle: Option<i32>,
    pub cooldown: Cooldown,
    pub overrides: Overrides,
}

/// Annotations that override the triggers: pauses and forced activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrides {
    pub pause: Pause,
    pub scale_in: Direction,
    pub scale_out: Direction,
    pub activation: Activation,
}

/// A full pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    No,
    /// At whatever replicas there are.
    AsIs,
    /// At this many replicas.
    At(i32),
    /// At a value that is not a number of replicas.
    Unreadable(String),
}

/// Whether scaling in one direction is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Allowed,
    Paused,
}

/// What decides whether the object is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    ByTriggers,
    Forced,
}

impl Policy {
    /// Reads the spec and the annotations of an object.
    pub fn from_spec(spec: &ScaledObjectSpec, notes: Option<&BTreeMap<String, String>>) -> Self {
        Self {
            min: spec.min_replica_count.unwrap_or(0),
            max: spec.max_replica_count.unwrap_or(MAX_REPLICAS_DEFAULT),
            idle: spec.idle_replica_count,
            cooldown: Cooldown {
                period: seconds(spec.cooldown_period.unwrap_or(COOLDOWN_SECONDS_DEFAULT)),
                initial: seconds(spec.initial_cooldown_period.unwrap_or(0)),
            },
            overrides: Overrides::from_annotations(notes),
        }
    }

    /// The replicas of the target while no trigger is active.
    pub fn floor(&self) -> i32 {
        self.idle.unwrap_or(self.min)
    }

    /// The replicas to which the target is activated.
    pub fn activation_replicas(&self) -> i32 {
        self.min.max(1)
    }
}

impl Overrides {
    /// Reads the annotations of an object.
    pub fn from_annotations(notes: Option<&BTreeMap<String, String>>) -> Self {
        let note = |key: &str| notes.and_then(|notes| notes.get(key)).map(String::as_str);
        let direction = |key| if is_set(note(key)) { Direction::Paused } else { Direction::Allowed };
        let pause = match note(annotations::PAUSED_REPLICAS) {
            // KEDA: its presence pauses, whatever the value of `paused`.
            Some(text) => text.parse().map_or_else(|_| Pause::Unreadable(text.to_owned()), Pause::At),
            None if is_paused(notes) => Pause::AsIs,
            None => Pause::No,
        };
        Self {
            pause,
            scale_in: direction(annotations::PAUSED_SCALE_IN),
            scale_out: direction(annotations::PAUSED_SCALE_OUT),
            activation: if is_set(note(annotations::FORCE_ACTIVATION)) {
                Activation::Forced
            } else {
                Activation::ByTriggers
            },
        }
    }

    /// Whether the object is fully paused: its triggers are not polled and its HPA is removed.
    pub fn is_fully_paused(&self) -> bool {
        self.pause != Pause::No
    }

    /// Whether anything is paused: fully, or in one direction.
    pub fn is_paused(&self) -> bool {
        self.is_fully_paused() || self.scale_in == Direction::Paused || self.scale_out == Direction::Paused
    }
}

/// The time between two polls of an object with this `pollingInterval`: at least a second, also where the CRD's lower bound was not
/// enforced.
pub fn polling_interval(seconds: Option<i32>) -> Duration {
    let seconds = seconds.unwrap_or(POLLING_SECONDS_DEFAULT).max(1);
    Duration::from_secs(seconds.unsigned_abs().into())
}

/// Whether the annotation `paused` pauses an object.
pub(crate) fn is_paused(notes: Option<&BTreeMap<String, String>>) -> bool {
    is_set(notes.and_then(|notes| notes.get(annotations::PAUSED)).map(String::as_str))
}

/// KEDA: an annotation counts as set unless it is absent or a word for false; `""` and `banana` are set.
fn is_set(note: Option<&str>) -> bool {
    !matches!(note, None | Some("0" | "f" | "F" | "FALSE" | "false" | "False"))
}

fn seconds(count: i32) -> TimeDelta {
    TimeDelta::seconds(count.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(notes: &[(&str, &str)]) -> Overrides {
        let notes = notes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Overrides::from_annotations(Some(&notes))
    }

    #[test]
    fn annotations_are_parsed_as_keda_does() {
        let paused = |value| overrides(&[(annotations::PAUSED, value)]).pause;
        for yes in ["true", "1", "T", "", "banana", " false"] {
            assert_eq!(paused(yes), Pause::AsIs, "{yes:?}");
        }
        for no in ["false", "0", "F", "FALSE"] {
            assert_eq!(paused(no), Pause::No, "{no:?}");
        }
        let rows = [
            ("a number pauses at it", "4", Pause::At(4)),
            ("zero is a number", "0", Pause::At(0)),
            ("text cannot be read", "four", Pause::Unreadable("four".to_owned())),
            ("neither can a fraction", "1.5", Pause::Unreadable("1.5".to_owned())),
        ];
        for (name, value, expected) in rows {
            let notes = [(annotations::PAUSED_REPLICAS, value), (annotations::PAUSED, "false")];
            assert_eq!(overrides(&notes).pause, expected, "{name}");
        }
        assert!(!Overrides::from_annotations(None).is_paused());
        assert!(overrides(&[(annotations::PAUSED_SCALE_IN, "true")]).is_paused());
    }
}
