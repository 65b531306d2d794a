//! How long to wait before a stream is opened again.

use std::time::Duration;

// KEDA: from two seconds up to a minute, twice as long each time.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);

/// A stream that lived this long was in order, whatever ended it.
pub(super) const PROVEN_AFTER: Duration = Duration::from_secs(60);

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Closed by the server, or after it had delivered messages.
    InOrder,
    Failed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// The wait after a stream that ended so.
    pub(super) fn wait(&mut self, ending: Ending) -> Duration {
        if ending == Ending::InOrder {
            self.next = FIRST;
        }
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_again_after_a_stream_that_was_in_order() {
        use Ending::*;
        let mut backoff = Backoff::new();
        let endings = [Failed, Failed, Failed, Failed, Failed, Failed, Failed, InOrder, Failed, InOrder, InOrder];
        let waits = endings.map(|ending| backoff.wait(ending).as_secs());
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 2, 4, 2, 2]);
    }
}
