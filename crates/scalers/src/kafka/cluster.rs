//! A cluster of brokers as its triggers share it: a connection to each broker that is asked, and one view of topics and groups.
//!
//! The view says only *who* is asked: which broker leads a partition, and which has the offsets of a group. Offsets are never cached.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use kedge_wire::kafka::ErrorCode;
use kedge_wire::kafka::messages::{FindCoordinator, Metadata};
use tokio::time::Instant;

use super::broker::Broker;
use super::failure::{Failure, Subject};
use super::session::KafkaProtocol;
use super::sign_in::{Credentials, SignIn};
use super::view::{Partition, Topic, TopicError, View, Wanted};
use crate::dial::Dial;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::http::TlsProfile;
use crate::sessions::first_reachable;
use crate::shared::Shared;
use crate::trigger::FieldError;

/// How many of the brokers that are known are asked before the bootstrap servers: each has a share of the time.
const KNOWN_ASKED_MAX: usize = 2;

/// What sets a cluster apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClusterKey {
    pub(super) bootstrap: Vec<HostPort>,
    pub(super) security: Option<TlsProfile>,
    pub(super) credentials: Credentials,
}

/// The clusters in use.
#[derive(Debug, Default)]
pub(crate) struct KafkaClusters(Mutex<HashMap<Arc<ClusterKey>, Arc<Cluster>>>);

impl KafkaClusters {
    /// The cluster of a key: the one in use, or a new one. Nothing is connected yet.
    pub(super) fn cluster(&self, key: ClusterKey, shared: &Shared) -> Result<Arc<Cluster>, FieldError> {
        let mut clusters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = clusters.get(&key) {
            return Ok(Arc::clone(cluster));
        }
        // Credentials change: clusters that no scaler holds any more are dropped when a new one is added.
        clusters.retain(|_, cluster| Arc::strong_count(cluster) > 1);
        let tls = key.security.as_ref().map(|profile| shared.http.tls(profile)).transpose()?;
        let cluster = Arc::new(Cluster {
            bootstrap: key.bootstrap.clone(),
            dial: Dial::new(shared.http.connector(), tls),
            sign_in: Arc::new(SignIn::new(&key.credentials, shared)?),
            brokers: Mutex::default(),
            view: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        });
        clusters.insert(Arc::new(key), Arc::clone(&cluster));
        Ok(cluster)
    }
}

pub(super) struct Cluster {
    bootstrap: Vec<HostPort>,
    dial: Dial,
    sign_in: Arc<SignIn>,
    brokers: Mutex<BTreeMap<HostPort, Arc<Broker>>>,
    view: Mutex<View>,
    refreshing: tokio::sync::Mutex<()>,
}

impl Cluster {
    /// The server that is shown.
    pub(super) fn host(&self) -> String {
        self.bootstrap.first().map(ToString::to_string).unwrap_or_default()
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::from_host(self.host())
    }

    /// Tells the time of a reading, for tokens and signatures.
    pub(super) fn set_now(&self, now: DateTime<Utc>) {
        self.sign_in.set_now(now);
    }

    /// The partitions of topics.
    pub(super) async fn topics(&self, wanted: Wanted<'_>, until: Instant) -> Result<Vec<Topic>, Failure> {
        let asked_at = Instant::now();
        if let Some(found) = self.view().topics(wanted, asked_at) {
            return found.map_err(|error| self.topic_failure(error));
        }
        self.view().want(wanted);
        let _turn = self.refreshing.lock().await;
        // Whoever had the turn before may have asked for them, too.
        let found = self.view().topics(wanted, asked_at);
        let found = match found {
            Some(found) => found,
            None => {
                self.refresh(wanted, until).await?;
                self.view().topics(wanted, asked_at).ok_or_else(|| self.incomplete())?
            }
        };
        found.map_err(|error| self.topic_failure(error))
    }

    /// The broker that leads a partition.
    pub(super) fn leader(&self, topic: &str, partition: Partition) -> Result<Arc<Broker>, Failure> {
        let address = self.view().node(partition.leader);
        match address {
            Some(address) => Ok(self.broker(&address)),
            None => Err(self.failure(ErrorCode::LEADER_NOT_AVAILABLE, Subject::Partition(topic, partition.index))),
        }
    }

    /// The broker that has the offsets of a group.
    pub(super) async fn coordinator(&self, group: &Arc<str>, until: Instant) -> Result<Arc<Broker>, Failure> {
        let known = self.view().coordinator(group);
        if let Some(address) = known {
            return Ok(self.broker(&address));
        }
        let request = FindCoordinator { key: group.to_string(), key_type: FindCoordinator::GROUP };
        let (_, answer) = self.ask_any(&request, until).await?;
        if let Some(code) = answer.error_code.error() {
            return Err(self.failure(code, Subject::Group(group)));
        }
        let address = self.view().store_coordinator(group, &answer).ok_or_else(|| self.incomplete())?;
        Ok(self.broker(&address))
    }

    /// Drops what is known about topics and a group: some of it has changed.
    pub(super) fn forget(&self, topics: &[Arc<str>], group: &str) {
        self.view().forget(topics, group);
    }

    /// The error for what a broker said.
    pub(super) fn failure(&self, code: ErrorCode, subject: Subject<'_>) -> Failure {
        Failure::from_code(self.endpoint(), code, subject)
    }

    fn topic_failure(&self, (code, topic): TopicError) -> Failure {
        match (self.failure(code, Subject::Topic(&topic)), code) {
            // Brokers that were asked for the topics know which there are.
            (failure, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => Failure::Final(failure.error()),
            (failure, _) => failure,
        }
    }

    fn incomplete(&self) -> ReadError {
        let problem = "it does not have what was asked for".to_owned();
        ReadError::Malformed { endpoint: self.endpoint(), problem }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn brokers(&self) -> MutexGuard<'_, BTreeMap<HostPort, Arc<Broker>>> {
        self.brokers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broker(&self, address: &HostPort) -> Arc<Broker> {
        let open = || {
            let protocol = KafkaProtocol { sign_in: Arc::clone(&self.sign_in), host: address.host.clone() };
            Arc::new(Broker::new(protocol, self.dial.clone(), address.clone()))
        };
        Arc::clone(self.brokers().entry(address.clone()).or_insert_with(open))
    }

    /// Asks brokers for the topics that are needed now, and for those that soon will be.
    async fn refresh(&self, wanted: Wanted<'_>, until: Instant) -> Result<(), Failure> {
        let names = match wanted {
            Wanted::Named(names) => Some(self.view().take_wanted(names)),
            Wanted::All => None,
        };
        let texts = names.as_ref().map(|names| names.iter().map(ToString::to_string).collect());
        let request = Metadata { topics: texts, creates_topics: false };
        let (endpoint, answer) = self.ask_any(&request, until).await?;
        let used = self.view().store(answer, names.as_ref());
        let used = used.map_err(|problem| ReadError::Malformed { endpoint, problem: problem.to_owned() })?;
        // Those of the bootstrap servers that are no address of a broker are closed.
        self.brokers().retain(|address, _| used.contains(address));
        Ok(())
    }

    /// Asks any broker: one that is connected, another one, or a bootstrap server.
    async fn ask_any<R: kedge_wire::kafka::Request + Sync>(
        &self,
        request: &R,
        until: Instant,
    ) -> Result<(Endpoint, R::Response), ReadError> {
        let mut servers: Vec<HostPort> = self.brokers().keys().cloned().collect();
        servers.extend(self.view().nodes().filter(|node| !servers.contains(node)).cloned().collect::<Vec<_>>());
        servers.truncate(KNOWN_ASKED_MAX);
        servers.extend(self.bootstrap.iter().filter(|server| !servers.contains(server)).cloned().collect::<Vec<_>>());
        first_reachable(&servers, until, |server, until| async move {
            let broker = self.broker(&server);
            Ok((broker.endpoint(), broker.call(request, until).await?))
        })
        .await
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.bootstrap).finish()
    }
}
