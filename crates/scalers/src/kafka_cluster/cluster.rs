//! A cluster of brokers as its triggers share it: a connection to each broker that is asked, and one view of topics and groups.
//!
//! The view says only *who* is asked: which broker leads a partition, and which has the offsets of a group. Offsets are never cached.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use chrono::{DateTime, Utc};
use kedge_wire::kafka::messages::{FindCoordinator, Metadata};
use kedge_wire::kafka::{ErrorCode, Request};
use tokio::time::Instant;

use super::broker::Broker;
use super::failure::{Failure, Subject};
use super::preference::Preference;
use super::session::KafkaProtocol;
use super::sign_in::{Credentials, SignIn};
use super::view::{Partition, Topic, TopicError, View, Wanted};
use crate::dial::Dial;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::http::{HttpClients, TlsProfile};
use crate::identity::Signers;
use crate::sessions::first_reachable;
use crate::trigger::FieldError;

/// How many of the brokers that are known are asked before the bootstrap servers: each has a share of the time.
const KNOWN_ASKED_MAX: usize = 2;

/// What sets a cluster apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClusterKey {
    pub(crate) bootstrap: Vec<HostPort>,
    pub(crate) security: Option<TlsProfile>,
    pub(crate) credentials: Credentials,
}

/// The clusters in use: connections end with the last scaler that has the cluster.
#[derive(Debug, Default)]
pub(crate) struct KafkaClusters(Mutex<HashMap<ClusterKey, Weak<Cluster>>>);

impl KafkaClusters {
    /// The cluster of a key: the one in use, or a new one. Nothing is connected yet.
    pub(crate) fn cluster(
        &self,
        key: ClusterKey,
        http: &HttpClients,
        signers: &Signers,
    ) -> Result<Arc<Cluster>, FieldError> {
        let mut clusters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = clusters.get(&key).and_then(Weak::upgrade) {
            return Ok(cluster);
        }
        // Credentials change: the keys of clusters that are gone are dropped when a new one is added.
        clusters.retain(|_, cluster| cluster.strong_count() > 0);
        let tls = key.security.as_ref().map(|profile| http.tls(profile)).transpose()?;
        let cluster = Arc::new(Cluster {
            bootstrap: key.bootstrap.clone(),
            dial: Dial::new(http.connector(), tls),
            sign_in: Arc::new(SignIn::new(&key.credentials, http, signers)?),
            brokers: Mutex::default(),
            view: Mutex::default(),
            preference: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        });
        clusters.insert(key, Arc::downgrade(&cluster));
        Ok(cluster)
    }
}

pub(crate) struct Cluster {
    bootstrap: Vec<HostPort>,
    dial: Dial,
    sign_in: Arc<SignIn>,
    brokers: Mutex<BTreeMap<HostPort, Arc<Broker>>>,
    view: Mutex<View>,
    preference: Mutex<Preference>,
    /// Held while topics are asked for. It has the last failure, for those who waited meanwhile.
    refreshing: tokio::sync::Mutex<Option<(Instant, ReadError)>>,
}

impl Cluster {
    /// The server that is shown.
    pub(crate) fn host(&self) -> String {
        self.bootstrap.first().map(ToString::to_string).unwrap_or_default()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::from_host(self.host())
    }

    /// Sets the time of a reading, for tokens and signatures.
    pub(crate) fn set_now(&self, now: DateTime<Utc>) {
        self.sign_in.set_now(now);
    }

    /// The partitions of topics.
    pub(crate) async fn topics(&self, wanted: Wanted<'_>, until: Instant) -> Result<Vec<Topic>, Failure> {
        let asked_at = Instant::now();
        if let Some(found) = self.view().topics(wanted, asked_at) {
            return found.map_err(|error| self.topic_failure(error));
        }
        self.view().want(wanted);
        let mut failed = self.refreshing.lock().await;
        // Whoever held it before may have asked for them, too, or failed to.
        let found = self.view().topics(wanted, asked_at);
        let found = match (found, failed.as_ref()) {
            (Some(found), _) => found,
            (None, Some((failed_at, error))) if *failed_at > asked_at => return Err(error.clone().into()),
            (None, _) => {
                let refreshed = self.refresh(wanted, until).await;
                // The others may have more time left.
                let failure = refreshed.as_ref().err().filter(|error| !matches!(error, ReadError::Timeout { .. }));
                *failed = failure.map(|error| (Instant::now(), error.clone()));
                refreshed?;
                self.view().topics(wanted, asked_at).ok_or_else(|| self.incomplete())?
            }
        };
        found.map_err(|error| self.topic_failure(error))
    }

    /// The broker that leads a partition.
    pub(crate) fn leader(&self, topic: &str, partition: Partition) -> Result<Arc<Broker>, Failure> {
        let address = self.view().node(partition.leader);
        match address {
            Some(address) => Ok(self.broker(&address)),
            None => Err(self.failure(ErrorCode::LEADER_NOT_AVAILABLE, Subject::Partition(topic, partition.index))),
        }
    }

    /// The broker that has the offsets of a group.
    pub(crate) async fn coordinator(&self, group: &Arc<str>, until: Instant) -> Result<Arc<Broker>, Failure> {
        let known = self.view().coordinator(group);
        if let Some(address) = known {
            return Ok(self.broker(&address));
        }
        let request = FindCoordinator { key: group.to_string(), key_type: FindCoordinator::GROUP };
        let (endpoint, answer) = self.ask_any(&request, until).await?;
        if let Some(code) = answer.error_code.error() {
            return Err(self.failure(code, Subject::Group(group)));
        }
        let stored = self.view().store_coordinator(group, &answer);
        let address = stored.map_err(|problem| ReadError::Malformed { endpoint, problem: problem.to_owned() })?;
        Ok(self.broker(&address))
    }

    /// Drops what is known about topics and a group: some of it has changed. Connections to brokers that are no longer named are closed.
    pub(crate) fn forget(&self, topics: &[Arc<str>], group: &str) {
        let mut view = self.view();
        view.forget(topics, group);
        let used: BTreeSet<HostPort> = view.nodes().chain(&self.bootstrap).cloned().collect();
        drop(view);
        self.brokers().retain(|address, _| used.contains(address));
    }

    /// The error for what a broker said.
    pub(crate) fn failure(&self, code: ErrorCode, subject: Subject<'_>) -> Failure {
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
    async fn refresh(&self, wanted: Wanted<'_>, until: Instant) -> Result<(), ReadError> {
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

    /// Asks any broker: the one that answered last, another one, or a bootstrap server.
    async fn ask_any<R: Request + Sync>(
        &self,
        request: &R,
        until: Instant,
    ) -> Result<(Endpoint, R::Response), ReadError> {
        first_reachable(&self.servers(), until, |server, until| async move {
            let broker = self.broker(&server);
            let answer = broker.call(request, until).await;
            let mut preference = self.preference.lock().unwrap_or_else(PoisonError::into_inner);
            match &answer {
                Ok(_) => preference.note_answer(&server),
                Err(_) => preference.note_failure(&server),
            }
            drop(preference);
            Ok((broker.endpoint(), answer?))
        })
        .await
    }

    /// The servers that are asked for what each of them knows, in order.
    fn servers(&self) -> Vec<HostPort> {
        let mut servers: Vec<HostPort> = self.brokers().keys().cloned().collect();
        let connected: BTreeSet<HostPort> = servers.iter().cloned().collect();
        servers.extend(self.view().nodes().filter(|node| !connected.contains(node)).cloned());
        let mut bootstrap = self.bootstrap.clone();
        let preference = self.preference.lock().unwrap_or_else(PoisonError::into_inner);
        preference.sort(&mut servers);
        preference.sort(&mut bootstrap);
        servers.truncate(KNOWN_ASKED_MAX);
        bootstrap.retain(|server| !servers.contains(server));
        servers.extend(bootstrap);
        servers
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.bootstrap).finish()
    }
}
