//! Time that passes at a chosen speed. One thread has tokio's clock paused, and moves it along with the machine's; the timers of that
//! thread fire in their order, however fast time passes.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use kedge_cluster::Clock;

/// How often the clock is moved.
const STEP: Duration = Duration::from_millis(20);

/// How much of the machine's time one step makes up for at most: after a pause of the process, time goes on from where it was.
const STEP_MAX: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct VirtualTime {
    /// The bits of a floating point number.
    speed: AtomicU64,
    /// The time after the last step, in microseconds, for other threads.
    published: AtomicI64,
    /// The thread whose clock is moved, and its clock.
    own: OnceLock<(ThreadId, Clock)>,
}

impl VirtualTime {
    pub(crate) fn new(starts_at: DateTime<Utc>, speed: f64) -> Self {
        let published = AtomicI64::new(starts_at.timestamp_micros());
        Self { speed: AtomicU64::new(speed.to_bits()), published, own: OnceLock::new() }
    }

    pub(crate) fn speed(&self) -> f64 {
        f64::from_bits(self.speed.load(Ordering::Relaxed))
    }

    pub(crate) fn set_speed(&self, speed: f64) {
        self.speed.store(speed.to_bits(), Ordering::Relaxed);
    }

    /// The present. Other threads than the one that is driven see it a step late.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        match self.own.get() {
            Some((thread, clock)) if *thread == thread::current().id() => clock.now(),
            _ => DateTime::from_timestamp_micros(self.published.load(Ordering::Relaxed)).unwrap_or_default(),
        }
    }

    /// Takes the clock of this thread, whose tokio runtime was started with a paused one.
    pub(crate) fn begin(&self) -> Clock {
        let clock = Clock::starting_at(self.now());
        // There is one such thread.
        let _ = self.own.set((thread::current().id(), clock.clone()));
        clock
    }

    /// Moves the clock until it is dropped.
    pub(crate) async fn drive(&self) -> Infallible {
        let mut before = Instant::now();
        loop {
            // While a blocking task runs, tokio leaves a paused clock where it is.
            let slept = tokio::task::spawn_blocking(|| thread::sleep(STEP)).await;
            slept.expect("a sleep does not panic");
            let passed = before.elapsed().min(STEP_MAX);
            before = Instant::now();
            // Without one, it moves to each timer in turn whenever all tasks wait, and so to this one.
            tokio::time::sleep(passed.mul_f64(self.speed())).await;
            self.published.store(self.now().timestamp_micros(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn timers_fire_in_order_and_about_as_fast_as_asked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let started = Instant::now();
        let fired = Arc::new(Mutex::new(Vec::new()));
        runtime.block_on(async {
            let noon: DateTime<Utc> = "2026-06-01T12:00:00Z".parse().unwrap();
            let time = VirtualTime::new(noon, 600.0);
            let clock = time.begin();
            for second in [7, 90, 30, 61, 8] {
                let (fired, clock) = (fired.clone(), clock.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(second)).await;
                    let late = clock.now() - noon - chrono::TimeDelta::seconds(second as i64);
                    fired.lock().unwrap().push((second, late.num_milliseconds()));
                });
            }
            tokio::select! {
                never = time.drive() => match never {},
                () = tokio::time::sleep(Duration::from_secs(120)) => {}
            }
        });
        let fired = fired.lock().unwrap().clone();
        assert_eq!(fired.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [7, 8, 30, 61, 90]);
        assert!(fired.iter().all(|(_, late)| *late <= 2), "each at its own time: {fired:?}");
        assert!(
            started.elapsed() >= Duration::from_millis(150),
            "120 s at 600 times the speed: {:?}",
            started.elapsed()
        );
    }
}
