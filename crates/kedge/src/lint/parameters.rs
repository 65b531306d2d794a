//! Parameters of triggers that are almost right. Nobody refuses them: an optional one that is misspelt has simply no effect.

use kedge_api::trigger::Trigger;
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use kedge_webhooks::nearest::nearest;

pub(super) static PARAMETER_MISSPELT: Rule = Rule {
    id: "parameter-misspelt",
    severity: Severity::Warning,
    about: "a parameter of a trigger is almost that of another name, and has no effect as it is",
    counted_as: None,
};

/// The parameters of each type. External scalers are given all there are, so that any may have a meaning.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("cpu", &["type", "value", "containerName"]),
    ("memory", &["type", "value", "containerName"]),
    ("cron", &["timezone", "start", "end", "desiredReplicas"]),
    ("kubernetes-workload", &["podSelector", "value", "activationValue", "groupByNode"]),
    (
        "metrics-api",
        &[
            "url",
            "valueLocation",
            "targetValue",
            "activationTargetValue",
            "format",
            "method",
            "unsafeSsl",
            "aggregateFromKubeServiceEndpoints",
            "aggregationType",
            "timeout",
            "authMode",
            "authModes",
            "keyParamName",
            "apiKey",
        ],
    ),
    (
        "prometheus",
        &[
            "serverAddress",
            "query",
            "queryParameters",
            "threshold",
            "activationThreshold",
            "namespace",
            "customHeaders",
            "ignoreNullValues",
            "unsafeSsl",
            "timeout",
            "authMode",
            "authModes",
            "awsRegion",
            "identityOwner",
            "azureManagedPrometheusResourceURL",
        ],
    ),
];

pub(super) fn check(index: usize, trigger: &Trigger) -> Vec<Finding> {
    let known = PARAMETERS.iter().find(|(kind, _)| *kind == trigger.r#type).map_or(&[][..], |(_, known)| *known);
    let meant = |key: &str| {
        let (name, source) = key.strip_suffix("FromEnv").map_or((key, ""), |name| (name, "FromEnv"));
        let meant = if known.contains(&name) { None } else { nearest(name, known.iter().copied()) };
        meant.map(|meant| format!("{meant}{source}"))
    };
    let told = trigger.metadata.keys().filter_map(|key| Some((key, meant(key)?))).map(|(key, meant)| {
        let path = FieldPath::of("spec.triggers").index(index).key("metadata").key(key);
        let problem = format!("is no parameter of a {} trigger, and has no effect", trigger.r#type);
        Finding::new(&PARAMETER_MISSPELT, path, problem, format!("write {meant}"))
    });
    told.collect()
}
