//! Where Kedge may answer otherwise than KEDA's scalers, and why.

use kedge_test_cluster::oracle::Family;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// KEDA builds the trigger.
    KedgeRefuses,
    /// KEDA does not build the trigger.
    KedgeBuilds,
    Metric,
    Target,
    Reading,
}

/// Cases that differ for one reason.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    pub family: Family,
    pub kind: Kind,
    /// Names of cases, in which `*` is any text. Each of them differs.
    pub cases: &'static [&'static str],
    /// Words of `docs/differences-from-keda.md` that give the reason.
    pub reason: &'static str,
}

const fn difference(family: Family, kind: Kind, reason: &'static str, cases: &'static [&'static str]) -> Difference {
    Difference { family, kind, cases, reason }
}

const NO_TARGET: &str = "A target of 0 or less is an error of any trigger.";
const NO_TARGET_FOR_FORMULA: &str = "A trigger that only a formula reads needs no target of its own.";
const ONE_WORD: &str = "Where one of several words is allowed, it is exactly one.";
const NOWHERE: &str = "An address that leads nowhere is an error of the trigger";
const REDIS_CONNECTS: &str = "KEDA connects to Redis while it builds a trigger";
const REDIS_DATABASE: &str = "A `databaseIndex` is not read for clusters";
const KAFKA_CONNECTS: &str = "`kafka`: KEDA connects while it builds the trigger, too.";
const KAFKA_MISSING: &str =
    "a named topic that does not exist, or a `partitionLimitation` that no topic has a partition of, is an error";
const KAFKA_PERSISTENT: &str = "`excludePersistentLag` compares with 10 seconds ago, and not with the reading before";
const KAFKA_PARTITIONS: &str = "Partitions are numbers of 32 bits in ranges that are not reversed";
const QUEUE_URL: &str = "a `queueURL` with an invalid port or escape is read all the same";
const NOT_FINITE: &str = "A value that is infinite or `NaN` is an error, and not 0.";
const NOTATION: &str = "a text that begins with a number in another notation of Go (`1_000`, `5p1`) is an error";
const BEHIND_NUMBER: &str = "A path that goes on behind a number leads nowhere";
const BEHIND_DOCUMENT: &str = "A document with something behind it, or that is not closed properly, is an error";
const YAML_TYPES: &str = "Integers of 64 bits without a sign are numbers in YAML";

const RABBITMQ_CONNECTS: &str = "`rabbitmq`: KEDA connects over AMQP while it builds a trigger, too.";
const POSTGRESQL_CONNECTS: &str = "KEDA connects to PostgreSQL while it builds a trigger, too";
const MYSQL_CONNECTS: &str = "KEDA connects to MySQL while it builds a trigger, too.";
const BLANKS: &str = "a number in a text may have blanks around it";

use Family::{
    AwsCloudwatch, AwsSqsQueue, Kafka, KubernetesResource, MySql, NatsJetstream, PostgreSql, RabbitMq, Redis,
};
use Kind::{KedgeBuilds, KedgeRefuses, Metric, Reading};

pub const DIFFERENCES: &[Difference] = &[
    difference(
        Redis,
        KedgeRefuses,
        NO_TARGET,
        &[
            "redis* listLength=\"-*\"",
            "redis* listLength=\"0\"",
            "redis*-streams streamLength=\"-*\"",
            "redis*-streams streamLength=\"0\"",
            "redis-streams streamLength=\"-*\"",
            "redis-streams streamLength=\"0\"",
            "redis*group pendingEntriesCount=\"-*\"",
            "redis*group pendingEntriesCount=\"0\"",
            "redis*group lagCount=\"-1\"",
            "redis*group lagCount=\"-9*\"",
            "redis*group all targets, lag \"-3\"",
        ],
    ),
    difference(
        Redis,
        KedgeRefuses,
        NOWHERE,
        &["redis address=\"${redis},\"", "redis address=\"${redis},other\"", "redis host=\"${redis.host},\" *"],
    ),
    difference(
        Redis,
        KedgeBuilds,
        REDIS_CONNECTS,
        &["redis refused: *", "redis-cluster refused: *", "redis-sentinel refused: *"],
    ),
    difference(Redis, KedgeBuilds, REDIS_DATABASE, &["redis-cluster databaseIndex=\"x\""]),
    difference(
        NatsJetstream,
        KedgeRefuses,
        NO_TARGET,
        &["nats-jetstream lagThreshold=\"-*\"", "nats-jetstream lagThreshold=\"0\""],
    ),
    difference(
        NatsJetstream,
        KedgeRefuses,
        NOWHERE,
        &[
            "nats-jetstream*Endpoint=\"*://*",
            "nats-jetstream*Endpoint=\"${nats}/*",
            "nats-jetstream*Endpoint=\"${nats}?x=y\"",
            "nats-jetstream*Endpoint=\"${nats}#x\"",
            "nats-jetstream*Endpoint=\"127.0.0.1:0\"",
            "nats-jetstream*Endpoint=\"127.0.0.1:x\"",
            "nats-jetstream*Endpoint=\"127.0.0.1:99999\"",
            "nats-jetstream*Endpoint=\":8222\"",
            "nats-jetstream*Endpoint=\"::1\"",
            "nats-jetstream*Endpoint=\"host name:1\"",
            "nats-jetstream*Endpoint=\"user:pass@${nats}\"",
        ],
    ),
    difference(
        AwsSqsQueue,
        KedgeRefuses,
        NO_TARGET,
        &["aws-sqs-queue queueLength=\"-*\"", "aws-sqs-queue queueLength=\"0\""],
    ),
    difference(AwsSqsQueue, KedgeRefuses, NOWHERE, AWS_NOWHERE),
    difference(
        AwsSqsQueue,
        Metric,
        QUEUE_URL,
        &["aws-sqs-queue queueURL=\"http://host:port/1/orders\"", "aws-sqs-queue queueURL=\"*or%zzders\""],
    ),
    difference(
        AwsCloudwatch,
        KedgeRefuses,
        "A `metricCollectionTime` or a target of 0 is an error of the trigger.",
        &[
            "aws-cloudwatch metricCollectionTime=\"0\"",
            "aws-cloudwatch metricCollectionTime=\"-0\"",
            "aws-cloudwatch period 60 collection 0",
        ],
    ),
    difference(
        AwsCloudwatch,
        KedgeRefuses,
        NO_TARGET,
        &[
            "aws-cloudwatch targetMetricValue=\"-*\"",
            "aws-cloudwatch targetMetricValue=\"0\"",
            "aws-cloudwatch targetMetricValue=\"0.0\"",
        ],
    ),
    difference(AwsCloudwatch, KedgeRefuses, NOWHERE, AWS_NOWHERE),
    difference(
        AwsCloudwatch,
        KedgeBuilds,
        NO_TARGET_FOR_FORMULA,
        &["aws-cloudwatch for a formula without targetMetricValue"],
    ),
    difference(
        Kafka,
        KedgeRefuses,
        NOWHERE,
        &["apache-kafka odd bootstrapServers=\",\"", "apache-kafka odd bootstrapServers=\"http://*"],
    ),
    difference(
        Kafka,
        KedgeRefuses,
        ONE_WORD,
        &[
            "*kafka offsetResetPolicy=\"latest,earliest\"",
            "kafka sasl=\"plaintext,none\"",
            "kafka auth sasl=\"plaintext,none\"",
        ],
    ),
    difference(
        Kafka,
        KedgeRefuses,
        "`apache-kafka` refuses SCRAM without a user and a password",
        &["apache-kafka scram_* without *"],
    ),
    difference(
        Kafka,
        KedgeRefuses,
        KAFKA_PARTITIONS,
        &[
            "*kafka partitionLimitation=\"2-1\"",
            "apache-kafka partitionLimitation=\"2147483648\"",
            "apache-kafka partitionLimitation=\"3000000000-3000000001\"",
        ],
    ),
    difference(
        Kafka,
        KedgeBuilds,
        KAFKA_PARTITIONS,
        &["apache-kafka partitionLimitation=\"01\"", "apache-kafka partitionLimitation=\"+1\""],
    ),
    difference(Kafka, KedgeBuilds, KAFKA_CONNECTS, &["kafka refused: *", "kafka tls enable refused: *"]),
    difference(
        Kafka,
        KedgeBuilds,
        "`kafka` checks of `version` only that it can be one",
        &["kafka version=\"0.8.2.0\""],
    ),
    difference(
        Kafka,
        Reading,
        KAFKA_MISSING,
        &[
            "apache-kafka reads a topic that there is not",
            "apache-kafka reads partitions 7",
            "apache-kafka reads two topics, one absent",
        ],
    ),
    difference(Kafka, Reading, KAFKA_PERSISTENT, &["*kafka reads with persistent lag twice"]),
    difference(
        Kafka,
        Reading,
        "Without `topic`, a group that has committed nothing is an error",
        &["kafka reads without topic none"],
    ),
    difference(
        KubernetesResource,
        KedgeBuilds,
        NO_TARGET_FOR_FORMULA,
        &["kubernetes-resource for a formula without targetValue"],
    ),
    difference(
        KubernetesResource,
        KedgeRefuses,
        ONE_WORD,
        &["kubernetes-resource format=\"number,json\"", "kubernetes-resource resourceKind=\"ConfigMap,Secret\""],
    ),
    difference(
        KubernetesResource,
        KedgeRefuses,
        "In `valueLocation`, new documents are not supported.",
        &["kubernetes-resource json valueLocation=\"{orders}:x\""],
    ),
    difference(
        KubernetesResource,
        Reading,
        NOT_FINITE,
        &[
            "kubernetes-resource reads \"-Inf\" as float64",
            "kubernetes-resource reads \"inf\" as float64",
            "kubernetes-resource reads \"NaN\" as float64",
            "kubernetes-resource reads \"nan\" as float64",
            "kubernetes-resource reads \"1e999\" as quantity",
            "kubernetes-resource reads json huge as *",
            "kubernetes-resource reads yaml inf as *",
            "kubernetes-resource reads yaml nan as *",
        ],
    ),
    difference(
        KubernetesResource,
        Reading,
        "A sign or a point alone is no quantity, and not 0.",
        &["kubernetes-resource reads \"-\" as quantity", "kubernetes-resource reads \".\" as quantity"],
    ),
    difference(
        KubernetesResource,
        Reading,
        NOTATION,
        &["kubernetes-resource reads \"1_000\" as float64", "kubernetes-resource reads \"5p1\" as float64"],
    ),
    difference(
        KubernetesResource,
        Reading,
        BEHIND_NUMBER,
        &["kubernetes-resource reads yaml n.x as *", "kubernetes-resource reads yaml o.a.b. as *"],
    ),
    difference(
        KubernetesResource,
        Reading,
        BEHIND_DOCUMENT,
        &[
            "kubernetes-resource reads n of * \"{\\\"n\\\": 1} x\"",
            "kubernetes-resource reads n of json \"{\\\"n\\\":4,}\"",
            "kubernetes-resource reads n of yaml \"---*",
        ],
    ),
    difference(KubernetesResource, Reading, YAML_TYPES, &["kubernetes-resource reads yaml big as *"]),
    difference(
        RabbitMq,
        KedgeRefuses,
        NO_TARGET,
        &["rabbitmq http value=\"-*\"", "rabbitmq http old queueLength=\"-*\""],
    ),
    difference(
        RabbitMq,
        KedgeRefuses,
        NOWHERE,
        &["rabbitmq http host=\"http://\"", "rabbitmq http reads at \"/?x=y\"", "rabbitmq http reads at \"/#x\""],
    ),
    difference(
        RabbitMq,
        KedgeRefuses,
        "A `host` that does not fit its `protocol`",
        &["rabbitmq amqp protocol=\"http\""],
    ),
    difference(
        RabbitMq,
        KedgeRefuses,
        "A `workloadIdentityResource` is an error of the trigger where the operator has no identity of Azure.",
        &["rabbitmq http workloadIdentityResource=x"],
    ),
    difference(
        RabbitMq,
        KedgeBuilds,
        RABBITMQ_CONNECTS,
        &[
            "rabbitmq amqp refused: at \"/absent\"",
            "rabbitmq amqp refused: at \"/shop/\"",
            "rabbitmq amqp refused: host *",
            "rabbitmq amqp refused: wrong password",
        ],
    ),
    difference(PostgreSql, KedgeRefuses, NO_TARGET, &["postgresql targetQueryValue=\"-*\""]),
    difference(
        PostgreSql,
        KedgeBuilds,
        POSTGRESQL_CONNECTS,
        &[
            "postgresql auth password=\"\" alone",
            "postgresql env password absent",
            "postgresql env password=\"\" alone",
            "postgresql password=\"w0rker\" alone",
            "postgresql without password anywhere",
            "postgresql refused: auth password=*",
            "postgresql refused: dbName=*",
            "postgresql refused: port=\"1\"",
            "postgresql refused: sslmode=\"verify-*\"",
            "postgresql refused: userName=*",
            "postgresql refused: connection \"postgresql://*disable\"",
            "postgresql refused: connection \"postgresql://*verify-full\"",
        ],
    ),
    difference(PostgreSql, Reading, BLANKS, &["postgresql reads SELECT ' 7'"]),
    difference(
        PostgreSql,
        Reading,
        "`NaN` and infinity are errors, and not 0.",
        &["postgresql reads SELECT 'NaN'", "postgresql reads SELECT 'Infinity'"],
    ),
    difference(
        MySql,
        KedgeRefuses,
        NO_TARGET,
        &["mysql queryValue=\"-*\"", "mysql queryValue=\"0\"", "mysql queryValue=\"0.0\""],
    ),
    difference(
        MySql,
        KedgeRefuses,
        "a missing `host` or `port` is an error of the trigger",
        &["mysql auth host=\"\" alone", "mysql env host*", "mysql without host anywhere"],
    ),
    difference(
        MySql,
        KedgeBuilds,
        MYSQL_CONNECTS,
        &[
            "mysql auth password=\"\" alone",
            "mysql auth username=\"\" alone",
            "mysql env password absent",
            "mysql env password=\"\" alone",
            "mysql env username absent",
            "mysql env username=\"\" alone",
            "mysql password=\"w0rker\" alone",
            "mysql without password anywhere",
            "mysql without username anywhere",
            "mysql refused: auth password=*",
            "mysql refused: dbName=*",
            "mysql refused: port=\"1\"",
            "mysql refused: username=*",
            "mysql refused: connection \"/\"",
            "mysql refused: connection \"@/\"",
            "mysql refused: connection \"worker:wr0ng@*",
            "mysql refused: connection \"*/absent\"",
            "mysql refused: connection \"*?tls=true\"",
            "mysql refused: connection \"worker:w0rker@tcp(127.0.0.1:1)/shop\"",
        ],
    ),
    difference(
        MySql,
        KedgeBuilds,
        "The `host` of `mysql` may be an IPv6 address in brackets",
        &["mysql refused: host=\"[::1]\""],
    ),
    difference(MySql, Reading, BLANKS, &["mysql reads SELECT ' 7'"]),
    difference(
        MySql,
        Reading,
        "NaN and infinity are an error.",
        &["mysql reads SELECT 'NaN'", "mysql reads SELECT 'Infinity'"],
    ),
];

const AWS_NOWHERE: &[&str] = &[
    "aws-* awsEndpoint=\"/x\"",
    "aws-* awsEndpoint=\"127.0.0.1:1\"",
    "aws-* awsEndpoint=\"://x\"",
    "aws-* awsEndpoint=\"ftp://host\"",
    "aws-* awsEndpoint=\"http://\"",
    "aws-* awsEndpoint=\"http://a b\"",
    "aws-* awsEndpoint=\"moto\"",
    "aws-* awsRegion=\"EU-WEST-1\"",
    "aws-* awsRegion=\"a/b\"",
    "aws-* awsRegion=\"us gov\"",
];
