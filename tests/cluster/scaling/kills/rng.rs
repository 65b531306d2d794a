//! Random numbers that can be repeated: all follow from one seed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variable that holds the seed. Without it, the seed is taken from the time.
const SEED: &str = "KEDGE_SEED";

/// Seeded random numbers.
#[derive(Debug)]
pub(super) struct Rng(kedge_core::rng::Rng);

impl Rng {
    /// From the environment, or from the time. The seed is printed, so that a failed run can be repeated.
    pub(super) fn from_environment() -> Self {
        let given = std::env::var(SEED).ok().map(|text| text.parse().expect("KEDGE_SEED is a number"));
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = given.unwrap_or_else(now);
        println!("{SEED}={seed}");
        Self(kedge_core::rng::Rng::from_seed(seed))
    }

    /// A number from zero to below this.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below(limit as u64)).expect("it is below a usize")
    }

    /// A pause before a kill: mostly within the first reconcile of every object, sometimes after several.
    pub(super) fn pause(&mut self) -> Duration {
        let limit = if self.below(4) == 0 { 2000 } else { 600 };
        Duration::from_millis(self.below(limit) as u64)
    }
}
