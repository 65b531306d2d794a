//! The specification of the certificates: names, lifetimes, and the periods that follow from them.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The lifetimes of certificates, from their issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub ca: Duration,
    pub leaf: Duration,
}

impl Default for Lifetimes {
    // KEDA: ten years and one.
    fn default() -> Self {
        Self { ca: DAY * 3650, leaf: DAY * 365 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSpec {
    /// The DNS names of the servers; the first is also the common name.
    pub names: Vec<String>,
    pub lifetimes: Lifetimes,
}

impl CertificateSpec {
    /// How long API servers may take to load a changed CA bundle: they watch these objects, so that a healthy one needs seconds.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(60).min(self.lifetimes.leaf / 12)
    }

    /// How long an old CA stays trusted after its last leaf was replaced: a replica that lost its watch presents the old leaf until it
    /// re-lists the Secret, within ten minutes.
    pub fn overlap(&self) -> Duration {
        Duration::from_secs(60 * 60).min(self.lifetimes.leaf / 3)
    }
}

/// How far a certificate of this lifetime is backdated: clocks differ.
pub(crate) fn backdating(lifetime: Duration) -> Duration {
    // KEDA: an hour. A short-lived certificate must not be due for renewal at its issue.
    Duration::from_secs(60 * 60).min(lifetime / 4)
}

/// The DNS names of services: the name alone, with its namespace, with `svc`, and with the cluster domain.
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
    fn each_service_has_all_forms_of_its_name_once() {
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
    fn periods_follow_from_the_lifetimes() {
        let with_leaf =
            |leaf| CertificateSpec { names: Vec::new(), lifetimes: Lifetimes { leaf, ..Lifetimes::default() } };
        let seconds = |spec: CertificateSpec| (spec.grace().as_secs(), spec.overlap().as_secs());
        assert_eq!(seconds(with_leaf(Lifetimes::default().leaf)), (60, 3600));
        assert_eq!(seconds(with_leaf(Duration::from_secs(60))), (5, 20));
        assert_eq!(backdating(Duration::from_secs(60)), Duration::from_secs(15));
    }
}
