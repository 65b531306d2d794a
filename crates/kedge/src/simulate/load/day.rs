//! A made-up working day: people come in the morning, eat at noon, go home; late in the evening there is a short burst.

use chrono::{DateTime, Timelike, Utc};
use kedge_core::rng;

/// Minutes of the day (UTC) and the share of the peak there; straight lines between them.
const COURSE: &[(f64, f64)] = &[
    (470.0, 0.0),
    (570.0, 0.7),
    (690.0, 0.8),
    (735.0, 0.3),
    (785.0, 0.3),
    (840.0, 0.9),
    (960.0, 0.75),
    (1050.0, 0.25),
    (1110.0, 0.0),
];

/// The burst asks for more than the peak, so that a limit that is reached is seen.
const BURST_SHARE: f64 = 1.25;
const BURST_MINUTES: f64 = 12.0;
/// The burst begins somewhere in this hour: 20:30 to 21:30.
const BURST_FROM: f64 = 1230.0;
const BURST_WITHIN: f64 = 60.0;

/// Each five minutes differ from the course by up to this share.
const NOISE: f64 = 0.1;
const NOISE_MINUTES: i64 = 5;

/// The load as a share of the peak.
pub(super) fn share(seed: u64, now: DateTime<Utc>) -> f64 {
    let minute = f64::from(now.num_seconds_from_midnight()) / 60.0;
    let day = now.timestamp().div_euclid(86_400);
    let burst = BURST_FROM + BURST_WITHIN * chance(seed, day);
    if (burst..burst + BURST_MINUTES).contains(&minute) {
        return BURST_SHARE;
    }
    let slot = now.timestamp().div_euclid(NOISE_MINUTES * 60);
    course(minute) * (1.0 + NOISE * (2.0 * chance(!seed, slot) - 1.0))
}

fn course(minute: f64) -> f64 {
    let between = |pair: &&[(f64, f64)]| (pair[0].0..pair[1].0).contains(&minute);
    COURSE.windows(2).find(between).map_or(0.0, |pair| {
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        low + (high - low) * (minute - from) / (to - from)
    })
}

/// A number from 0 to 1 that depends on nothing but these two.
fn chance(seed: u64, index: i64) -> f64 {
    rng::to_fraction(rng::nth(seed, index as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_767_571_200 + minute * 60, 0).unwrap()
    }

    #[test]
    fn a_day_has_its_course_whatever_the_seed() {
        for seed in 0..50 {
            let mean = |minutes: std::ops::Range<i64>| {
                let count = (minutes.end - minutes.start) as f64;
                minutes.map(|minute| share(seed, at(minute))).sum::<f64>() / count
            };
            assert_eq!(mean(0..470), 0.0, "the night is quiet");
            assert_eq!(mean(1110..1230), 0.0, "so is the evening");
            assert!(mean(735..785) < mean(600..690) / 2.0, "people eat at noon");
            assert!(mean(840..900) > mean(735..785) * 2.0, "and come back");
            let burst = (1230..1302).filter(|minute| share(seed, at(*minute)) == BURST_SHARE).count();
            assert_eq!(burst, 12, "the burst is short");
        }
    }

    #[test]
    fn a_seed_makes_a_day_of_its_own() {
        let day = |seed| (0..1440).map(|minute| share(seed, at(minute))).collect::<Vec<_>>();
        assert_eq!(day(1), day(1));
        assert_ne!(day(1), day(2));
    }
}
