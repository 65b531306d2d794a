//! What an object asks for, once its defaults are filled in.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use kedge_api::names::annotations;
use kedge_api::scaled_object::ScaledObjectSpec;

use crate::activity::Cooldown;

/// KEDA: the maximum of an object that names none.
pub const MAX_REPLICAS_DEFAULT: i32 = 100;

/// KEDA: seconds between two looks at an object that names none.
pub const POLLING_SECONDS_DEFAULT: i32 = 30;

const COOLDOWN_SECONDS_DEFAULT: i32 = 300;

/// The bounds and pauses between which an object is scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub min: i32,
    pub max: i32,
    pub idle: Option<i32>,
    pub cooldown: Cooldown,
    pub overrides: Overrides,
}

/// What annotations say.
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
    /// At a number of replicas that cannot be read.
    Unreadable(String),
}

/// Whether scaling in one direction is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Allowed,
    Paused,
}

/// Who says whether there is work.
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

    /// Where the target rests while there is no work.
    pub fn floor(&self) -> i32 {
        self.idle.unwrap_or(self.min)
    }

    /// Where the target wakes to.
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
            // KEDA: its mere presence pauses, whatever `paused` says.
            Some(text) => text.parse().map_or_else(|_| Pause::Unreadable(text.to_owned()), Pause::At),
            None if is_set(note(annotations::PAUSED)) => Pause::AsIs,
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

    /// Whether the object is paused as a whole, so that nothing is looked at.
    pub fn is_fully_paused(&self) -> bool {
        self.pause != Pause::No
    }

    /// Whether anything is paused: fully, or in one direction.
    pub fn is_paused(&self) -> bool {
        self.is_fully_paused() || self.scale_in == Direction::Paused || self.scale_out == Direction::Paused
    }
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
    fn annotations_are_read_as_keda_reads_them() {
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
