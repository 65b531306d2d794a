//! What only `kedge lint` says of objects that work, and would be better otherwise.

use kedge_api::ScaledObject;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::TriggerClass;
use kedge_scalers::{AUTH_MODES, keda, registry};
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};

use super::{annotations, parameters};

pub(super) static SECRET_IN_METADATA: Rule = Rule {
    id: "secret-in-metadata",
    severity: Severity::Warning,
    about: "a password or token stands in a trigger as plain text",
    counted_as: None,
};

pub(super) static CREDENTIALS_IN_THE_CLEAR: Rule = Rule {
    id: "credentials-in-the-clear",
    severity: Severity::Warning,
    about: "credentials are sent over a connection without TLS",
    counted_as: None,
};

pub(super) static NO_FALLBACK: Rule = Rule {
    id: "no-fallback",
    severity: Severity::Advice,
    about: "a source may fail, and nothing says how many replicas there are to be then",
    counted_as: None,
};

pub(super) static NO_MAXIMUM: Rule = Rule {
    id: "no-maximum",
    severity: Severity::Advice,
    about: "there is no maxReplicaCount: it is 100",
    counted_as: None,
};

/// All advice on a ScaledObject.
pub(super) fn scaled_object(object: &ScaledObject) -> Vec<Finding> {
    let spec = &object.spec;
    let mut findings = annotations::check(object.metadata.annotations.as_ref());
    findings.extend(triggers(&spec.triggers));
    if spec.fallback.is_none() && spec.triggers.iter().any(asks_a_source) {
        findings.push(say(
            &NO_FALLBACK,
            FieldPath::of("spec.fallback"),
            "is not set: while a source does not answer, replicas stay as they are",
            "set failureThreshold and replicas if that is not what you want",
        ));
    }
    if spec.max_replica_count.is_none() {
        findings.push(say(
            &NO_MAXIMUM,
            FieldPath::of("spec.maxReplicaCount"),
            "is not set: up to 100 replicas may run",
            "set what the cluster and what lies behind the target can bear",
        ));
    }
    findings
}

/// All advice on a ScaledJob.
pub(super) fn scaled_job(job: &ScaledJob) -> Vec<Finding> {
    let mut findings = annotations::check(job.metadata.annotations.as_ref());
    findings.extend(triggers(&job.spec.triggers));
    findings
}

/// All advice on triggers, wherever they stand.
fn triggers(triggers: &[Trigger]) -> Vec<Finding> {
    let advice = |(index, trigger)| {
        let mut findings = parameters::check(index, trigger);
        findings.extend(secrets(index, trigger));
        findings.extend(in_the_clear(index, trigger));
        findings
    };
    triggers.iter().enumerate().flat_map(advice).collect()
}

fn secrets(index: usize, trigger: &Trigger) -> Vec<Finding> {
    let is_secret = |key: &str, value: &str| keda::is_secret_parameter(key) && !value.is_empty() || has_password(value);
    let given = trigger.metadata.iter().filter(|(key, value)| is_secret(key, value));
    let told = given.map(|(key, _)| {
        say(
            &SECRET_IN_METADATA,
            metadata(index, key),
            "holds a secret as plain text, for everybody who can read the object",
            "put it into a Secret, and refer to it by a TriggerAuthentication",
        )
    });
    told.collect()
}

/// Whether a text is a URL with a user and a password in it.
fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

fn in_the_clear(index: usize, trigger: &Trigger) -> Option<Finding> {
    let modes = AUTH_MODES.names().find_map(|name| trigger.metadata.get(name))?;
    let (field, url) = trigger.metadata.iter().find(|(key, _)| keda::is_url_parameter(key))?;
    let is_plain = url.starts_with("http://");
    (is_plain && !modes.trim().is_empty()).then(|| {
        say(
            &CREDENTIALS_IN_THE_CLEAR,
            metadata(index, field),
            "credentials are sent to it without TLS",
            "use https, or leave the credentials away",
        )
    })
}

/// Whether a trigger depends on something that may fail.
fn asks_a_source(trigger: &Trigger) -> bool {
    registry::class_of(&trigger.r#type).is_none_or(TriggerClass::queries_a_source)
}

fn metadata(index: usize, key: &str) -> FieldPath {
    FieldPath::of("spec.triggers").index(index).key("metadata").key(key)
}

fn say(rule: &'static Rule, path: FieldPath, problem: &str, remedy: &str) -> Finding {
    Finding { rule, path, problem: problem.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
