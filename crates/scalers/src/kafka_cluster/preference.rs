//! Which servers are asked first for what every broker knows: pure.

use crate::host_port::HostPort;

/// How many failures are remembered.
const FAILED_MAX: usize = 500;

/// What came of asking servers.
#[derive(Debug, Default)]
pub(super) struct Preference {
    /// The one that answered last.
    answered: Option<HostPort>,
    /// Those that failed since they answered last, the latest one at the end.
    failed: Vec<HostPort>,
}

impl Preference {
    /// Puts the server that answered last first, and those that failed last at the end: so all are asked in turn.
    pub(super) fn sort(&self, servers: &mut [HostPort]) {
        servers.sort_by_cached_key(|server| {
            let failed = self.failed.iter().position(|failed| failed == server);
            (self.answered.as_ref() != Some(server), failed.map_or(0, |position| position + 1))
        });
    }

    pub(super) fn note_answer(&mut self, server: &HostPort) {
        self.failed.retain(|failed| failed != server);
        self.answered = Some(server.clone());
    }

    pub(super) fn note_failure(&mut self, server: &HostPort) {
        self.failed.retain(|failed| failed != server);
        if self.failed.len() >= FAILED_MAX {
            self.failed.remove(0);
        }
        self.failed.push(server.clone());
        self.answered.take_if(|answered| answered == server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_fail_go_to_the_end_and_the_one_that_answers_to_the_front() {
        let server = |number: u16| HostPort { host: "kafka".to_owned(), port: number };
        let mut preference = Preference::default();
        let sorted = |preference: &Preference| {
            let mut servers = [1, 2, 3, 4].map(server);
            preference.sort(&mut servers);
            servers.map(|server| server.port)
        };
        assert_eq!(sorted(&preference), [1, 2, 3, 4]);
        preference.note_failure(&server(1));
        preference.note_failure(&server(2));
        assert_eq!(sorted(&preference), [3, 4, 1, 2]);
        preference.note_answer(&server(4));
        assert_eq!(sorted(&preference), [4, 3, 1, 2]);
        preference.note_failure(&server(4));
        preference.note_failure(&server(1));
        assert_eq!(sorted(&preference), [3, 2, 4, 1], "longest ago first");
        preference.note_answer(&server(1));
        assert_eq!(sorted(&preference), [1, 3, 2, 4]);
    }
}
