//! Which parameters are valid, and the names and targets of metrics.

use super::super::fake::FakeCluster;
use crate::sample::Sample;
use crate::trigger::Role;

fn group() -> Sample {
    Sample::new("kafka").with("bootstrapServers", "bootstrap:9092").with("consumerGroup", "workers")
}

fn orders() -> Sample {
    group().with("topic", "orders")
}

fn apache() -> Sample {
    Sample::new("apache-kafka").with("bootstrapServers", "bootstrap:9092").with("consumerGroup", "workers")
}

#[test]
fn parameters_are_checked_together() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let plain = || orders().with("sasl", "plaintext").auth("username", "u").auth("password", "hunter2");
    let oauth = || plain().with("sasl", "oauthbearer").auth("oauthTokenEndpointUri", "https://login/token");
    let msk = || {
        orders()
            .with("sasl", "oauthbearer")
            .with("saslTokenProvider", "aws_msk_iam")
            .with("tls", "enable")
            .with("awsRegion", "eu-west-1")
    };
    let with_keys = |sample: Sample| sample.auth("awsAccessKeyID", "A").auth("awsSecretAccessKey", "hunter2");
    let even = |sample: Sample| sample.with("ensureEvenDistributionOfPartitions", "true");
    let limited = |sample: Sample| sample.with("limitToPartitionsWithLag", "true");
    let rows: Vec<(&str, Sample, &[&str])> = vec![
        ("complete", orders(), &[]),
        ("from the environment", group().environment("T", "orders").with("topicFromEnv", "T"), &[]),
        ("empty elements", orders().with("bootstrapServers", "a:1,, b:2,"), &[]),
        (
            "only empty elements",
            orders().with("bootstrapServers", ", ,"),
            &["`bootstrapServers` \", ,\" names no server"],
        ),
        ("a server without a port, apache", apache().with("bootstrapServers", "a,b:2"), &[]),
        (
            "a server without a usable port, apache",
            apache().with("bootstrapServers", "a:b"),
            &["`bootstrapServers` \"a:b\" has no usable port"],
        ),
        ("several servers", orders().with("bootstrapServers", "a:1, b:2"), &[]),
        ("nothing", Sample::new("kafka"), &["`bootstrapServers` is missing", "`consumerGroup` is missing"]),
        (
            "a server without a port",
            orders().with("bootstrapServers", "a:1,b"),
            &["`bootstrapServers` \"a:1,b\" has no port"],
        ),
        ("no lag", orders().with("lagThreshold", "0"), &["`lagThreshold` is not above 0"]),
        (
            "no lag, for a formula",
            orders().with("lagThreshold", "0").role(Role::FormulaInput),
            &["`lagThreshold` is not above 0"],
        ),
        (
            "a lag that is no number",
            orders().with("lagThreshold", "1.5"),
            &["`lagThreshold` \"1.5\" is not an integer"],
        ),
        (
            "activation below 0",
            orders().with("activationLagThreshold", "-1"),
            &["`activationLagThreshold` is negative"],
        ),
        (
            "another policy",
            orders().with("offsetResetPolicy", "none"),
            &["`offsetResetPolicy` \"none\" is not among the allowed values; use latest, earliest"],
        ),
        ("partitions", orders().with("partitionLimitation", "1, 3,5-9"), &[]),
        (
            "no partitions",
            orders().with("partitionLimitation", "a"),
            &["`partitionLimitation` \"a\" is not a list of partitions"],
        ),
        ("a range that is none", orders().with("partitionLimitation", "1-2-3"), &["`partitionLimitation`"]),
        ("a reversed range", orders().with("partitionLimitation", "9-5"), &["`partitionLimitation`"]),
        (
            "idle and limited",
            limited(orders()).with("allowIdleConsumers", "true"),
            &["`allowIdleConsumers` and `limitToPartitionsWithLag`"],
        ),
        ("limited without a topic", limited(group()), &["`limitToPartitionsWithLag` needs `topic`"]),
        (
            "even and limited",
            even(limited(orders())),
            &["and `ensureEvenDistributionOfPartitions` cannot be true together"],
        ),
        ("even and limited, apache", even(limited(apache().with("topic", "a"))), &[]),
        ("even without a topic", even(group()), &["`ensureEvenDistributionOfPartitions` needs `topic`"]),
        ("even without a topic, apache", even(apache()), &[]),
        ("not full, without a topic", group().with("fullMetadata", "false"), &["`fullMetadata` needs `topic`"]),
        ("not full", orders().with("fullMetadata", "false"), &[]),
        ("versions", orders().with("version", "2.8.0"), &[]),
        ("old versions", orders().with("version", "0.11.0.2"), &[]),
        ("a version of two numbers", orders().with("version", "2.8"), &["`version` \"2.8\" is not a version of Kafka"]),
        ("a version of three numbers before 1", orders().with("version", "0.11.0"), &["`version`"]),
        ("an empty topic, apache", apache().with("topic", "a,,b,"), &[]),
        ("only empty topics, apache", apache().with("topic", ", ,"), &["`topic` names no topic"]),
        ("a topic twice, apache", apache().with("topic", "a,a"), &[]),
        ("the longest topic", orders().with("topic", &"o".repeat(249)), &[]),
        ("a topic that Kafka cannot have", orders().with("topic", &"o".repeat(250)), &["is longer than 249 bytes"]),
        (
            "one of several, apache",
            apache().with("topic", &format!("a,{}", "o".repeat(250))),
            &["is longer than 249 bytes"],
        ),
        (
            "a group that no request can have",
            orders().with("consumerGroup", &"g".repeat(32_768)),
            &["is longer than 32767 bytes"],
        ),
        ("no user", orders().with("sasl", "plaintext"), &["`username` is missing", "`password` is missing"]),
        ("a user", plain(), &[]),
        ("scram", plain().with("sasl", "scram_sha256"), &[]),
        ("an unknown mechanism", plain().with("sasl", "PLAIN"), &["`sasl` \"PLAIN\" is not among the allowed values"]),
        ("kerberos", plain().with("sasl", "gssapi"), &["`sasl` is gssapi, which is not supported", "use that"]),
        ("kerberos, apache", apache().with("sasl", "gssapi"), &["`sasl` is gssapi, which is not supported"]),
        ("no bearer tokens, apache", apache().with("sasl", "oauthbearer"), &["`sasl` \"oauthbearer\" is not among"]),
        ("oauth", oauth(), &[]),
        ("oauth with all", oauth().auth("scopes", "a,b").auth("oauthExtensions", "a=b,c=d"), &[]),
        ("oauth without an endpoint", plain().with("sasl", "oauthbearer"), &["`oauthTokenEndpointUri` is missing"]),
        ("oauth at no URL", oauth().auth("oauthTokenEndpointUri", "login"), &["`oauthTokenEndpointUri`"]),
        (
            "an extension that is none",
            oauth().auth("oauthExtensions", "a"),
            &["`oauthExtensions` is not a list of key=value"],
        ),
        (
            "an extension that replaces the token",
            oauth().auth("oauthExtensions", "auth=x"),
            &["`oauthExtensions` has an extension that cannot be sent"],
        ),
        ("tls", orders().with("tls", "enable"), &[]),
        ("tls from authentication", orders().auth("tls", "enable"), &[]),
        ("no switch", orders().with("tls", "true"), &["`tls` \"true\" is not among the allowed values"]),
        ("half a pair", orders().with("tls", "enable").auth("cert", "x"), &["`key` is missing, and `cert` is given"]),
        (
            "the other half",
            apache().with("tls", "enable").auth("key", "hunter2"),
            &["`cert` is missing, and `key` is given"],
        ),
        ("half a pair without tls", orders().auth("cert", "x"), &[]),
        ("no CA", orders().with("tls", "enable").auth("ca", "hunter2"), &["`ca` holds no usable certificate"]),
        (
            "tls in two places, apache",
            apache().with("tls", "enable").auth("tls", "enable"),
            &["`tls` is given in the trigger's metadata and in its TriggerAuthentication"],
        ),
        (
            "sasl in two places, apache",
            apache().with("sasl", "none").auth("sasl", "none"),
            &["`sasl` is given in the trigger's metadata"],
        ),
        ("sasl in two places", orders().with("sasl", "none").auth("sasl", "none"), &[]),
        ("aws", with_keys(msk()), &[]),
        (
            "aws, apache",
            with_keys(apache().with("sasl", "aws_msk_iam").with("tls", "enable").with("awsRegion", "eu-west-1")),
            &[],
        ),
        (
            "aws without tls",
            with_keys(msk().with("tls", "disable")),
            &["`tls` is not enabled, and identities of AWS need it"],
        ),
        ("aws without a region", with_keys(msk().without("awsRegion")), &["`awsRegion` is missing"]),
        ("aws without an identity", msk(), &["`awsAccessKeyID` is missing, and so is every other identity"]),
    ];
    for (name, sample, expected) in rows {
        let text = registry.build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        for part in expected {
            assert!(text.contains(part), "{name}: {text}");
        }
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_and_targets_are_those_of_keda() {
    let registry = FakeCluster::new().registry();
    let rows = [
        (orders(), "s0-kafka-orders", "10"),
        (orders().with("topic", "orders.v1").with("lagThreshold", "1000").index(2), "s2-kafka-orders-v1", "1k"),
        (group(), "s0-kafka-workers-topics", "10"),
        (apache().with("topic", "a,b"), "s0-kafka-a,b", "10"),
        (apache().with("topic", "a, a,"), "s0-kafka-a,a,", "10"),
        (apache(), "s0-kafka-workers-topics", "10"),
    ];
    for (sample, name, target) in rows {
        let specs = registry.build(&sample.trigger()).unwrap().describe().await.unwrap();
        let external = specs[0].external.as_ref().unwrap();
        assert_eq!(external.metric.name, name);
        assert_eq!(external.target.average_value.as_ref().unwrap().0, target, "{sample:?}");
    }
}
