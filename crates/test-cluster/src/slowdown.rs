//! How much other work slows this machine down: for tests that hold an upper bound of time against what they measured.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How long one measurement takes.
const SAMPLE: Duration = Duration::from_millis(200);

/// What every bound is widened by, also on an idle machine: a sample does not see the next moment.
const MARGIN: f64 = 2.0;

/// The longest time that something may take now which takes at most `bound` on an idle machine.
pub fn allowed(bound: Duration) -> Duration {
    bound.mul_f64(MARGIN * measure())
}

/// How many times longer computing takes now than on an idle machine: elapsed time by processor time, at least 1.
pub fn measure() -> f64 {
    let (started, used_before) = (Instant::now(), processor_time());
    while started.elapsed() < SAMPLE {
        std::hint::black_box(started);
    }
    let used = processor_time().saturating_sub(used_before);
    (started.elapsed().as_secs_f64() / used.as_secs_f64().max(0.001)).max(1.0)
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_narrowed() {
        assert!(measure() >= 1.0);
        assert!(allowed(Duration::from_secs(1)) >= Duration::from_secs(2));
    }
}
