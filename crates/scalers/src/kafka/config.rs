//! The parameters of the Kafka triggers.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use kedge_core::secret::Secret;
use kedge_wire::scram::ScramHash;

use super::KafkaScaler;
use super::lag::{Distribution, LagRules, Progress, ReplicaLimit, ResetPolicy, Uncommitted};
use super::offsets::{FirstOffsets, OffsetSource, Topics};
use crate::field::{Field, Source};
use crate::host_port::HostPort;
use crate::http::{Address, TlsProfile, Verification};
use crate::identity::{CloudIdentity, aws};
use crate::kafka_cluster::{ClusterKey, Credentials, MskForm, User};
use crate::metadata::convert::{ConversionError, Converted};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::oauth::OAuthClient;
use crate::shared::Shared;
use crate::target::{External, TargetType};
use crate::trigger::{BuildError, FieldError, TriggerConfig};

const M_E: &[Source] = &[Source::Metadata, Source::Environment];
const M_A: &[Source] = &[Source::Metadata, Source::Authentication];

const BOOTSTRAP_SERVERS: Field = Field::required("bootstrapServers")
    .sources(M_E)
    .help("Brokers as `host:port`, separated by commas. They name the others");
const CONSUMER_GROUP: Field =
    Field::required("consumerGroup").sources(M_E).help("The group whose committed offsets are read");
const TOPIC: Field = Field::optional("topic")
    .sources(M_E)
    .help("The topic; without it, all topics that the group has committed offsets of");
const TOPICS: Field = Field::optional("topic")
    .sources(M_E)
    .help("The topics, separated by commas; without it, all topics of the cluster, while the group has members");
const PARTITION_LIMITATION: Field = Field::optional("partitionLimitation")
    .help("The partitions that count, as in `1,3,5-9`; without effect where `topic` is absent");
const LAG_THRESHOLD: Field = Field::optional("lagThreshold").default("10").help("The lag that one replica is for");
pub(super) const ACTIVATION_LAG_THRESHOLD: Field =
    Field::optional("activationLagThreshold").default("0").help("The trigger is active while the lag is above this");
const OFFSET_RESET_POLICY: Field = Field::optional("offsetResetPolicy").default("latest").help(
    "Where consumers begin that have committed no offset. `latest`: such a partition has a lag of 1; `earliest`: of all messages that are kept",
);
const ALLOW_IDLE_CONSUMERS: Field = Field::optional("allowIdleConsumers")
    .default("false")
    .help("`true`: more replicas than partitions are possible. Not with `limitToPartitionsWithLag`");
const EXCLUDE_PERSISTENT_LAG: Field = Field::optional("excludePersistentLag").default("false").help(
    "`true`: the lag of partitions whose committed offset has not changed for 10 seconds does not count, except for activation",
);
const SCALE_TO_ZERO_ON_INVALID_OFFSET: Field = Field::optional("scaleToZeroOnInvalidOffset")
    .default("false")
    .help("`true`: partitions without a committed offset have no lag");
const LIMIT_TO_PARTITIONS_WITH_LAG: Field = Field::optional("limitToPartitionsWithLag")
    .default("false")
    .help("`true`: no more replicas than partitions with a lag. Needs `topic`");
const ENSURE_EVEN_DISTRIBUTION: Field = Field::optional("ensureEvenDistributionOfPartitions")
    .default("false")
    .help("`true`: only numbers of replicas by which the number of partitions can be divided");
const FULL_METADATA: Field = Field::optional("fullMetadata")
    .default("true")
    .help("Accepted for KEDA's manifests: Kedge reads only about the topics that it needs. `false` needs `topic`");
const VERSION: Field = Field::optional("version")
    .help("Checked only: Kedge asks the brokers what they know. Kafka 0.11 is the oldest that works");

const TLS: Field = Field::optional("tls").sources(M_A).default("disable").help("`enable`: uses TLS");
const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: accepts any certificate of the brokers");
const CA: Field = Field::authentication("ca").help("A CA that is trusted in addition to those of the system, as PEM");
const CERT: Field = Field::authentication("cert").required_if("`key` is given").help("The client certificate, as PEM");
const KEY: Field =
    Field::secret("key").required_if("`cert` is given").help("The key of the client certificate, as PEM");
const KEY_PASSWORD: Field = Field::secret("keyPassword")
    .ignored()
    .help("The password of an encrypted key; Kedge needs a key that is not encrypted");

const SASL: Field = Field::optional("sasl").sources(M_A).default("none").help(
    "How to sign in: `none`, `plaintext`, `scram_sha256`, `scram_sha512` or `oauthbearer`. `gssapi`, which is Kerberos, is not supported",
);
const APACHE_SASL: Field = Field::optional("sasl").sources(M_A).default("none").help(
    "How to sign in: `none`, `plaintext`, `scram_sha256`, `scram_sha512` or `aws_msk_iam`. `gssapi`, which is Kerberos, is not supported",
);
const USERNAME: Field = Field::authentication("username")
    .required_if("`sasl` is neither `none` nor of AWS")
    .help("The user; with `oauthbearer` the id of the client");
const PASSWORD: Field = Field::secret("password")
    .required_if("`sasl` is neither `none` nor of AWS")
    .help("The password; with `oauthbearer` the secret of the client");
const SASL_TOKEN_PROVIDER: Field = Field::optional("saslTokenProvider").sources(M_A).default("bearer").help(
    "With `oauthbearer`. `bearer`: tokens are requested from `oauthTokenEndpointUri`; `aws_msk_iam`: they are signed by an identity of AWS",
);
const SCOPES: Field = Field::authentication("scopes").help("The scopes of tokens, separated by commas");
const OAUTH_TOKEN_ENDPOINT_URI: Field = Field::authentication("oauthTokenEndpointUri")
    .required_if("`sasl` is `oauthbearer` with `bearer`")
    .help("The URL that tokens are requested from");
const OAUTH_EXTENSIONS: Field =
    Field::authentication("oauthExtensions").help("What is sent with tokens, as in `name=value,other=value`");

const KEYTAB: Field = Field::secret("keytab").ignored().help("Of Kerberos, which is not supported");
const CCACHE_NAME: Field = Field::authentication("ccacheName").ignored().help("Of Kerberos, which is not supported");
const REALM: Field = Field::authentication("realm").ignored().help("Of Kerberos, which is not supported");
const KERBEROS_CONFIG: Field =
    Field::authentication("kerberosConfig").ignored().help("Of Kerberos, which is not supported");
const KERBEROS_SERVICE_NAME: Field =
    Field::authentication("kerberosServiceName").ignored().help("Of Kerberos, which is not supported");
const KERBEROS_DISABLE_FAST: Field =
    Field::authentication("kerberosDisableFAST").ignored().help("Of Kerberos, which is not supported");

pub(super) const KAFKA_LAG: &[Field] = &[
    BOOTSTRAP_SERVERS,
    CONSUMER_GROUP,
    TOPIC,
    LAG_THRESHOLD,
    ACTIVATION_LAG_THRESHOLD,
    OFFSET_RESET_POLICY,
    SCALE_TO_ZERO_ON_INVALID_OFFSET,
    ALLOW_IDLE_CONSUMERS,
    LIMIT_TO_PARTITIONS_WITH_LAG,
    ENSURE_EVEN_DISTRIBUTION,
    EXCLUDE_PERSISTENT_LAG,
    PARTITION_LIMITATION,
    FULL_METADATA,
    VERSION,
];
pub(super) const KAFKA_SIGN_IN: &[Field] = &[SASL, USERNAME, PASSWORD, TLS, UNSAFE_SSL, CA, CERT, KEY, KEY_PASSWORD];
pub(super) const KAFKA_OAUTH: &[Field] = &[SASL_TOKEN_PROVIDER, OAUTH_TOKEN_ENDPOINT_URI, SCOPES, OAUTH_EXTENSIONS];
pub(super) const KAFKA_KERBEROS: &[Field] =
    &[KEYTAB, CCACHE_NAME, REALM, KERBEROS_CONFIG, KERBEROS_SERVICE_NAME, KERBEROS_DISABLE_FAST];

pub(super) const APACHE_KAFKA_LAG: &[Field] = &[
    BOOTSTRAP_SERVERS,
    CONSUMER_GROUP,
    TOPICS,
    LAG_THRESHOLD,
    ACTIVATION_LAG_THRESHOLD,
    OFFSET_RESET_POLICY,
    SCALE_TO_ZERO_ON_INVALID_OFFSET,
    ALLOW_IDLE_CONSUMERS,
    LIMIT_TO_PARTITIONS_WITH_LAG,
    ENSURE_EVEN_DISTRIBUTION,
    EXCLUDE_PERSISTENT_LAG,
    PARTITION_LIMITATION,
];
pub(super) const APACHE_KAFKA_SIGN_IN: &[Field] = &[APACHE_SASL, USERNAME, PASSWORD, TLS, CA, CERT, KEY, KEY_PASSWORD];

/// The two types: KEDA has one for each of two libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Kafka,
    ApacheKafka,
}

/// The longest name of a topic: Kafka creates none that is longer.
const TOPIC_BYTES_MAX: usize = 249;

/// The right that signatures of AWS are for.
const MSK_SERVICE: &str = "kafka-cluster";

pub(super) fn parse(trigger: &TriggerConfig<'_>, shared: &Shared, dialect: Dialect) -> Result<KafkaScaler, BuildError> {
    let mut read = Reader::new(trigger);
    let bootstrap = read.required(BOOTSTRAP_SERVERS, |text| parse_servers(text, dialect));
    let group = read.required(CONSUMER_GROUP, parse_group);
    let (topics, topic_names) = parse_topics(&mut read, dialect);
    let base = metric_base(topic_names.as_deref(), group.as_deref().unwrap_or_default());
    let name = metric_name::full_name(trigger.index, &base);
    let target_type = read.take(TargetType::parse(trigger));
    let rules = parse_rules(&mut read, &topics, dialect);
    let excludes_persistent_lag = read.or_default(EXCLUDE_PERSISTENT_LAG, convert::boolean);
    let activation = parse_activation(&mut read);
    let partitions = read.optional(PARTITION_LIMITATION, parse_partitions);
    let partitions = partitions.filter(|_| matches!(topics, Topics::Named(_)));
    if dialect == Dialect::Kafka {
        parse_metadata_settings(&mut read, &topics);
    }
    let security = parse_security(&mut read, dialect);
    let hosts = bootstrap.as_deref().unwrap_or_default();
    let credentials = parse_credentials(&mut read, trigger, shared, dialect, security.is_some(), hosts);
    let made = (|| {
        let (bootstrap, group, rules, target_type) = (bootstrap?, group?, rules?, target_type?);
        let key = ClusterKey { bootstrap, security, credentials: credentials? };
        let cluster = read.make(|| shared.kafka.cluster(key, &shared.http, &shared.signers))?;
        let first_offsets = match (rules.reset_policy, rules.uncommitted) {
            (ResetPolicy::Earliest, Uncommitted::Counts) => FirstOffsets::Read,
            _ => FirstOffsets::NotRead,
        };
        let limit = shared.http.settings().limit(None);
        let source = OffsetSource { cluster, group: group.into(), topics, partitions, first_offsets, limit };
        let metric = External::whole(name, target_type, rules.threshold);
        let progress = excludes_persistent_lag.then(|| Mutex::new(Progress::default()));
        Some(KafkaScaler { metric, activation, rules, progress, source })
    })();
    read.finish(made)
}

/// Parses servers.
// KEDA: empty elements are no servers, and the library of apache-kafka takes Kafka's usual port where there is none.
fn parse_servers(text: &str, dialect: Dialect) -> Converted<Vec<HostPort>> {
    const REMEDY: &str = "write host:port, as in kafka.queues:9092";
    let server = |text: &str| match HostPort::parse(text, REMEDY) {
        Err(_) if dialect == Dialect::ApacheKafka && !text.contains(':') => {
            HostPort::parse(&format!("{text}:9092"), REMEDY)
        }
        parsed => parsed,
    };
    let servers: Vec<&str> = text.split(',').map(str::trim).filter(|element| !element.is_empty()).collect();
    match servers.is_empty() {
        true => Err(ConversionError::new("names no server", "write servers as in kafka-0:9092,kafka-1:9092")),
        false => servers.into_iter().map(server).collect(),
    }
}

/// A longer one cannot be written in a request.
fn parse_group(text: &str) -> Converted<String> {
    match i16::try_from(text.len()) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(ConversionError::new("is longer than 32767 bytes", "give the group of the consumers")),
    }
}

fn parse_topic(text: &str) -> Converted<Arc<str>> {
    match text.len() {
        ..=TOPIC_BYTES_MAX => Ok(text.into()),
        _ => Err(ConversionError::new("is longer than 249 bytes, as no topic is", "give the name of the topic")),
    }
}

/// The topics that are read, and what the metric is named after.
fn parse_topics(read: &mut Reader<'_>, dialect: Dialect) -> (Topics, Option<String>) {
    let field = match dialect {
        Dialect::Kafka => TOPIC,
        Dialect::ApacheKafka => TOPICS,
    };
    let elements = |text: &str| match dialect {
        Dialect::Kafka => Ok(vec![parse_topic(text)?]),
        Dialect::ApacheKafka => convert::list(text, ',', parse_topic),
    };
    match (read.optional(field, elements), dialect) {
        (Some(elements), _) => {
            // KEDA: topics are joined by commas, with those that are there twice and those without a name.
            let joined = elements.join(",");
            let mut seen = HashSet::new();
            let named = elements.into_iter().filter(|topic| !topic.is_empty() && seen.insert(Arc::clone(topic)));
            let named: Vec<Arc<str>> = named.collect();
            if named.is_empty() {
                read.error(FieldError::new(field.name, "names no topic", "write the topics as in orders,payments"));
            }
            (Topics::Named(named), Some(joined))
        }
        (None, Dialect::Kafka) => (Topics::Committed, None),
        (None, Dialect::ApacheKafka) => (Topics::OfCluster, None),
    }
}

fn metric_base(topics: Option<&str>, group: &str) -> String {
    match topics {
        Some(topics) => format!("kafka-{topics}"),
        None => format!("kafka-{group}-topics"),
    }
}

fn parse_rules(read: &mut Reader<'_>, topics: &Topics, dialect: Dialect) -> Option<LagRules> {
    let threshold = read.or_default(LAG_THRESHOLD, convert::integer);
    if threshold <= 0 {
        read.error(FieldError::new(LAG_THRESHOLD.name, "is not above 0", "write for how much lag one replica is"));
    }
    let policy = read.or_default(OFFSET_RESET_POLICY, |text| convert::one_of(text, &["latest", "earliest"]));
    let scales_to_zero = read.or_default(SCALE_TO_ZERO_ON_INVALID_OFFSET, convert::boolean);
    let allows_idle = read.or_default(ALLOW_IDLE_CONSUMERS, convert::boolean);
    let is_limited = read.or_default(LIMIT_TO_PARTITIONS_WITH_LAG, convert::boolean);
    let is_even = read.or_default(ENSURE_EVEN_DISTRIBUTION, convert::boolean);
    let lacks_topic = !matches!(topics, Topics::Named(_)) && !read.may_be_resolved_later(TOPIC);
    let (limit_name, even_name) = (LIMIT_TO_PARTITIONS_WITH_LAG.name, ENSURE_EVEN_DISTRIBUTION.name);
    let errors = [
        (
            allows_idle && is_limited,
            ALLOW_IDLE_CONSUMERS.name,
            "and `limitToPartitionsWithLag` cannot be true together",
            "keep one of them",
        ),
        (is_limited && lacks_topic, limit_name, "needs `topic`, which is absent", "give `topic`, or leave it out"),
        (
            dialect == Dialect::Kafka && is_limited && is_even,
            limit_name,
            "and `ensureEvenDistributionOfPartitions` cannot be true together",
            "keep one of them",
        ),
        (
            dialect == Dialect::Kafka && is_even && lacks_topic,
            even_name,
            "needs `topic`, which is absent",
            "give `topic`, or leave it out",
        ),
    ];
    for (is_wrong, field, problem, remedy) in errors {
        if is_wrong {
            read.error(FieldError::new(field, problem, remedy));
        }
    }
    let limit = match (is_limited, allows_idle) {
        (true, _) => ReplicaLimit::PartitionsWithLag,
        (false, true) => ReplicaLimit::None,
        (false, false) => ReplicaLimit::Partitions,
    };
    (threshold > 0).then_some(LagRules {
        threshold,
        reset_policy: if policy == "earliest" { ResetPolicy::Earliest } else { ResetPolicy::Latest },
        uncommitted: if scales_to_zero { Uncommitted::IsZero } else { Uncommitted::Counts },
        distribution: if is_even { Distribution::Even } else { Distribution::Any },
        limit,
    })
}

fn parse_activation(read: &mut Reader<'_>) -> i64 {
    let activation = read.or_default(ACTIVATION_LAG_THRESHOLD, convert::integer);
    if activation < 0 {
        let remedy = "write 0, or the lag above which the trigger is active";
        read.error(FieldError::new(ACTIVATION_LAG_THRESHOLD.name, "is negative", remedy));
    }
    activation
}

/// Parses numbers and ranges of them.
fn parse_partitions(text: &str) -> Converted<Vec<RangeInclusive<i32>>> {
    let error =
        || ConversionError::new("is not a list of partitions", "write numbers and ranges of them, as in 1,3,5-9");
    let number = |text: &str| text.trim().parse::<i32>().ok().filter(|number| *number >= 0).ok_or_else(error);
    convert::list(text, ',', |element| {
        let (first, last) = element.split_once('-').unwrap_or((element, element));
        let (first, last) = (number(first)?, number(last)?);
        if first <= last { Ok(first..=last) } else { Err(error()) }
    })
}

/// Reads what has no effect, and was to be valid all the same.
fn parse_metadata_settings(read: &mut Reader<'_>, topics: &Topics) {
    let is_full = read.or_default(FULL_METADATA, convert::boolean);
    read.optional(VERSION, parse_version);
    if !is_full && *topics == Topics::Committed && !read.may_be_resolved_later(TOPIC) {
        let remedy = "give `topic`, or leave `fullMetadata` out";
        read.error(FieldError::new(FULL_METADATA.name, "needs `topic` where it is false", remedy));
    }
}

// KEDA: four numbers before 1.0.0, and three since.
fn parse_version(text: &str) -> Converted<()> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    let count = if text.starts_with('0') { 4 } else { 3 };
    match parts.len() == count && (count == 3 || parts[0] == "0") && parts.iter().all(|part| is_number(part)) {
        true => Ok(()),
        false => {
            Err(ConversionError::new("is not a version of Kafka", "write it as in 2.8.0 or 0.11.0.2, or leave it out"))
        }
    }
}

fn parse_security(read: &mut Reader<'_>, dialect: Dialect) -> Option<TlsProfile> {
    let is_enabled = read.or_default(TLS, |text| convert::one_of(text, &["enable", "disable"])) == "enable";
    refuse_two_places(read, dialect, TLS);
    let is_unsafe = dialect == Dialect::Kafka && read.or_default(UNSAFE_SSL, convert::boolean);
    let secret = |field: Field| read.text(field).map(Secret::new);
    let (ca, cert, key) = (secret(CA), secret(CERT), secret(KEY));
    let half = match (&cert, &key) {
        _ if !is_enabled => None,
        (Some(_), None) => Some((KEY.name, "is missing, and `cert` is given")),
        (None, Some(_)) => Some((CERT.name, "is missing, and `key` is given")),
        _ => None,
    };
    if let Some((field, problem)) = half {
        read.error(FieldError::new(field, problem, "give both in the TriggerAuthentication, or neither"));
    }
    let verification = if is_unsafe { Verification::Off } else { Verification::Full };
    is_enabled.then(|| TlsProfile { verification, ca, identity: cert.zip(key) })
}

// KEDA: only apache-kafka insists on one place.
fn refuse_two_places(read: &mut Reader<'_>, dialect: Dialect, field: Field) {
    if dialect == Dialect::ApacheKafka && read.is_in_two_places(field) {
        let problem = "is given in the trigger's metadata and in its TriggerAuthentication";
        read.error(FieldError::new(field.name, problem, "keep one of them"));
    }
}

fn parse_credentials(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    dialect: Dialect,
    is_encrypted: bool,
    hosts: &[HostPort],
) -> Option<Credentials> {
    let (field, extra) = match dialect {
        Dialect::Kafka => (SASL, "oauthbearer"),
        Dialect::ApacheKafka => (APACHE_SASL, "aws_msk_iam"),
    };
    let mechanisms = ["none", "plaintext", "scram_sha256", "scram_sha512", extra, "gssapi"];
    let sasl = read.or_default(field, |text| convert::one_of(text, &mechanisms));
    refuse_two_places(read, dialect, field);
    let provider = match dialect {
        Dialect::Kafka => {
            read.or_default(SASL_TOKEN_PROVIDER, |text| convert::one_of(text, &["bearer", "aws_msk_iam"]))
        }
        Dialect::ApacheKafka => "",
    };
    match (sasl, provider) {
        ("none", _) => Some(Credentials::None),
        ("plaintext", _) => parse_user(read).map(Credentials::Plain),
        ("scram_sha256", _) => parse_user(read).map(|user| Credentials::Scram(ScramHash::Sha256, user)),
        ("scram_sha512", _) => parse_user(read).map(|user| Credentials::Scram(ScramHash::Sha512, user)),
        ("oauthbearer", "bearer") => parse_oauth(read),
        ("oauthbearer", _) => parse_msk(read, trigger, shared, MskForm::Token, is_encrypted, hosts),
        ("aws_msk_iam", _) => parse_msk(read, trigger, shared, MskForm::Json, is_encrypted, hosts),
        _ => {
            let problem = "is gssapi, which is not supported: Kerberos needs libraries that are not part of Kedge";
            let remedy = "let the brokers have a listener for scram_sha512 or oauthbearer, and use that";
            read.error(FieldError::new(field.name, problem, remedy));
            None
        }
    }
}

fn parse_user(read: &mut Reader<'_>) -> Option<User> {
    let (name, password) = (read.required(USERNAME, convert::text), read.required(PASSWORD, convert::text));
    Some(User { name: Secret::new(name?), password: Secret::new(password?) })
}

fn parse_oauth(read: &mut Reader<'_>) -> Option<Credentials> {
    let user = parse_user(read);
    let token_uri = read.required(OAUTH_TOKEN_ENDPOINT_URI, |text| match Address::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(problem) => Err(ConversionError::new(problem, "give a URL, as in https://login.example.com/token")),
    });
    // KEDA: no scopes are one scope, which is empty.
    let scopes = read.text(SCOPES).unwrap_or_default().split(',').map(str::to_owned).collect();
    let given = read.optional(OAUTH_EXTENSIONS, parse_extensions);
    let is_invalid = given.is_none() && read.text(OAUTH_EXTENSIONS).is_some();
    let User { name, password } = user.filter(|_| !is_invalid)?;
    let client = OAuthClient {
        token_uri: token_uri?,
        client_id: name,
        client_secret: Some(password),
        scopes,
        endpoint_params: Vec::new(),
    };
    let extensions = given.unwrap_or_default().into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
    Some(Credentials::OAuth { client, extensions })
}

fn parse_extensions(text: &str) -> Converted<Vec<(String, String)>> {
    let mut extensions = convert::map(text)?;
    extensions.sort();
    // RFC 7628: it is the token itself, and control characters end an extension.
    if extensions.iter().any(|(name, value)| name == "auth" || (name.clone() + value).contains(char::is_control)) {
        return Err(ConversionError::new(
            "has an extension that cannot be sent",
            "leave out `auth`, and write each on one line",
        ));
    }
    Ok(extensions)
}

fn parse_msk(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    form: MskForm,
    is_encrypted: bool,
    hosts: &[HostPort],
) -> Option<Credentials> {
    if !is_encrypted && !read.may_be_resolved_later(TLS) {
        read.error(FieldError::new(TLS.name, "is not enabled, and identities of AWS need it", "set `tls` to enable"));
    }
    // Authentication and the operator's own environment, which give the rest, are not known to a check.
    if !read.is_building() {
        return None;
    }
    let settings = shared.http.settings();
    let before = read.error_count();
    let identity = aws::parse(read, trigger, &settings.cloud_environment, MSK_SERVICE);
    if identity.is_none() && read.error_count() == before {
        let remedy = "give `awsRoleArn`, or `awsAccessKeyID` and `awsSecretAccessKey`, in a TriggerAuthentication; or a podIdentity";
        read.error(FieldError::new("awsAccessKeyID", "is missing, and so is every other identity", remedy));
    }
    let identity = identity?;
    let region = identity.region().to_owned();
    let mut identity = CloudIdentity::Aws(identity);
    for server in hosts {
        let permitted = identity.permitted(&settings.outbound_policy, trigger.namespace, &server.host);
        identity = read.take(permitted)?;
    }
    // Brokers that these name are checked when they are connected to. Namespaces with the same rights share connections.
    let namespace = settings.outbound_policy.identities.is_some().then(|| trigger.namespace.to_owned());
    Some(Credentials::Msk { identity, namespace, region, form })
}

#[cfg(test)]
mod tests;
