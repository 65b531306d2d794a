//! Random numbers that can be repeated: all follow from one seed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variable that holds the number; without it, a new one is taken.
const SEED: &str = "KEDGE_SEED";

/// A sequence of numbers (splitmix64).
#[derive(Debug)]
pub(super) struct Rng(u64);

impl Rng {
    /// From the environment, or from the time. The number is printed, so that a failed run can be repeated.
    pub(super) fn from_environment() -> Self {
        let given = std::env::var(SEED).ok().map(|text| text.parse().expect("KEDGE_SEED is a number"));
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let seed = given.unwrap_or_else(now);
        println!("{SEED}={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from zero to below this.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("it is below a usize")
    }

    /// A pause before a kill: mostly within the first reconcile of every object, sometimes after several.
    pub(super) fn pause(&mut self) -> Duration {
        let limit = if self.below(4) == 0 { 2000 } else { 600 };
        Duration::from_millis(self.below(limit) as u64)
    }
}
