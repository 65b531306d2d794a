//! The parameters of the Redis triggers.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use kedge_core::secret::Secret;

use super::RedisSource;
use super::measure::Measure;
use super::nodes::{Nodes, Pool};
use crate::dial::Dial;
use crate::field::{Field, Source};
use crate::host_port::{HostPort, bracketed};
use crate::http::{TlsProfile, Verification};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::redis_session::{Credentials, ServerRole};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, TriggerConfig};

const M_A_E: &[Source] = &[Source::Metadata, Source::Authentication, Source::Environment];
const M_E_A: &[Source] = &[Source::Metadata, Source::Environment, Source::Authentication];

pub(super) const ADDRESS: Field = Field::optional("address")
    .aliases(&["addresses"])
    .sources(M_A_E)
    .help("The servers as `host:port`, separated by commas. `redis` and `redis-streams` use the first; the others need not list all");
pub(super) const HOST: Field = Field::optional("host")
    .aliases(&["hosts"])
    .sources(M_E_A)
    .help("The hosts of further servers, separated by commas; needs `port`");
pub(super) const PORT: Field = Field::optional("port")
    .aliases(&["ports"])
    .sources(M_E_A)
    .help("The ports of these hosts, in the same order; needs `host`");
pub(super) const USERNAME: Field =
    Field::optional("username").sources(M_E_A).help("The user; has an effect only with `password`");
pub(super) const PASSWORD: Field = Field::optional("password").sources(M_E_A).is_secret().help("The password");
pub(super) const DATABASE_INDEX: Field =
    Field::optional("databaseIndex").default("0").help("The number of the database; a cluster has only 0");
pub(super) const SENTINEL_USERNAME: Field = Field::optional("sentinelUsername")
    .sources(M_A_E)
    .help("The user at the sentinels; has an effect only with `sentinelPassword`");
pub(super) const SENTINEL_PASSWORD: Field =
    Field::optional("sentinelPassword").sources(M_A_E).is_secret().help("The password at the sentinels");
pub(super) const SENTINEL_MASTER: Field =
    Field::required("sentinelMaster").sources(M_A_E).help("The name of the master that the sentinels watch");
pub(super) const ENABLE_TLS: Field =
    Field::optional("enableTLS").default("false").help("`true`: uses TLS. Not together with `tls`");
pub(super) const TLS: Field =
    Field::authentication("tls").help("`enable`: uses TLS; `disable`: does not. Not together with `enableTLS`");
pub(super) const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: accepts any certificate of the server");
pub(super) const CA: Field =
    Field::authentication("ca").help("A CA that is trusted in addition to those of the system, as PEM");
pub(super) const CERT: Field = Field::authentication("cert")
    .aliases(&["Cert"])
    .help("The client certificate, as PEM; has an effect only with its key");
pub(super) const KEY: Field = Field::secret("key").help("The key of the client certificate, as PEM");
pub(super) const KEY_PASSWORD: Field = Field::secret("keyPassword")
    .ignored()
    .help("The password of an encrypted key; Kedge needs a key that is not encrypted");

pub(super) const LIST_NAME: Field = Field::required("listName").help("The key of the list, hash, set or sorted set");
pub(super) const LIST_LENGTH: Field =
    Field::optional("listLength").default("5").help("How many entries one replica is for");
pub(super) const ACTIVATION_LIST_LENGTH: Field =
    Field::optional("activationListLength").default("0").help("The trigger is active while the length is above this");

pub(super) const STREAM: Field = Field::required("stream").help("The key of the stream");
pub(super) const CONSUMER_GROUP: Field =
    Field::optional("consumerGroup").help("The consumer group; without it, the length of the stream counts");
pub(super) const STREAM_LENGTH: Field = Field::optional("streamLength")
    .default("5")
    .help("Without a group: how many entries of the stream one replica is for");
pub(super) const PENDING_ENTRIES_COUNT: Field = Field::optional("pendingEntriesCount")
    .default("5")
    .help("With a group: how many pending entries one replica is for; pending ones are delivered and not acknowledged");
pub(super) const LAG_COUNT: Field = Field::optional("lagCount")
    .default("0")
    .help("With a group, and other than 0: the lag of the group counts in place of pending entries, and one replica is for so much of it. Needs Redis 7");
pub(super) const ACTIVATION_LAG_COUNT: Field = Field::optional("activationLagCount")
    .default("0")
    .help("The trigger is active while the value is above this, whatever is counted");

const REMEDY: &str = "write host:port, as in redis.queues:6379";

/// How servers work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    Single,
    Sentinel,
    Cluster,
}

/// What keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Stream,
}

/// A checked trigger.
pub(super) struct Config {
    pub(super) metric: External,
    pub(super) activation: i64,
    pub(super) source: RedisSource,
}

pub(super) fn parse(
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    topology: Topology,
    kind: Kind,
) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let addresses = parse_addresses(&mut read);
    let security = parse_security(&mut read);
    let database = match topology {
        Topology::Cluster => 0,
        Topology::Single | Topology::Sentinel => read.or_default(DATABASE_INDEX, convert::integer),
    };
    let credentials = Credentials { database, ..parse_credentials(&mut read, USERNAME, PASSWORD, ServerRole::Data) };
    let sentinel = (topology == Topology::Sentinel).then(|| {
        let credentials = parse_credentials(&mut read, SENTINEL_USERNAME, SENTINEL_PASSWORD, ServerRole::Sentinel);
        (credentials, read.required(SENTINEL_MASTER, convert::text))
    });
    let (measure, metric, activation) = match kind {
        Kind::List => parse_list(&mut read, trigger),
        Kind::Stream => parse_stream(&mut read, trigger),
    };
    let tls = security.as_ref().map(|profile| read.make(|| shared.http.tls(profile)));
    let dial = match tls {
        None => Some(Dial::new(shared.http.connector(), None)),
        Some(config) => config.map(|config| Dial::new(shared.http.connector(), Some(config))),
    };
    let pool = |dial: &Dial, credentials: Credentials| Pool {
        sessions: Arc::clone(&shared.redis),
        dial: dial.clone(),
        security: security.clone(),
        credentials,
        held: Mutex::default(),
    };
    let made = (|| {
        let (dial, mut addresses) = (dial?, addresses?);
        let pool_of_keys = pool(&dial, credentials);
        let nodes = match sentinel {
            Some((credentials, master)) => Nodes::Sentinel {
                pool: pool_of_keys,
                sentinels: Box::new(pool(&dial, credentials)),
                addresses,
                master: master?,
                answered: AtomicUsize::default(),
            },
            None if topology == Topology::Cluster => {
                Nodes::Cluster { pool: pool_of_keys, seeds: addresses, owner: Mutex::default() }
            }
            None => Nodes::Single { pool: pool_of_keys, server: addresses.swap_remove(0) },
        };
        let limit = shared.http.settings().limit(None);
        Some(Config { metric: metric?, activation, source: RedisSource { nodes, measure: measure?, limit } })
    })();
    read.finish(made)
}

/// The servers: at least one.
// KEDA: `host` and `port` add to `address`, and one without the other does not count.
fn parse_addresses(read: &mut Reader<'_>) -> Option<Vec<HostPort>> {
    let given = read.text(ADDRESS).is_some();
    let addresses = read.optional(ADDRESS, |text| convert::list(text, ',', |text| HostPort::parse(text, REMEDY)));
    let texts = |text: &str| convert::list(text, ',', convert::text);
    let (hosts, ports) = (read.optional(HOST, texts), read.optional(PORT, texts));
    if given && addresses.is_none() {
        return None;
    }
    let mut all = addresses.unwrap_or_default();
    if let Some((hosts, ports)) = hosts.zip(ports) {
        if hosts.len() != ports.len() {
            let problem = format!("has {} entries, and `port` has {}", hosts.len(), ports.len());
            read.error(FieldError::new(HOST.name, problem, "give a port for each host"));
            return None;
        }
        for (host, port) in hosts.iter().zip(&ports) {
            let parsed = HostPort::new(&bracketed(host), port);
            all.push(read.take(parsed.map_err(|problem| {
                FieldError::new(
                    HOST.name,
                    format!("and `port` together {problem}"),
                    "give a host name or an IP address, and a number",
                )
            }))?);
        }
    }
    let may_follow = [ADDRESS, HOST, PORT].iter().any(|field| read.may_be_resolved_later(*field));
    if all.is_empty() {
        if !may_follow {
            let remedy = "give `address` as host:port, or `host` and `port`";
            read.error(FieldError::new(ADDRESS.name, "is missing, and so is a `host` with a `port`", remedy));
        }
        return None;
    }
    Some(all)
}

fn parse_credentials(read: &mut Reader<'_>, username: Field, password: Field, role: ServerRole) -> Credentials {
    let (username, password) = (read.text(username), read.text(password));
    Credentials { username: username.map(str::to_owned), password: password.map(Secret::new), database: 0, role }
}

fn parse_security(read: &mut Reader<'_>) -> Option<TlsProfile> {
    let is_enabled = read.or_default(ENABLE_TLS, convert::boolean);
    let tls = read.optional(TLS, |text| convert::one_of(text, &["enable", "disable"]));
    let is_unsafe = read.or_default(UNSAFE_SSL, convert::boolean);
    let secret = |field: Field| read.text(field).map(Secret::new);
    let (ca, cert, key) = (secret(CA), secret(CERT), secret(KEY));
    if tls.is_some() && read.text(ENABLE_TLS).is_some() {
        let remedy = "keep `tls` of the TriggerAuthentication, or `enableTLS` of the trigger";
        read.error(FieldError::new(ENABLE_TLS.name, "and `tls` are given both", remedy));
    }
    let verification = if is_unsafe { Verification::Off } else { Verification::Full };
    // A pair counts only when it is whole.
    (is_enabled || tls == Some("enable")).then(|| TlsProfile { verification, ca, identity: cert.zip(key) })
}

type Measured = (Option<Measure>, Option<External>, i64);

fn parse_list(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>) -> Measured {
    let key = read.required(LIST_NAME, convert::text);
    let name = metric_name::full_name(trigger.index, &format!("redis-{}", key.as_deref().unwrap_or_default()));
    let metric = External::parse_whole(read, trigger, name, LIST_LENGTH);
    let activation = read.or_default(ACTIVATION_LIST_LENGTH, convert::integer);
    (key.map(|key| Measure::Length { key }), metric, activation)
}

fn parse_stream(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>) -> Measured {
    let stream = read.required(STREAM, convert::text);
    let group = read.text(CONSUMER_GROUP).map(str::to_owned);
    let counts_lag = read.or_default(LAG_COUNT, convert::integer) != 0;
    let target = match (&group, counts_lag) {
        (None, _) => STREAM_LENGTH,
        (Some(_), false) => PENDING_ENTRIES_COUNT,
        (Some(_), true) => LAG_COUNT,
    };
    let name =
        metric_name::full_name(trigger.index, &format!("redis-streams-{}", stream.as_deref().unwrap_or_default()));
    let metric = External::parse_whole(read, trigger, name, target);
    let activation = read.or_default(ACTIVATION_LAG_COUNT, convert::integer);
    let measure = stream.map(|stream| match group {
        None => Measure::StreamLength { stream },
        Some(group) if counts_lag => Measure::Lag { stream, group },
        Some(group) => Measure::Pending { stream, group },
    });
    (measure, metric, activation)
}
