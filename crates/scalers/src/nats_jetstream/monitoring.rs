//! What NATS servers answer at their monitoring endpoint, and what it means. Everything here is pure.

use std::fmt;

use http::uri::Authority;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::metadata::convert::{ConversionError, Converted};

/// Where the monitoring endpoint of a server is. That of each server of a cluster has the same scheme and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MonitoringEndpoint {
    scheme: &'static str,
    authority: Authority,
}

impl MonitoringEndpoint {
    pub(super) fn parse(https: bool, text: &str) -> Converted<Self> {
        let error = |problem: &str| ConversionError::new(problem, "write host:port, as in nats.queues:8222");
        if text.contains("://") {
            return Err(error("is a URL"));
        }
        let authority: Authority = text.parse().map_err(|_| error("is not a host and a port"))?;
        let has_port = authority.as_str() != authority.host();
        if authority.host().is_empty() || text.contains('@') {
            return Err(error("is not a host and a port"));
        }
        if has_port && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(error("has no usable port"));
        }
        Ok(Self { scheme: if https { "https" } else { "http" }, authority })
    }

    /// The URL of one of its pages.
    pub(super) fn url(&self, page: &str) -> String {
        format!("{}://{}{page}", self.scheme, self.authority)
    }

    /// The endpoint of another server.
    fn at_host(&self, host: &str) -> Option<Self> {
        let port = self.authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let authority = format!("{host}{port}").parse().ok()?;
        Some(Self { scheme: self.scheme, authority })
    }

    /// The endpoint of a server of a cluster whose names lie below this endpoint's.
    fn below(&self, name: &str) -> Option<Self> {
        let authority = format!("{name}.{}", self.authority).parse().ok()?;
        Some(Self { scheme: self.scheme, authority })
    }
}

impl fmt::Display for MonitoringEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.authority.as_str())
    }
}

/// A consumer, as triggers name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConsumerName {
    pub(super) account: Option<String>,
    pub(super) account_id: String,
    pub(super) stream: String,
    pub(super) consumer: String,
}

impl ConsumerName {
    /// The page with the streams and consumers of the account.
    pub(super) fn page(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("acc", &self.account_id).append_pair("config", "true").append_pair("consumers", "true");
        format!("/jsz?{}", query.finish())
    }
}

/// The page of a server about JetStream, `/jsz`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct JetStreamPage {
    pub(super) server_id: String,
    #[serde(default)]
    disabled: bool,
    meta_cluster: Option<MetaCluster>,
    account_details: Option<Vec<Account>>,
}

#[derive(Clone, Debug, Deserialize)]
struct MetaCluster {
    cluster_size: i64,
}

#[derive(Clone, Debug, Deserialize)]
struct Account {
    id: String,
    name: String,
    stream_detail: Option<Vec<Stream>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Stream {
    name: String,
    consumer_detail: Option<Vec<Consumer>>,
}

/// A consumer as one server sees it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Consumer {
    name: String,
    #[serde(deserialize_with = "parse_count")]
    num_pending: u64,
    #[serde(deserialize_with = "parse_count")]
    num_ack_pending: u64,
    cluster: Option<ConsumerCluster>,
}

#[derive(Clone, Debug, Deserialize)]
struct ConsumerCluster {
    leader: Option<String>,
    /// The other servers that have the consumer.
    replicas: Option<Vec<IgnoredAny>>,
}

/// Why a server does not have the consumer: how far it can be followed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Missing {
    JetStream,
    Account,
    Stream,
    Consumer,
    Leader,
}

impl Missing {
    pub(super) fn problem(self, name: &ConsumerName) -> String {
        let ConsumerName { stream, consumer, .. } = name;
        match self {
            Self::JetStream => {
                "JetStream is not enabled there; enable it, or correct `natsServerMonitoringEndpoint`".to_owned()
            }
            Self::Account => {
                "the account is not known there, or has no JetStream; check `account` and `accountID`".to_owned()
            }
            Self::Stream => format!("the account has no stream {stream:?}; check `stream`, or create it"),
            Self::Consumer => {
                format!("the stream {stream:?} has no consumer {consumer:?}; check `consumer`, or create it")
            }
            Self::Leader => format!("no server leads the consumer {consumer:?}; it may be electing one"),
        }
    }
}

impl JetStreamPage {
    /// Whether the server is one of several, of which only one has the numbers of the consumer.
    pub(super) fn is_of_cluster(&self, wanted: &ConsumerName) -> bool {
        let has_others = |consumer: &Consumer| {
            consumer
                .cluster
                .as_ref()
                .and_then(|cluster| cluster.replicas.as_ref())
                .is_some_and(|others| !others.is_empty())
        };
        self.meta_cluster.as_ref().is_some_and(|cluster| cluster.cluster_size > 1)
            // KEDA: only the size counts. A consumer that other servers have too is led by one of them, whatever the size says.
            || self.consumer(wanted).is_ok_and(has_others)
    }

    /// The consumer, as this server sees it.
    pub(super) fn consumer(&self, wanted: &ConsumerName) -> Result<&Consumer, Missing> {
        if self.disabled {
            return Err(Missing::JetStream);
        }
        let mut missing = Missing::Account;
        for account in self.account_details.iter().flatten().filter(|account| account.is(wanted)) {
            missing = missing.max(Missing::Stream);
            for stream in account.stream_detail.iter().flatten().filter(|stream| stream.name == wanted.stream) {
                missing = missing.max(Missing::Consumer);
                let mut consumers = stream.consumer_detail.iter().flatten();
                if let Some(consumer) = consumers.find(|consumer| consumer.name == wanted.consumer) {
                    return Ok(consumer);
                }
            }
        }
        Err(missing)
    }

    /// The consumer, if this server leads it.
    pub(super) fn led_consumer(&self, wanted: &ConsumerName, server_name: &str) -> Result<&Consumer, Missing> {
        let consumer = self.consumer(wanted)?;
        let leader = consumer.cluster.as_ref().and_then(|cluster| cluster.leader.as_deref());
        if leader == Some(server_name) { Ok(consumer) } else { Err(Missing::Leader) }
    }
}

impl Account {
    // KEDA: the id or the name is enough.
    fn is(&self, wanted: &ConsumerName) -> bool {
        self.id == wanted.account_id || wanted.account.as_ref() == Some(&self.name)
    }
}

impl Consumer {
    /// The messages that were not delivered yet, or not acknowledged.
    pub(super) fn lag(&self) -> u64 {
        self.num_pending + self.num_ack_pending
    }
}

/// A count that can be one: below zero, servers write a number near the largest.
fn parse_count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    const COUNT_MAX: u64 = i64::MAX as u64 / 2;
    let count = u64::deserialize(from)?;
    if count <= COUNT_MAX { Ok(count) } else { Err(serde::de::Error::custom("it counts more than there can be")) }
}

/// The page of a server about itself, `/varz`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ServerPage {
    pub(super) server_id: String,
    pub(super) server_name: String,
    connect_urls: Option<Vec<String>>,
    cluster: Option<Cluster>,
}

#[derive(Clone, Debug, Deserialize)]
struct Cluster {
    urls: Option<Vec<String>>,
}

pub(super) const SERVER_PAGE: &str = "/varz";

/// How many servers of a cluster are asked.
const SERVERS_MAX: usize = 64;

impl ServerPage {
    /// The monitoring endpoints of the servers of its cluster.
    // KEDA: the addresses for clients are those for monitoring too; without these, the names of the routes lie below the endpoint.
    pub(super) fn servers(&self, endpoint: &MonitoringEndpoint) -> Vec<MonitoringEndpoint> {
        let advertised = self.connect_urls.iter().flatten().filter_map(|url| endpoint.at_host(host(url)?));
        let mut servers: Vec<MonitoringEndpoint> = Vec::new();
        for server in advertised {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        if servers.is_empty() {
            let routes = self.cluster.iter().flat_map(|cluster| cluster.urls.iter().flatten());
            servers = routes.filter_map(|url| route(endpoint, host(url)?)).collect();
        }
        servers.truncate(SERVERS_MAX);
        servers
    }
}

fn route(endpoint: &MonitoringEndpoint, host: &str) -> Option<MonitoringEndpoint> {
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    match is_address {
        true => endpoint.at_host(host),
        false => endpoint.below(host.split('.').next()?),
    }
}

/// The host of `host:port`, with the brackets of an IPv6 address.
fn host(url: &str) -> Option<&str> {
    let host = url.rsplit_once(':').map_or(url, |(host, _)| host);
    Some(host).filter(|host| !host.is_empty() && !host.contains('@'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn name() -> ConsumerName {
        ConsumerName {
            account: Some("SHOP".to_owned()),
            account_id: "ACID".to_owned(),
            stream: "orders".to_owned(),
            consumer: "worker".to_owned(),
        }
    }

    fn page(more: Value) -> JetStreamPage {
        let mut page = json!({ "server_id": "N1" });
        page.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(page).unwrap()
    }

    fn account(id: &str, name: &str, stream: &str, consumer: &str) -> Value {
        let consumers = json!([
            { "name": "other", "num_pending": 100, "num_ack_pending": 100 },
            { "name": consumer, "num_pending": 30, "num_ack_pending": 12, "cluster": { "leader": "nats-1" } },
        ]);
        json!({ "id": id, "name": name, "stream_detail": [{ "name": stream, "consumer_detail": consumers }] })
    }

    #[test]
    fn a_consumer_is_found_by_account_stream_and_name() {
        let rows = [
            ("by id", json!({ "account_details": [account("ACID", "x", "orders", "worker")] }), Ok(42)),
            ("by name", json!({ "account_details": [account("x", "SHOP", "orders", "worker")] }), Ok(42)),
            (
                "the second account",
                json!({ "account_details": [account("A", "B", "orders", "worker"), account("ACID", "SHOP", "orders", "worker")] }),
                Ok(42),
            ),
            (
                "another account",
                json!({ "account_details": [account("A", "B", "orders", "worker")] }),
                Err(Missing::Account),
            ),
            (
                "another stream",
                json!({ "account_details": [account("ACID", "B", "o", "worker")] }),
                Err(Missing::Stream),
            ),
            (
                "another consumer",
                json!({ "account_details": [account("ACID", "B", "orders", "w")] }),
                Err(Missing::Consumer),
            ),
            ("no streams", json!({ "account_details": [{ "id": "ACID", "name": "SHOP" }] }), Err(Missing::Stream)),
            ("nothing", json!({ "account_details": null }), Err(Missing::Account)),
            ("no JetStream", json!({ "disabled": true }), Err(Missing::JetStream)),
        ];
        for (title, answer, expected) in rows {
            let page = page(answer);
            assert_eq!(page.consumer(&name()).map(Consumer::lag), expected, "{title}");
            if let Err(missing) = expected {
                assert!(missing.problem(&name()).contains(';'), "{title}: what to do");
            }
        }
    }

    #[test]
    fn numbers_that_lack_are_no_zeros() {
        for consumer in
            [json!({ "name": "w", "num_pending": 1 }), json!({ "name": "w", "num_pending": -1, "num_ack_pending": 0 })]
        {
            let stream = json!({ "name": "orders", "consumer_detail": [consumer] });
            let page =
                json!({ "server_id": "N", "account_details": [{ "id": "A", "name": "A", "stream_detail": [stream] }] });
            assert!(serde_json::from_value::<JetStreamPage>(page.clone()).is_err(), "{page}");
        }
    }

    #[test]
    fn only_its_leader_knows_a_consumer() {
        let page = page(
            json!({ "meta_cluster": { "cluster_size": 3 }, "account_details": [account("ACID", "x", "orders", "worker")] }),
        );
        assert!(page.is_of_cluster(&name()));
        assert_eq!(page.led_consumer(&name(), "nats-1").map(Consumer::lag), Ok(42));
        assert_eq!(page.led_consumer(&name(), "nats-2").map(Consumer::lag), Err(Missing::Leader));
        let unknown = ConsumerName { consumer: "other".to_owned(), ..name() };
        assert_eq!(page.led_consumer(&unknown, "nats-1").map(Consumer::lag), Err(Missing::Leader));
    }

    #[test]
    fn servers_of_a_cluster_are_where_clients_or_routes_find_them() {
        let servers = |endpoint: &str, connect: Value, routes: Value| -> Vec<String> {
            let page =
                json!({ "server_id": "N", "server_name": "n", "connect_urls": connect, "cluster": { "urls": routes } });
            let page: ServerPage = serde_json::from_value(page).unwrap();
            let endpoint = MonitoringEndpoint::parse(false, endpoint).unwrap();
            page.servers(&endpoint).iter().map(|server| server.url("/")).collect()
        };
        let rows = [
            (
                "advertised",
                servers(
                    "nats.q:8222",
                    json!(["nats-0.nats.q.svc:4222", "10.0.0.3:4222", "[fd00::1]:4222"]),
                    json!(["x:6222"]),
                ),
                vec!["http://nats-0.nats.q.svc:8222/", "http://10.0.0.3:8222/", "http://[fd00::1]:8222/"],
            ),
            ("twice the same", servers("n:1", json!(["a:1", "a:2"]), json!([])), vec!["http://a:1/"]),
            ("without a port", servers("nats", json!(["a:4222"]), json!([])), vec!["http://a/"]),
            (
                "routes, by the first part of the name",
                servers("nats.q:8222", json!([]), json!(["nats-0.nats.q:6222", "nats-1:6222", "10.0.0.3:6222"])),
                vec!["http://nats-0.nats.q:8222/", "http://nats-1.nats.q:8222/", "http://10.0.0.3:8222/"],
            ),
            ("nothing usable", servers("n:1", json!(["", ":1", "a b:1", "u@h:1"]), Value::Null), vec![]),
        ];
        for (title, found, expected) in rows {
            assert_eq!(found, expected, "{title}");
        }
        let many: Vec<String> = (0..1000).map(|number| format!("h{number}:4222")).collect();
        assert_eq!(servers("n:1", json!(many), json!([])).len(), SERVERS_MAX);
    }

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        let rows = [
            ("nats:8222", Ok("http://nats:8222/x")),
            ("nats", Ok("http://nats/x")),
            ("[::1]:8222", Ok("http://[::1]:8222/x")),
            ("http://nats:8222", Err("is a URL")),
            ("nats:8222/jsz", Err("is not a host and a port")),
            ("user@nats:8222", Err("is not a host and a port")),
            ("nats:0", Err("has no usable port")),
            ("nats:99999", Err("has no usable port")),
            ("nats:", Err("has no usable port")),
            (":8222", Err("is not a host and a port")),
            ("a b:1", Err("is not a host and a port")),
        ];
        for (text, expected) in rows {
            let parsed = MonitoringEndpoint::parse(false, text).map(|endpoint| endpoint.url("/x"));
            assert_eq!(parsed.as_deref().map_err(|error| error.problem.as_str()), expected, "{text}");
        }
        assert_eq!(MonitoringEndpoint::parse(true, "n:1").unwrap().url("/x"), "https://n:1/x");
    }

    #[test]
    fn the_account_is_escaped() {
        let name = ConsumerName { account_id: "$G&x=".to_owned(), ..name() };
        assert_eq!(name.page(), "/jsz?acc=%24G%26x%3D&config=true&consumers=true");
    }
}
