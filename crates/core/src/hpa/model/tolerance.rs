//! How far a ratio may be from one before anything is done about it.

use super::rules::Behavior;
use super::settings::Settings;

/// Tolerances as fractions, one for each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    pub down: f64,
    pub up: f64,
}

impl Tolerances {
    /// The controller's tolerance, and what the autoscaler puts in its place.
    pub fn from_behavior(behavior: Option<&Behavior>, settings: &Settings) -> Self {
        let named = behavior.filter(|_| settings.gates.configurable_tolerance.is_on());
        let down = named.and_then(|behavior| behavior.down.tolerance);
        let up = named.and_then(|behavior| behavior.up.tolerance);
        Self { down: down.unwrap_or(settings.tolerance), up: up.unwrap_or(settings.tolerance) }
    }

    /// Whether the ratio is near enough to one. Both ends belong to it; NaN is never near.
    pub fn contain(self, ratio: f64) -> bool {
        // HPA: the ends are rounded as well, so a ratio of 1.36 is outside of a tolerance of 0.36.
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_inside_as_far_as_floats_have_them() {
        let rows = [
            ("the upper end", 0.1, 1.1, true),
            ("the lower end", 0.1, 0.9, true),
            ("just above", 0.1, 1.11, false),
            ("a rounded end excludes its own decimal", 0.36, 1.36, false),
            ("nothing per nothing", 0.1, f64::NAN, false),
        ];
        for (name, tolerance, ratio, inside) in rows {
            assert_eq!(Tolerances { down: tolerance, up: tolerance }.contain(ratio), inside, "{name}");
        }
    }
}
