//! Health probes, and the readiness of this server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;

/// Whether metrics can be read. Endpoint readiness is part of what makes the API available, so it should depend on this
/// process alone: one broken source must not take all metrics away.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Starts as not ready.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn mark_ready(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn mark_unready(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Livez,
    Readyz,
    Healthz,
}

impl Probe {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Livez, Self::Readyz, Self::Healthz].into_iter().find(|probe| probe.name() == text)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Livez => "livez",
            Self::Readyz => "readyz",
            Self::Healthz => "healthz",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Brief,
    Verbose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthRequest {
    pub(crate) probe: Probe,
    /// The only requested check, if there is one.
    pub(crate) check: Option<String>,
    pub(crate) detail: Detail,
    pub(crate) excluded: Vec<String>,
}

/// The state behind the checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HealthState {
    pub(crate) ready: bool,
    pub(crate) stopping: bool,
}

impl HealthState {
    /// The checks of a probe by name, and whether they pass.
    fn checks(self, probe: Probe) -> Vec<(&'static str, bool)> {
        let mut checks = vec![("ping", true)];
        if probe == Probe::Readyz {
            checks.extend([("metrics", self.ready), ("shutdown", !self.stopping)]);
        }
        checks
    }
}

/// The response in plain text; none when the check does not exist.
pub(crate) fn render_health(question: &HealthRequest, state: HealthState) -> Option<(StatusCode, String)> {
    let name = question.probe.name();
    let mut checks = state.checks(question.probe);
    if let Some(wanted) = &question.check {
        checks.retain(|(check, _)| check == wanted);
        if checks.is_empty() {
            return None;
        }
    }
    let excluded = |check: &str| question.excluded.iter().any(|name| name == check);
    let lines: String = checks
        .iter()
        .map(|(check, passes)| match passes {
            _ if excluded(check) => format!("[+]{check} excluded: ok\n"),
            true => format!("[+]{check} ok\n"),
            false => format!("[-]{check} failed: reason withheld\n"),
        })
        .collect();
    let passes = checks.iter().all(|(check, passes)| *passes || excluded(check));
    Some(match (passes, question.detail) {
        (true, Detail::Brief) => (StatusCode::OK, "ok".to_owned()),
        (true, Detail::Verbose) => (StatusCode::OK, format!("{lines}{name} check passed\n")),
        (false, _) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{name} check failed\n")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: HealthState = HealthState { ready: true, stopping: false };
    const WAITING: HealthState = HealthState { ready: false, stopping: false };
    const STOPPING: HealthState = HealthState { ready: true, stopping: true };

    fn question(probe: Probe, check: Option<&str>, detail: Detail, excluded: &[&str]) -> HealthRequest {
        let excluded = excluded.iter().map(|name| (*name).to_owned()).collect();
        HealthRequest { probe, check: check.map(str::to_owned), detail, excluded }
    }

    #[test]
    fn probes_respond_by_their_checks() {
        use Detail::{Brief, Verbose};
        use Probe::{Healthz, Livez, Readyz};
        let failed = "[+]ping ok\n[-]metrics failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        let rows = [
            ("alive", question(Livez, None, Brief, &[]), WAITING, Some((200, "ok"))),
            ("alive while stopping", question(Healthz, None, Brief, &[]), STOPPING, Some((200, "ok"))),
            (
                "alive in words",
                question(Livez, None, Verbose, &[]),
                READY,
                Some((200, "[+]ping ok\nlivez check passed\n")),
            ),
            ("ready", question(Readyz, None, Brief, &[]), READY, Some((200, "ok"))),
            ("not ready", question(Readyz, None, Brief, &[]), WAITING, Some((500, failed))),
            (
                "stopping",
                question(Readyz, None, Brief, &[]),
                STOPPING,
                Some((500, "[+]ping ok\n[+]metrics ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n")),
            ),
            (
                "excluded",
                question(Readyz, None, Verbose, &["metrics"]),
                WAITING,
                Some((200, "[+]ping ok\n[+]metrics excluded: ok\n[+]shutdown ok\nreadyz check passed\n")),
            ),
            ("one check", question(Readyz, Some("ping"), Brief, &[]), WAITING, Some((200, "ok"))),
            (
                "one failing check",
                question(Readyz, Some("metrics"), Brief, &[]),
                WAITING,
                Some((500, "[-]metrics failed: reason withheld\nreadyz check failed\n")),
            ),
            ("no such check", question(Livez, Some("metrics"), Brief, &[]), READY, None),
        ];
        for (name, question, state, expected) in rows {
            let response = render_health(&question, state);
            let seen = response.as_ref().map(|(code, text)| (code.as_u16(), text.as_str()));
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn readiness_is_shared_by_its_clones() {
        let readiness = Readiness::new();
        let other = readiness.clone();
        assert!(!readiness.is_ready());
        other.mark_ready();
        assert!(readiness.is_ready());
        other.mark_unready();
        assert!(!readiness.is_ready());
    }
}
