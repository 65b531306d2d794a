//! Spreading periodic work over its period.

use std::time::Duration;

use kedge_core::rng::{mix, to_fraction};

/// A share of a period that depends on the text alone, so that the same object keeps its place in the period across restarts.
pub fn phase(text: &str, period: Duration) -> Duration {
    // FNV-1a, then the finisher of splitmix64: well spread for similar texts too, and the same in every build.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    period.mul_f64(to_fraction(mix(hash)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_spread_over_the_period() {
        let period = Duration::from_secs(30);
        let mut thirds = [0; 3];
        for index in 0..300 {
            let phase = phase(&format!("uid-{index}"), period);
            assert!(phase < period);
            thirds[(phase.as_secs() / 10) as usize] += 1;
        }
        assert!(thirds.iter().all(|count| *count > 60), "{thirds:?}");
    }
}
