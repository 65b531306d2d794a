use super::*;
use crate::CloudEnvironment;
use crate::trigger::{Resolution, Role};

/// Parts of messages that are expected; none where the trigger is valid.
type Row = (&'static str, Sample, &'static [&'static str]);

fn assert_rows(rows: Vec<Row>) {
    let registry = registry(Connector::tcp());
    for (name, sample, expected) in rows {
        let text = registry.build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        assert!(expected.iter().all(|part| text.contains(part)), "{name}: {text}");
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
}

fn rate(sample: Sample, mode: &str) -> Sample {
    sample.with("mode", mode).with("value", "5")
}

#[test]
fn what_scales_is_checked() {
    assert_rows(vec![
        ("complete", over_http(), &[]),
        ("complete over AMQP", over_amqp(), &[]),
        ("the old way", over_amqp().with("queueLength", "5"), &[]),
        ("a mode", rate(over_http(), "MessageRate"), &[]),
        ("the mode of AMQP", rate(over_amqp(), "QueueLength"), &[]),
        ("no queue", over_http().without("queueName"), &["`queueName` is missing"]),
        ("a mode alone", over_http().with("mode", "MessageRate"), &["`value` must be specified"]),
        ("a value alone", over_http().with("value", "5"), &["`mode` must be specified"]),
        ("a value of 0", over_http().with("mode", "QueueLength").with("value", "0"), &["`value` must be specified"]),
        ("old and new", rate(over_http(), "QueueLength").with("queueLength", "5"), &["`queueLength` is deprecated"]),
        (
            "no such mode",
            rate(over_http(), "queueLength"),
            &["`mode` \"queueLength\" is not a mode; use QueueLength, "],
        ),
        (
            "a rate over AMQP",
            rate(over_amqp(), "MessageRate"),
            &["`mode` asks for rates, which only the management API"],
        ),
        ("below zero", over_http().with("queueLength", "-1"), &["`queueLength` is not above 0"]),
        ("below zero, for a formula", over_http().with("queueLength", "-1").role(Role::FormulaInput), &[]),
        ("half a message", over_http().with("queueLength", "0.5").with("activationValue", "0.5"), &[]),
        ("a regular expression", over_http().with("useRegex", "true").with("operation", "avg"), &[]),
        ("one over AMQP", over_amqp().with("useRegex", "true"), &["`useRegex` is true, which only the management API"]),
        (
            "no operation",
            over_http().with("useRegex", "true").with("operation", "min"),
            &["`operation` \"min\" is not"],
        ),
        ("an operation for nothing", over_http().with("operation", "min"), &[]),
        ("no page", over_http().with("pageSize", "0"), &["`pageSize` \"0\" is below 1"]),
        (
            "ready ones over AMQP",
            over_amqp().with("excludeUnacknowledged", "true"),
            &["`excludeUnacknowledged` is true"],
        ),
        (
            "a timeout over AMQP",
            rate(over_amqp(), "QueueLength").with("timeout", "5s"),
            &["`timeout` is not supported"],
        ),
        ("a timeout without effect", over_amqp().with("timeout", "5s"), &[]),
        ("a timeout of zero", rate(over_amqp(), "QueueLength").with("timeout", "0"), &[]),
        ("a metric type", over_http().metric_type("Utilization"), &["`metricType`"]),
    ]);
    let long = "x".repeat(256);
    assert_rows(vec![
        ("a long queue", over_amqp().with("queueName", &long), &["`queueName` is longer than 255 bytes"]),
        ("a long vhost", over_amqp().with("vhostName", &long), &["`vhostName` is longer than 255 bytes"]),
        ("a long queue over HTTP", over_http().with("queueName", &long), &[]),
    ]);
}

#[test]
fn where_and_as_whom_is_checked() {
    let oauth = || over_http().auth("oauthTokenURI", "https://login/token").auth("clientID", "c");
    let amqp_oauth = over_amqp().auth("oauthTokenURI", "https://l/t").auth("clientID", "c").auth("clientSecret", "s");
    let host = |host: &str| over_http().with("host", host);
    assert_rows(vec![
        ("no host", over_http().without("host"), &["`host` is missing"]),
        ("a host of authentication", over_http().without("host").auth("host", "amqp://u:hunter2@r"), &[]),
        ("no scheme", host("user:hunter2@rabbit:5672"), &["`host` does not begin with amqp://"]),
        ("another scheme", host("ftp://user:hunter2@rabbit"), &["`host` does not begin with amqp://"]),
        ("the protocol fits", over_http().with("protocol", "http"), &[]),
        (
            "it does not",
            over_http().with("protocol", "amqp"),
            &["`protocol` does not fit `host`, which begins with http:"],
        ),
        ("no protocol", over_http().with("protocol", "mqtt"), &["`protocol` \"mqtt\" is not among"]),
        ("a port that is none", host("amqp://user:hunter2@rabbit:x/"), &["`host` has no usable port; write amqp://"]),
        ("another over HTTP", host("http://user:hunter2@rabbit:x/"), &["`host` has no usable port; write amqp://"]),
        ("a query", host("http://user:hunter2@rabbit/?x=1"), &["`host` has a query"]),
        ("an escape that is none", host("http://user:hunter2@rabbit/%zz"), &["`host` has a `%`"]),
        ("one over AMQP", host("amqp://user:hunter2%@rabbit/"), &["`host` has a `%`"]),
        ("a query over AMQP", host("amqp://user:hunter2@rabbit/?x=%"), &[]),
        ("a user alone", over_http().auth("username", "u"), &["`password` is missing, and `username` is given"]),
        ("a password alone", over_http().auth("password", "hunter2"), &["`username` is missing"]),
        ("a user", over_http().auth("username", "u").auth("password", "hunter2"), &[]),
        ("half a pair", over_amqp().auth("cert", "hunter2"), &["`key` is missing, and `cert` is given"]),
        ("no switch", over_amqp().auth("tls", "true"), &["`tls` is not among the allowed values"]),
        (
            "a CA that is none",
            over_amqp().with("host", "amqps://r").auth("tls", "enable").auth("ca", "hunter2"),
            &["`ca` holds no usable certificate"],
        ),
        ("a CA without effect", over_amqp().with("host", "amqps://r").auth("ca", "hunter2"), &[]),
        ("OAuth by its parameters", oauth().auth("clientSecret", "hunter2"), &[]),
        ("OAuth without a secret", oauth(), &["`clientSecret` is missing"]),
        ("OAuth by its mode", over_http().with("authModes", "oauth"), &["`oauthTokenURI` is missing", "`clientID` is"]),
        (
            "OAuth switched off",
            oauth().with("authModes", "basic").auth("username", "u").auth("password", "hunter2"),
            &[],
        ),
        ("a mode without a user", over_http().with("authModes", "basic"), &["`username` is missing"]),
        ("a mode without a pair", over_http().with("authModes", "tls"), &["`cert` is missing", "`key` is missing"]),
        (
            "a mode that is not supported",
            over_http().with("authModes", "bearer"),
            &["supported modes: [oauth basic tls]"],
        ),
        ("OAuth over AMQP", amqp_oauth, &["`oauthTokenURI` is given, which only the management API"]),
        (
            "OAuth and a user",
            oauth().auth("clientSecret", "s").auth("username", "u").auth("password", "hunter2"),
            &["keep one way to sign in"],
        ),
        (
            "an identity over AMQP",
            over_amqp().auth("workloadIdentityResource", "r"),
            &["`workloadIdentityResource` is given, which only"],
        ),
        ("an identity that is not there", over_http().auth("workloadIdentityResource", "r"), &["AZURE_CLIENT_ID"]),
    ]);
}

#[test]
fn a_check_knows_what_may_come_later() {
    let manifest = Sample::new("rabbitmq").with("hostFromEnv", "HOST").with("queueName", "q");
    let registry = registry(Connector::tcp());
    for (name, sample, expected) in [
        ("a host of the environment", rate(manifest.clone(), "MessageRate"), None),
        ("named as AMQP", rate(manifest.clone().with("protocol", "amqp"), "MessageRate"), Some("mode")),
        ("no mode", manifest.with("value", "5"), Some("mode")),
    ] {
        let errors = registry.check(&sample.resolution(Resolution::ManifestWithAuthentication).trigger());
        assert_eq!(errors.first().map(|error| error.field.as_str()), expected, "{name}: {errors:?}");
    }
}

#[tokio::test]
async fn names_and_targets_are_those_of_keda() {
    let rows = [
        (over_http(), "s1-rabbitmq-orders", "20"),
        (over_http().with("queueLength", "2.5"), "s1-rabbitmq-orders", "2.500"),
        (rate(over_http(), "MessageRate").with("queueName", "a b/c*~"), "s1-rabbitmq-a+b-2Fc-2A~", "5"),
    ];
    for (sample, name, target) in rows {
        let scaler = registry(Connector::tcp()).build(&sample.index(1).trigger()).unwrap();
        let external = scaler.describe().await.unwrap().remove(0).external.unwrap();
        assert_eq!((external.metric.name.as_str(), external.target.average_value.unwrap().0.as_str()), (name, target));
        assert_eq!(scaler.host().as_deref(), Some("rabbit:15672"));
    }
}

#[test]
fn a_workload_identity_needs_the_variables_of_its_webhook() {
    let variables = [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "/token")];
    let cloud_environment: CloudEnvironment = variables.into_iter().collect();
    let settings = Settings { cloud_environment, ..Settings::default() };
    let registry = Registry::new(settings, Connector::tcp(), Arc::new(NoCluster));
    registry.build(&over_http().auth("workloadIdentityResource", "api://rabbit").trigger()).unwrap();
}
