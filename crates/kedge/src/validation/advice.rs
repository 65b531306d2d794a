//! Advice: the rules of `kedge lint` for objects that work and could be better.

use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::trigger::Trigger;
use kedge_core::outbound_policy::OutboundPolicy;
use kedge_core::trigger_class::TriggerClass;
use kedge_operator::credentials::resolve::{UNSUPPORTED_REMEDY, unsupported};
use kedge_scalers::{AUTH_MODES, keda, registry};
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};

use super::{annotations, parameters};

pub(super) static SECRET_IN_METADATA: Rule = Rule {
    id: "secret-in-metadata",
    severity: Severity::Warning,
    about: "a trigger has a password or token as plain text",
    counted_as: None,
};

pub(super) static CREDENTIALS_WITHOUT_TLS: Rule = Rule {
    id: "credentials-without-tls",
    severity: Severity::Warning,
    about: "credentials are sent over a connection without TLS",
    counted_as: None,
};

pub(super) static DENIED_DESTINATION: Rule = Rule {
    id: "denied-destination",
    severity: Severity::Warning,
    about: "a trigger queries an address that the operator's outbound policy denies by default",
    counted_as: None,
};

pub(super) static UNSUPPORTED_KIND: Rule = Rule {
    id: "unsupported-kind",
    severity: Severity::Warning,
    about: "KEDA has this kind, and Kedge stores it but does nothing with it yet",
    counted_as: None,
};

pub(super) static UNSUPPORTED_STORE: Rule = Rule {
    id: "unsupported-store",
    severity: Severity::Warning,
    about: "KEDA reads credentials from this store, Kedge does not yet: triggers that need them will not work",
    counted_as: None,
};

pub(super) static NO_FALLBACK: Rule = Rule {
    id: "no-fallback",
    severity: Severity::Advice,
    about: "a source may fail, and no fallback sets the replicas for that case",
    counted_as: None,
};

pub(super) static NO_MAX_REPLICAS: Rule = Rule {
    id: "no-max-replicas",
    severity: Severity::Advice,
    about: "maxReplicaCount is not set, and defaults to 100",
    counted_as: None,
};

/// All advice on a ScaledObject.
pub(super) fn scaled_object(object: &ScaledObject) -> Vec<Violation> {
    let spec = &object.spec;
    let mut violations = annotations::check(object.metadata.annotations.as_ref());
    violations.extend(triggers(&spec.triggers));
    if spec.fallback.is_none() && spec.triggers.iter().any(queries_a_source) {
        violations.push(violation(
            &NO_FALLBACK,
            FieldPath::new("spec.fallback"),
            "is not set: while a source does not answer, replicas stay as they are",
            "set failureThreshold and replicas if that is not what you want",
        ));
    }
    if spec.max_replica_count.is_none() {
        violations.push(violation(
            &NO_MAX_REPLICAS,
            FieldPath::new("spec.maxReplicaCount"),
            "is not set: up to 100 replicas may run",
            "set what the cluster and the dependencies of the target can bear",
        ));
    }
    violations
}

/// That Kedge does nothing with objects of this kind.
pub(super) fn unsupported_kind(kind: &str) -> Violation {
    let problem = format!("Kedge does nothing with a {kind} yet");
    violation(&UNSUPPORTED_KIND, FieldPath::new("kind"), &problem, "keep KEDA for it, or wait with it")
}

/// All advice on an authentication object.
pub(super) fn authentication(spec: &TriggerAuthenticationSpec) -> Vec<Violation> {
    let stores = unsupported(spec).map(|field| {
        let path = FieldPath::new("spec").key(field);
        violation(&UNSUPPORTED_STORE, path, "Kedge does not read from this store yet", UNSUPPORTED_REMEDY)
    });
    stores.collect()
}

/// All advice on a ScaledJob.
pub(super) fn scaled_job(job: &ScaledJob) -> Vec<Violation> {
    let mut violations = vec![unsupported_kind("ScaledJob")];
    violations.extend(annotations::check(job.metadata.annotations.as_ref()));
    violations.extend(triggers(&job.spec.triggers));
    violations
}

/// All advice on triggers.
fn triggers(triggers: &[Trigger]) -> Vec<Violation> {
    let advice = |(index, trigger)| {
        let mut violations = parameters::check(index, trigger);
        violations.extend(secrets(index, trigger));
        violations.extend(without_tls(index, trigger));
        violations.extend(denied_destinations(index, trigger));
        violations
    };
    triggers.iter().enumerate().flat_map(advice).collect()
}

fn secrets(index: usize, trigger: &Trigger) -> Vec<Violation> {
    let is_secret = |key: &str, value: &str| keda::is_secret_parameter(key) && !value.is_empty() || has_password(value);
    let given = trigger.metadata.iter().filter(|(key, value)| is_secret(key, value));
    let found = given.map(|(key, _)| {
        violation(
            &SECRET_IN_METADATA,
            metadata(index, key),
            "holds a secret as plain text, readable to everyone who can read the object",
            "put it into a Secret, and refer to it by a TriggerAuthentication",
        )
    });
    found.collect()
}

/// Addresses of the operator's machine, which hold credentials, are denied to triggers unless the administrator allows them.
fn denied_destinations(index: usize, trigger: &Trigger) -> Vec<Violation> {
    let policy = OutboundPolicy::default();
    let denied = trigger
        .metadata
        .iter()
        .filter(|(_, value)| url_host(value).is_some_and(|host| policy.check_host(host).is_err()));
    let found = denied.map(|(key, _)| {
        violation(
            &DENIED_DESTINATION,
            metadata(index, key),
            "leads to a metadata or link-local address, which the operator does not connect to by default",
            "query the source itself, or let the administrator allow the address in the outbound policy",
        )
    });
    found.collect()
}

/// The host and port of a URL, with its user.
fn url_authority(text: &str) -> Option<&str> {
    text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next())
}

/// The host of a URL.
fn url_host(text: &str) -> Option<&str> {
    let authority = url_authority(text)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some(match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    })
}

/// Whether a text is a URL with a user and a password in it.
fn has_password(text: &str) -> bool {
    let authority = url_authority(text);
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

fn without_tls(index: usize, trigger: &Trigger) -> Option<Violation> {
    let modes = AUTH_MODES.names().find_map(|name| trigger.metadata.get(name))?;
    let (field, url) = trigger.metadata.iter().find(|(key, _)| keda::is_url_parameter(key))?;
    let is_plain = url.starts_with("http://");
    (is_plain && !modes.trim().is_empty()).then(|| {
        violation(
            &CREDENTIALS_WITHOUT_TLS,
            metadata(index, field),
            "credentials are sent to it without TLS",
            "use https, or remove the credentials",
        )
    })
}

/// Whether a trigger depends on a source that may fail.
fn queries_a_source(trigger: &Trigger) -> bool {
    registry::class_of(&trigger.r#type).is_none_or(TriggerClass::queries_a_source)
}

fn metadata(index: usize, key: &str) -> FieldPath {
    FieldPath::new("spec.triggers").index(index).key("metadata").key(key)
}

fn violation(rule: &'static Rule, path: FieldPath, problem: &str, remedy: &str) -> Violation {
    Violation { rule, path, problem: problem.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_found() {
        let rows = [
            ("http://169.254.169.254/latest", Some("169.254.169.254")),
            ("https://me:s3cret@prometheus:9090?x", Some("prometheus")),
            ("http://[fe80::1]:80", Some("[fe80::1]")),
            ("http://[fe80::1]", Some("[fe80::1]")),
            ("prometheus:9090", None),
        ];
        for (text, expected) in rows {
            assert_eq!(url_host(text), expected, "{text}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_found() {
        let rows = [
            ("amqp://guest:s3cret@rabbitmq:5672/vhost", true),
            ("https://me:s3cret@prometheus", true),
            ("https://me@prometheus:9090", false),
            ("https://me:@prometheus:9090", false),
            ("https://prometheus:9090/a:b@c", false),
            ("http://prometheus:9090?to=a:b@c", false),
            ("me:s3cret@prometheus", false),
            ("sum(up)", false),
        ];
        for (text, expected) in rows {
            assert_eq!(has_password(text), expected, "{text}");
        }
    }
}
