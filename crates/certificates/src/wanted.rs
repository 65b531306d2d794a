//! What certificates are to be like: whom they name, how long they last, and the times that follow from that.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long certificates last, from when they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub authority: Duration,
    pub leaf: Duration,
}

impl Default for Lifetimes {
    // KEDA: ten years and one.
    fn default() -> Self {
        Self { authority: DAY * 3650, leaf: DAY * 365 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The names that servers are reached by; the first is also the common name.
    pub names: Vec<String>,
    pub lifetimes: Lifetimes,
}

impl Wanted {
    /// How long the API servers are given to take over a changed bundle, after it was seen to be written: they watch these objects, so
    /// that seconds are enough for those that are well.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(60).min(self.lifetimes.leaf / 12)
    }

    /// How long an old authority stays trusted after the last leaf that it issued was replaced: whoever has not taken over the new leaf
    /// goes on showing the old one. A replica that lost its watch lists the Secret anew within ten minutes.
    pub fn overlap(&self) -> Duration {
        Duration::from_secs(60 * 60).min(self.lifetimes.leaf / 3)
    }
}

/// How far in the past a certificate of this lifetime begins: clocks differ.
pub(crate) fn backdating(lifetime: Duration) -> Duration {
    // KEDA: an hour. A short-lived one must still be young when it is made.
    Duration::from_secs(60 * 60).min(lifetime / 4)
}

/// The names of services: each by itself, in its namespace, as a service, and in the cluster's domain.
pub fn service_names(services: &[&str], namespace: &str, domain: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for service in services {
        let forms = [
            (*service).to_owned(),
            format!("{service}.{namespace}"),
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.{domain}"),
        ];
        names.extend(forms.into_iter().filter(|form| !names.contains(form)).collect::<Vec<_>>());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named_in_all_forms_and_once() {
        let expected = [
            "keda-operator",
            "keda-operator.keda",
            "keda-operator.keda.svc",
            "keda-operator.keda.svc.cluster.local",
            "hooks",
            "hooks.keda",
            "hooks.keda.svc",
            "hooks.keda.svc.cluster.local",
        ];
        assert_eq!(service_names(&["keda-operator", "hooks", "keda-operator"], "keda", "cluster.local"), expected);
    }

    #[test]
    fn times_follow_from_the_lifetimes() {
        let of = |leaf| Wanted { names: Vec::new(), lifetimes: Lifetimes { leaf, ..Lifetimes::default() } };
        let seconds = |wanted: Wanted| (wanted.grace().as_secs(), wanted.overlap().as_secs());
        assert_eq!(seconds(of(Lifetimes::default().leaf)), (60, 3600));
        assert_eq!(seconds(of(Duration::from_secs(60))), (5, 20));
        assert_eq!(backdating(Duration::from_secs(60)), Duration::from_secs(15));
    }
}
