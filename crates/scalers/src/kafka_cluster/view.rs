//! What brokers have said about their cluster: which of them leads a partition, and which has the offsets of a group.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kedge_wire::kafka::ErrorCode;
use kedge_wire::kafka::messages::{FindCoordinatorResponse, MetadataResponse, TopicMetadata};
use tokio::time::Instant;

use crate::host_port::HostPort;

/// How long a topic is taken to have the partitions that it had. Brokers report when a partition has moved; only new
/// partitions are seen later. It is shorter than polls are apart as a rule.
const TOPIC_AGE_MAX: Duration = Duration::from_secs(10);

/// Topics of this age are asked for together with those that are needed now.
const TOPIC_AGE_SOON: Duration = Duration::from_secs(5);

/// How long a group is taken to be where it was. Brokers report when it has moved; this drops groups that no trigger asks for.
const COORDINATOR_AGE_MAX: Duration = Duration::from_secs(600);

/// How many brokers a cluster may have: each that leads something gets a connection.
const BROKERS_MAX: usize = 500;

const TOO_MANY_BROKERS: &str = "the cluster has more than 500 brokers";

/// What brokers have said about the cluster.
#[derive(Debug, Default)]
pub(super) struct View {
    nodes: BTreeMap<i32, HostPort>,
    topics: HashMap<Arc<str>, SeenTopic>,
    /// The names of all topics, where a trigger wants all.
    all: Option<(Instant, Vec<Arc<str>>)>,
    groups: HashMap<Arc<str>, (i32, Instant)>,
    /// The topics that the next question is for.
    wanted: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
struct SeenTopic {
    partitions: Result<Arc<[Partition]>, ErrorCode>,
    seen_at: Instant,
    /// Whether a trigger that names it has read it.
    is_used: bool,
}

/// A partition, and the node that leads it; none has one that is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) index: i32,
    pub(crate) leader: i32,
}

/// A topic, and its partitions.
pub(crate) type Topic = (Arc<str>, Arc<[Partition]>);

pub(super) type TopicError = (ErrorCode, Arc<str>);

/// Which topics are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    Named(&'a [Arc<str>]),
    All,
}

impl View {
    /// The topics, if all of them are known well enough to a reading that began at `asked_at`; or an error that is as new.
    pub(super) fn topics(&mut self, wanted: Wanted<'_>, asked_at: Instant) -> Option<Result<Vec<Topic>, TopicError>> {
        let is_fresh = |seen_at: Instant| asked_at.saturating_duration_since(seen_at) < TOPIC_AGE_MAX;
        let names = match wanted {
            Wanted::Named(names) => names.to_vec(),
            Wanted::All => self.all.as_ref().filter(|(seen_at, _)| is_fresh(*seen_at))?.1.clone(),
        };
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let seen = self.topics.get_mut(&name)?;
            seen.is_used |= matches!(wanted, Wanted::Named(_));
            match &seen.partitions {
                Ok(partitions) if is_fresh(seen.seen_at) => found.push((name, Arc::clone(partitions))),
                Err(code) if seen.seen_at >= asked_at => return Some(Err((*code, name))),
                _ => return None,
            }
        }
        Some(Ok(found))
    }

    pub(super) fn coordinator(&self, group: &str) -> Option<HostPort> {
        let (node, _) = self.groups.get(group).filter(|(_, found_at)| found_at.elapsed() < COORDINATOR_AGE_MAX)?;
        self.nodes.get(node).cloned()
    }

    /// Stores where a group is. Returns the address of its broker.
    pub(super) fn store_coordinator(
        &mut self,
        group: &Arc<str>,
        answer: &FindCoordinatorResponse,
    ) -> Result<HostPort, &'static str> {
        let address = address(&answer.host, answer.port).ok_or("the broker in it has no address")?;
        if self.nodes.len() >= BROKERS_MAX && !self.nodes.contains_key(&answer.node_id) {
            return Err(TOO_MANY_BROKERS);
        }
        self.nodes.insert(answer.node_id, address.clone());
        self.groups.insert(Arc::clone(group), (answer.node_id, Instant::now()));
        Ok(address)
    }

    /// The address of a broker.
    pub(super) fn node(&self, id: i32) -> Option<HostPort> {
        self.nodes.get(&id).cloned()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &HostPort> {
        self.nodes.values()
    }

    /// Notes what the next question is for.
    pub(super) fn want(&mut self, wanted: Wanted<'_>) {
        if let Wanted::Named(names) = wanted {
            self.wanted.extend(names.iter().cloned());
        }
    }

    /// Drops what is known about topics and a group.
    pub(super) fn forget(&mut self, topics: &[Arc<str>], group: &str) {
        for topic in topics {
            self.topics.remove(topic);
        }
        self.groups.remove(group);
        if !topics.is_empty() {
            self.all = None;
        }
    }

    /// What the next question is for: what is needed now, and what is in use and will be needed soon.
    pub(super) fn take_wanted(&mut self, names: &[Arc<str>]) -> BTreeSet<Arc<str>> {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.extend(names.iter().cloned());
        let soon = self.topics.iter().filter(|(_, seen)| seen.is_used && seen.seen_at.elapsed() >= TOPIC_AGE_SOON);
        wanted.extend(soon.map(|(name, _)| Arc::clone(name)));
        wanted
    }

    /// Stores an answer, and drops what is too old. Returns the addresses of the brokers.
    pub(super) fn store(
        &mut self,
        answer: MetadataResponse,
        asked: Option<&BTreeSet<Arc<str>>>,
    ) -> Result<BTreeSet<HostPort>, &'static str> {
        let now = Instant::now();
        if answer.brokers.len() > BROKERS_MAX {
            return Err(TOO_MANY_BROKERS);
        }
        let nodes = answer.brokers.iter().map(|broker| Some((broker.node_id, address(&broker.host, broker.port)?)));
        let nodes: BTreeMap<i32, HostPort> = nodes.collect::<Option<_>>().ok_or("a broker in it has no address")?;
        require_each_once(&answer.topics)?;
        let mut names = Vec::with_capacity(answer.topics.len());
        for topic in answer.topics {
            let name = match asked.map(|asked| asked.get(topic.name.as_str())) {
                // One that is missing in return is so for its own triggers only.
                Some(None) => continue,
                Some(Some(name)) => Arc::clone(name),
                None => Arc::from(topic.name.as_str()),
            };
            names.push(Arc::clone(&name));
            let seen = SeenTopic { partitions: partitions(topic), seen_at: now, is_used: false };
            self.topics.insert(name, seen);
        }
        if asked.is_none() {
            self.all = Some((now, names));
        }
        self.all.take_if(|(seen_at, _)| now.saturating_duration_since(*seen_at) >= TOPIC_AGE_MAX);
        self.topics.retain(|_, seen| now.saturating_duration_since(seen.seen_at) < TOPIC_AGE_MAX);
        self.groups.retain(|_, (_, found_at)| now.saturating_duration_since(*found_at) < COORDINATOR_AGE_MAX);
        self.nodes = nodes;
        Ok(self.nodes.values().cloned().collect())
    }
}

fn partitions(topic: TopicMetadata) -> Result<Arc<[Partition]>, ErrorCode> {
    match topic.error_code.error() {
        Some(code) => Err(code),
        // A partition without a leader has an error, too; it matters only where the partition counts.
        None => Ok(topic.partitions.iter().map(|one| Partition { index: one.index, leader: one.leader }).collect()),
    }
}

/// Refuses a topic or a partition that comes twice: one of the two is another one, of which nothing would be read.
fn require_each_once(topics: &[TopicMetadata]) -> Result<(), &'static str> {
    let mut names = HashSet::with_capacity(topics.len());
    for topic in topics {
        let mut indexes = HashSet::with_capacity(topic.partitions.len());
        if !names.insert(topic.name.as_str()) {
            return Err("a topic is in it twice");
        }
        if !topic.partitions.iter().all(|one| indexes.insert(one.index)) {
            return Err("a partition is in it twice");
        }
    }
    Ok(())
}

fn address(host: &str, port: i32) -> Option<HostPort> {
    let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    HostPort::new(&bracketed, &port.to_string()).ok()
}
