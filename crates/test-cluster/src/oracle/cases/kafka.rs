//! Cases of the Kafka triggers. `kafka` of KEDA connects while it builds, `apache-kafka` only to read. A case `refused: …` is one that
//! the brokers refuse.

use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, INTEGERS, NAMES, Place, common, give, places, sweep, sweep_in};

const TYPES: [&str; 2] = ["kafka", "apache-kafka"];

/// Topics: how many messages each partition got, and how many of them were deleted.
pub(in crate::oracle) const TOPICS: [(&str, &[(i32, i64)]); 5] = [
    ("orders", &[(100, 0), (20, 0), (0, 0)]),
    ("payments", &[(7, 0)]),
    ("kept", &[(40, 30), (10, 0)]),
    ("empty", &[(0, 0), (0, 0)]),
    ("eight", &[(5, 0), (5, 0), (5, 0), (5, 0), (0, 0), (0, 0), (0, 0), (0, 0)]),
];

/// What a group has committed: topic, partition, offset.
type Commits = &'static [(&'static str, i32, i64)];

/// What groups committed: topic, partition, offset.
pub(in crate::oracle) const COMMITS: [(&str, Commits); 8] = [
    ("done", &[("orders", 0, 100), ("orders", 1, 20), ("orders", 2, 0), ("payments", 0, 7)]),
    ("behind", &[("orders", 0, 90), ("orders", 1, 15), ("orders", 2, 0), ("payments", 0, 5)]),
    ("partly", &[("orders", 0, 50)]),
    ("ahead", &[("orders", 0, 150), ("orders", 1, 10), ("orders", 2, 0)]),
    ("far", &[("orders", 0, 0), ("orders", 1, 0), ("orders", 2, 0)]),
    ("kept", &[("kept", 0, 35), ("kept", 1, 0)]),
    ("before", &[("kept", 0, 10), ("kept", 1, 10)]),
    (
        "eight",
        &[
            ("eight", 0, 0),
            ("eight", 1, 1),
            ("eight", 2, 2),
            ("eight", 3, 5),
            ("eight", 4, 0),
            ("eight", 5, 0),
            ("eight", 6, 0),
            ("eight", 7, 0),
        ],
    ),
];

fn base(trigger_type: &str) -> Case {
    let metadata = [("bootstrapServers", "${kafka}"), ("consumerGroup", "behind"), ("topic", "orders")];
    Case::new(trigger_type).with_all(&metadata)
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for trigger_type in TYPES {
        let base = base(trigger_type);
        cases.extend(parameters(&base));
        cases.extend(combinations(&base));
        cases.extend(credentials(&base));
        cases.extend(readings(&base));
    }
    cases.extend(only_of_kafka(&base("kafka")));
    cases.extend(oauth(&base("kafka")));
    cases.extend(msk(&base("apache-kafka")));
    cases
}

fn parameters(base: &Case) -> Vec<Case> {
    let mut cases = sweep(base, "lagThreshold", INTEGERS);
    cases.extend(sweep(base, "activationLagThreshold", INTEGERS));
    cases.extend(sweep(base, "topic", NAMES));
    cases.extend(sweep(base, "consumerGroup", NAMES));
    let no_topic = base.clone().without("topic").named("no topic");
    cases.extend(sweep(&no_topic, "consumerGroup", NAMES));
    for flag in [
        "allowIdleConsumers",
        "excludePersistentLag",
        "scaleToZeroOnInvalidOffset",
        "limitToPartitionsWithLag",
        "ensureEvenDistributionOfPartitions",
    ] {
        cases.extend(sweep(base, flag, BOOLEANS));
        cases.push(give(&no_topic, flag, Place::Metadata, "true"));
    }
    cases.extend(sweep(
        base,
        "offsetResetPolicy",
        &["", " ", "latest", "earliest", "Latest", "EARLIEST", "none", "latest,earliest", " latest "],
    ));
    let partitions = [
        "",
        " ",
        "0",
        "1,2",
        "0-2",
        "1,3,5-9",
        " 0 , 1 - 2 ",
        "2-1",
        "-1",
        "1-",
        "-",
        "1-2-3",
        "a",
        "1,,2",
        "1,",
        "1;2",
        "2147483647",
        "2147483648",
        "0-0",
        "+1",
        "01",
        "1.0",
        "0x1",
        "3000000000-3000000001",
    ];
    cases.extend(sweep(base, "partitionLimitation", &partitions));
    cases.extend(sweep_in(&no_topic, "partitionLimitation", Place::Metadata, &["1", "0-2", "a", "1-2-3"]));
    cases.extend(places(base, "topic", "orders", "payments"));
    cases.extend(places(base, "consumerGroup", "behind", "done"));
    cases.extend(places(base, "bootstrapServers", "${kafka}", "${kafka},127.0.0.1:1"));
    cases.extend(sweep_in(
        base,
        "bootstrapServers",
        Place::Metadata,
        &["", " ${kafka} , ${kafka}", "127.0.0.1:1,${kafka}"],
    ));
    cases.extend(common(base, "lagThreshold"));
    let odd = base.clone().named("odd");
    cases.extend(sweep_in(
        &odd,
        "bootstrapServers",
        Place::Metadata,
        &["kafka", ",", "${kafka},", ",${kafka}", "http://${kafka}"],
    ));
    let refused = base.clone().named("refused:").read(1);
    cases.push(give(&refused, "bootstrapServers", Place::Metadata, "127.0.0.1:1"));
    cases
}

/// Parameters that exclude or need each other.
fn combinations(base: &Case) -> Vec<Case> {
    let flags = ["allowIdleConsumers", "limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions"];
    let mut cases = Vec::new();
    for chosen in 0..8_u32 {
        let set: Vec<&str> =
            flags.iter().enumerate().filter(|(bit, _)| chosen & (1 << bit) != 0).map(|(_, flag)| *flag).collect();
        let case = set.iter().fold(base.clone(), |case, flag| case.with(flag, "true"));
        cases.push(case.clone().named(format!("all of {set:?}")));
        cases.push(case.without("topic").named(format!("without topic all of {set:?}")));
    }
    cases
}

fn credentials(base: &Case) -> Vec<Case> {
    let sasl = base
        .clone()
        .with("bootstrapServers", "${kafka-sasl}")
        .auth_all(&[("username", "worker"), ("password", "w0rker")]);
    let mut cases = Vec::new();
    for mechanism in ["plaintext", "scram_sha256", "scram_sha512"] {
        let case = sasl.clone().with("sasl", mechanism).read(1);
        cases.push(case.clone().named(format!("signs in with {mechanism}")));
        cases.push(
            case.clone()
                .without("sasl")
                .auth("sasl", mechanism)
                .named(format!("signs in with {mechanism} of authentication")),
        );
        for missing in ["username", "password"] {
            cases.push(case.clone().without(missing).read(0).named(format!("{mechanism} without {missing}")));
        }
        cases.push(case.clone().auth("password", "wr0ng").named(format!("refused: {mechanism} with a wrong password")));
    }
    let none = [
        "",
        " ",
        "none",
        "None",
        "PLAIN",
        "plain",
        "scram",
        "ssl",
        "gssapi",
        "oauthbearer",
        "aws_msk_iam",
        "plaintext,none",
    ];
    cases.extend(sweep(base, "sasl", &none));
    cases.extend(sweep_in(base, "sasl", Place::Authentication, &none));
    let in_metadata = base.clone().with("sasl", "none").named("sasl");
    cases.extend(sweep_in(&in_metadata, "sasl", Place::Authentication, &["", "none", "plaintext"]));
    let tls = ["", " ", "disable", "Disable", "enabled", "true", "false"];
    cases.extend(sweep(base, "tls", &tls));
    cases.extend(sweep_in(base, "tls", Place::Authentication, &tls));
    let in_metadata = base.clone().with("tls", "disable").named("tls");
    cases.extend(sweep_in(&in_metadata, "tls", Place::Authentication, &["", "disable", "enable"]));
    let enabled = base.clone().with("tls", "enable").named("tls enable");
    cases.push(enabled.clone().auth("cert", "x").named("with a certificate alone"));
    cases.push(enabled.clone().auth("key", "x").named("with a key alone"));
    cases.push(enabled.clone().auth_all(&[("cert", "x"), ("key", "x")]).named("with a pair that is none"));
    cases.push(enabled.clone().auth("ca", "x").named("with a CA that is none"));
    cases.push(base.clone().auth("cert", "x").named("without TLS, with a certificate alone"));
    cases.push(enabled.named("refused: by a server without TLS").read(1));
    cases
}

fn readings(base: &Case) -> Vec<Case> {
    let large = base.clone().with("lagThreshold", "1000");
    let mut cases = Vec::new();
    let groups: [&[&str]; 5] = [
        &["done", "behind", "partly", "ahead", "far", "none"],
        &["done", "none"],
        &["kept", "before", "none"],
        &["none"],
        &["eight", "none"],
    ];
    for ((topic, _), groups) in TOPICS.into_iter().zip(groups) {
        for group in groups {
            let of = large.clone().with_all(&[("topic", topic), ("consumerGroup", group)]);
            for policy in ["latest", "earliest"] {
                for invalid in ["false", "true"] {
                    let more = [("offsetResetPolicy", policy), ("scaleToZeroOnInvalidOffset", invalid)];
                    let name = format!("reads {topic} of {group} {policy} invalid {invalid}");
                    cases.push(of.clone().with_all(&more).named(name).read(1));
                }
            }
        }
    }
    cases.extend(limits(base));
    for partitions in ["0", "0,2", "1-2", "7", "0-9"] {
        let case = large.clone().with("partitionLimitation", partitions);
        cases.push(case.named(format!("reads partitions {partitions}")).read(1));
    }
    for activation in ["14", "15", "16", "0"] {
        let case = large.clone().with("activationLagThreshold", activation);
        cases.push(case.named(format!("reads above {activation}")).read(1));
    }
    let persistent = large.clone().with("excludePersistentLag", "true");
    cases.push(persistent.clone().named("reads with persistent lag").read(1));
    cases.push(persistent.named("reads with persistent lag twice").read(2));
    cases.push(large.clone().with("topic", "absent").named("reads a topic that there is not").read(1));
    cases.push(large.clone().with("topic", "orders,payments").named("reads two topics").read(1));
    cases.push(large.clone().with("topic", "orders,absent").named("reads two topics, one absent").read(1));
    for group in ["done", "behind", "partly", "none"] {
        let case = large.clone().without("topic").with("consumerGroup", group);
        cases.push(case.named(format!("reads without topic {group}")).read(1));
    }
    cases
}

/// What the threshold and the partitions make of a lag.
fn limits(base: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (topic, group) in [
        ("orders", "behind"),
        ("orders", "far"),
        ("orders", "done"),
        ("orders", "ahead"),
        ("eight", "eight"),
        ("payments", "none"),
    ] {
        for threshold in ["1", "3", "5", "40"] {
            for flag in ["", "allowIdleConsumers", "limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions"] {
                let case =
                    base.clone().with_all(&[("topic", topic), ("consumerGroup", group), ("lagThreshold", threshold)]);
                let case = if flag.is_empty() { case } else { case.with(flag, "true") };
                cases.push(case.named(format!("reads {topic} of {group} by {threshold} {flag}")).read(1));
            }
        }
    }
    cases
}

fn only_of_kafka(base: &Case) -> Vec<Case> {
    let no_topic = base.clone().without("topic").named("no topic");
    let mut cases = sweep(base, "fullMetadata", BOOLEANS);
    cases.extend(sweep_in(&no_topic, "fullMetadata", Place::Metadata, &["true", "false"]));
    let versions = [
        "", " ", "1.0.0", "2.8.1", "0.11.0.0", "0.11.0", "0.8.2.0", "3", "3.7", "3.7.0.1", "4.0.0", "v1.0.0", "1.0.x",
        "99.0.0", "1.0.0 ", "01.0.0", "-1.0.0",
    ];
    cases.extend(sweep(base, "version", &versions));
    cases.extend(sweep(base, "unsafeSsl", BOOLEANS));
    cases.push(base.clone().with("fullMetadata", "false").named("reads without full metadata").read(1));
    cases
}

fn oauth(base: &Case) -> Vec<Case> {
    let all = [("username", "u"), ("password", "p"), ("oauthTokenEndpointUri", "http://127.0.0.1:1/token")];
    let bearer = base.clone().with("sasl", "oauthbearer").auth_all(&all).named("oauth");
    let mut cases: Vec<Case> =
        all.iter().map(|(field, _)| bearer.clone().without(field).named(format!("without {field}"))).collect();
    let providers = ["bearer", "aws_msk_iam", "Bearer", "other", ""];
    cases.extend(sweep_in(&bearer.clone().without("username"), "saslTokenProvider", Place::Metadata, &providers));
    cases.extend(sweep_in(&bearer.clone().without("username"), "saslTokenProvider", Place::Authentication, &providers));
    let extensions = ["a", "a=b=c", "a=b,c", "a=b,", "=b,c=d=e"];
    cases.extend(sweep_in(&bearer, "oauthExtensions", Place::Authentication, &extensions));
    let msk = bearer.with("saslTokenProvider", "aws_msk_iam").named("msk");
    cases.push(msk.clone().named("without TLS"));
    cases.push(msk.clone().with("tls", "enable").named("without a region"));
    cases.push(msk.with_all(&[("tls", "enable"), ("awsRegion", "eu-west-1")]).named("without keys"));
    let refused = base.clone().named("refused:").with("sasl", "oauthbearer").auth_all(&all).read(1);
    cases.push(refused.clone().named("no token"));
    cases.push(refused.auth_all(&[("scopes", "a,b"), ("oauthExtensions", "a=b,c=d")]).named("no token with scopes"));
    cases
}

fn msk(base: &Case) -> Vec<Case> {
    let keys = [("awsAccessKeyID", "A"), ("awsSecretAccessKey", "s")];
    let all =
        base.clone().with_all(&[("sasl", "aws_msk_iam"), ("tls", "enable"), ("awsRegion", "eu-west-1")]).named("msk");
    vec![
        all.clone().auth_all(&keys).named("with keys"),
        all.clone().named("without keys"),
        all.clone().auth("awsAccessKeyID", "A").named("with half of the keys"),
        all.clone().auth("awsRoleArn", "arn:aws:iam::1:role/r").named("with a role"),
        all.clone().pod_identity("aws").named("with a pod identity"),
        all.clone().with("identityOwner", "operator").named("of the operator"),
        all.clone().auth_all(&keys).without("awsRegion").named("without a region"),
        all.clone().auth_all(&keys).without("tls").named("without TLS"),
        all.auth_all(&keys).with("tls", "disable").named("with TLS disabled"),
    ]
}
