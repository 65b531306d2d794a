//! The offsets of a reading: what a group has committed, and where its partitions end and begin.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::try_join;
use futures::{StreamExt, TryStreamExt, stream};
use kedge_wire::kafka::messages::{
    DescribeGroups, ListOffsets, ListOffsetsPartition, ListOffsetsTopic, OffsetFetch, TopicPartitions,
};
use tokio::time::Instant;

use super::lag::PartitionOffsets;
use crate::error::ReadError;
use crate::kafka_cluster::{Broker, Cluster, Failure, Partition, Subject, Topic, Wanted};
use crate::sessions::deadline;

/// How long to wait before a question is asked again: at once of those who know better, and then of those who are about to. A coordinator
/// that reads its offsets, or that creates the topic for them, takes a second or so.
const PAUSES: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(250), Duration::from_millis(500), Duration::from_millis(1000)];

/// How many partitions one reading may have: more would keep a thread and its memory busy.
const PARTITIONS_MAX: usize = 100_000;

/// How many brokers one reading asks at a time.
const LEADERS_AT_ONCE: usize = 32;

/// What a trigger reads.
#[derive(Debug)]
pub(super) struct OffsetSource {
    pub(super) cluster: Arc<Cluster>,
    pub(super) group: Arc<str>,
    pub(super) topics: Topics,
    /// Only these partitions.
    pub(super) partitions: Option<Vec<RangeInclusive<i32>>>,
    pub(super) first_offsets: FirstOffsets,
    pub(super) limit: Duration,
}

/// Which topics count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topics {
    Named(Vec<Arc<str>>),
    /// Those that the group has committed offsets of.
    Committed,
    /// All of the cluster, while the group has members.
    // KEDA: `apache-kafka` without a topic.
    OfCluster,
}

/// Whether the first offsets of partitions without a committed one are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstOffsets {
    Read,
    NotRead,
}

/// A topic, and those of its partitions that count.
type CountedTopic = (Arc<str>, Vec<Partition>);

type Offsets = BTreeMap<(Arc<str>, i32), i64>;

/// A topic by its shared name, and the partitions of it that were asked for.
type AskedTopic<'a> = (&'a Arc<str>, HashSet<i32>);

/// The offsets of one answer, each of which must have been asked for, and come once.
struct Collected<'a> {
    broker: &'a Broker,
    /// The partitions that were asked for, by the name of their topic; none means all that there are.
    asked: Option<HashMap<&'a str, AskedTopic<'a>>>,
    found: Offsets,
}

impl<'a> Collected<'a> {
    fn new(broker: &'a Broker, topics: Option<&'a [CountedTopic]>) -> Self {
        let asked = |(name, partitions): &'a CountedTopic| {
            let indexes = partitions.iter().map(|partition| partition.index).collect();
            (&**name, (name, indexes))
        };
        let asked = topics.map(|topics| topics.iter().map(asked).collect());
        Self { broker, asked, found: Offsets::new() }
    }

    /// Adds the offsets of a topic. −1 means that there is none.
    fn add(&mut self, topic: &str, offsets: impl IntoIterator<Item = (i32, i64)>) -> Result<(), Failure> {
        let known = match &self.asked {
            None => None,
            Some(asked) => Some(asked.get(topic).ok_or_else(|| self.not_asked())?),
        };
        let name = known.map_or_else(|| Arc::from(topic), |(name, _)| Arc::clone(name));
        for (index, offset) in offsets {
            let is_asked = known.is_none_or(|(_, indexes)| indexes.contains(&index));
            if !is_asked || offset < -1 || self.found.insert((Arc::clone(&name), index), offset).is_some() {
                return Err(self.not_asked());
            }
        }
        Ok(())
    }

    fn not_asked(&self) -> Failure {
        self.broker.malformed("it has an offset that was not asked for").into()
    }

    /// Whether every partition that was asked for is there.
    fn is_complete(&self) -> bool {
        let asked = self.asked.iter().flatten().map(|(_, (_, indexes))| indexes.len());
        self.asked.is_none() || asked.sum::<usize>() == self.found.len()
    }
}

impl OffsetSource {
    /// The offsets of every partition that counts. One deadline covers everything.
    pub(super) async fn fetch(&self, now: DateTime<Utc>) -> Result<Vec<PartitionOffsets>, ReadError> {
        let until = deadline(self.limit);
        self.cluster.set_now(now);
        let outcome = tokio::time::timeout_at(until, self.fetch_until(until)).await;
        let timeout = |_| Err(ReadError::Timeout { endpoint: self.cluster.endpoint(), limit: self.limit });
        let outcome = outcome.unwrap_or_else(timeout);
        if let Err(ReadError::Timeout { .. }) = outcome {
            // The coordinator may be gone, and the group may have another one.
            self.cluster.forget(&[], &self.group);
        }
        outcome
    }

    async fn fetch_until(&self, until: Instant) -> Result<Vec<PartitionOffsets>, ReadError> {
        let mut pauses = PAUSES.iter();
        loop {
            let mut names = Vec::new();
            match (self.attempt(&mut names, until).await, pauses.next()) {
                (Err(Failure::Passing(error)), Some(pause))
                    if *pause < until.saturating_duration_since(Instant::now()) =>
                {
                    tracing::debug!(%error, "the view of the kafka cluster may be old; asking again");
                    self.cluster.forget(&names, &self.group);
                    tokio::time::sleep(*pause).await;
                }
                (outcome, _) => return outcome.map_err(Failure::error),
            }
        }
    }

    /// Reads by the present view of the cluster. Notes the names of the topics as soon as they are known.
    async fn attempt(&self, names: &mut Vec<Arc<str>>, until: Instant) -> Result<Vec<PartitionOffsets>, Failure> {
        let (topics, committed) = match &self.topics {
            Topics::Named(named) => {
                names.clone_from(named);
                (self.cluster.topics(Wanted::Named(named), until).await?, None)
            }
            Topics::Committed => {
                let committed = self.committed(None, until).await?;
                names.extend(committed.keys().map(|(topic, _)| Arc::clone(topic)));
                names.dedup();
                if names.is_empty() {
                    let problem = format!(
                        "group {:?} has committed no offsets, so that its topics are not known; give `topic`",
                        self.group
                    );
                    return Err(self.no_value(problem));
                }
                (self.cluster.topics(Wanted::Named(names), until).await?, Some(committed))
            }
            Topics::OfCluster => {
                self.require_members(until).await?;
                let topics = self.cluster.topics(Wanted::All, until).await?;
                names.extend(topics.iter().map(|(name, _)| Arc::clone(name)));
                (topics, None)
            }
        };
        if let Some(committed) = &committed {
            self.require_known(committed, &topics)?;
        }
        let topics = self.counted(topics)?;
        let latest = self.listed(&topics, ListOffsetsPartition::LATEST, until);
        let (committed, latest) = match committed {
            Some(committed) => (committed, latest.await?),
            None => try_join(self.committed(Some(topics.as_slice()), until), latest).await?,
        };
        self.combine(&topics, &committed, &latest, until).await
    }

    /// Refuses offsets of partitions that the topics do not have: one of the two answers is too old, or damaged.
    fn require_known(&self, committed: &Offsets, topics: &[Topic]) -> Result<(), Failure> {
        let indexes = |partitions: &[Partition]| partitions.iter().map(|partition| partition.index).collect();
        let known: HashMap<&str, HashSet<i32>> =
            topics.iter().map(|(name, partitions)| (&**name, indexes(partitions))).collect();
        let is_known = |(topic, index): &(Arc<str>, i32)| known.get(&**topic).is_some_and(|set| set.contains(index));
        match committed.keys().find(|key| !is_known(key)) {
            None => Ok(()),
            Some((topic, index)) => {
                let problem = format!("topic {topic:?} has no partition {index}, of which an offset is committed");
                Err(ReadError::Malformed { endpoint: self.cluster.endpoint(), problem }.into())
            }
        }
    }

    /// The partitions that count: at least one of all topics.
    // KEDA: `apache-kafka` leaves out topics that have none of the partitions.
    fn counted(&self, topics: Vec<Topic>) -> Result<Vec<CountedTopic>, Failure> {
        let is_counted = |partition: &Partition| match &self.partitions {
            None => true,
            Some(ranges) => ranges.iter().any(|range| range.contains(&partition.index)),
        };
        let mut counted = Vec::with_capacity(topics.len());
        for (name, partitions) in &topics {
            let partitions: Vec<Partition> = partitions.iter().copied().filter(is_counted).collect();
            if !partitions.is_empty() {
                counted.push((Arc::clone(name), partitions));
            } else if self.partitions.is_none() {
                return Err(self.no_value(format!("topic {name:?} has no partitions")));
            }
        }
        let count: usize = counted.iter().map(|(_, partitions)| partitions.len()).sum();
        match (count, topics.first()) {
            (1..=PARTITIONS_MAX, _) => Ok(counted),
            (0, None) => Err(self.no_value("the cluster has no topics".to_owned())),
            (0, Some((name, _))) => {
                Err(self.no_value(format!("topic {name:?} has none of the partitions; check `partitionLimitation`")))
            }
            _ => Err(self.too_many(count)),
        }
    }

    fn too_many(&self, count: usize) -> Failure {
        let remedy = "give fewer topics, or partitions by `partitionLimitation`";
        self.no_value(format!("there are {count} partitions, and {PARTITIONS_MAX} at most are read; {remedy}"))
    }

    /// The committed offsets of these partitions, or of all that have one.
    async fn committed(&self, topics: Option<&[CountedTopic]>, until: Instant) -> Result<Offsets, Failure> {
        let coordinator = self.cluster.coordinator(&self.group, until).await?;
        let asked = topics.map(|topics| {
            let one = |(name, partitions): &CountedTopic| TopicPartitions {
                name: name.to_string(),
                partitions: partitions.iter().map(|partition| partition.index).collect(),
            };
            topics.iter().map(one).collect()
        });
        let answer = coordinator.call(&OffsetFetch { group: self.group.to_string(), topics: asked }, until).await?;
        if let Some(code) = answer.error_code.error() {
            return Err(self.cluster.failure(code, Subject::Group(&self.group)));
        }
        let count = answer.topics.iter().map(|topic| topic.partitions.len()).sum();
        if count > PARTITIONS_MAX {
            return Err(self.too_many(count));
        }
        let mut collected = Collected::new(&coordinator, topics);
        for topic in &answer.topics {
            if let Some((one, code)) = topic.partitions.iter().find_map(|one| Some((one, one.error_code.error()?))) {
                return Err(self.cluster.failure(code, Subject::Partition(&topic.name, one.index)));
            }
            collected.add(&topic.name, topic.partitions.iter().map(|one| (one.index, one.offset)))?;
        }
        match collected.is_complete() {
            true => Ok(collected.found),
            false => Err(coordinator.malformed("a partition that was asked for is missing").into()),
        }
    }

    /// The last or first offsets of partitions, of the brokers that lead them. Some may be missing.
    // KEDA: Azure Event Hubs leaves partitions out at times.
    async fn listed(&self, topics: &[CountedTopic], timestamp: i64, until: Instant) -> Result<Offsets, Failure> {
        let mut by_leader: BTreeMap<i32, (Arc<Broker>, Vec<CountedTopic>)> = BTreeMap::new();
        for (name, partitions) in topics {
            for partition in partitions {
                let asked = match by_leader.entry(partition.leader) {
                    Entry::Occupied(known) => &mut known.into_mut().1,
                    Entry::Vacant(new) => &mut new.insert((self.cluster.leader(name, *partition)?, Vec::new())).1,
                };
                match asked.last_mut().filter(|(last, _)| last == name) {
                    Some((_, partitions)) => partitions.push(*partition),
                    None => asked.push((Arc::clone(name), vec![*partition])),
                }
            }
        }
        let asking: Vec<_> = by_leader
            .into_values()
            .map(|(leader, asked)| async move { self.listed_by(&leader, &asked, timestamp, until).await })
            .collect();
        let answers: Vec<Offsets> = stream::iter(asking).buffer_unordered(LEADERS_AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// The same of one broker, for the partitions that it leads.
    async fn listed_by(
        &self,
        leader: &Broker,
        topics: &[CountedTopic],
        timestamp: i64,
        until: Instant,
    ) -> Result<Offsets, Failure> {
        let one = |(name, partitions): &CountedTopic| ListOffsetsTopic {
            name: name.to_string(),
            partitions: partitions.iter().map(|one| ListOffsetsPartition { index: one.index, timestamp }).collect(),
        };
        let request = ListOffsets { replica_id: -1, topics: topics.iter().map(one).collect() };
        let answer = leader.call(&request, until).await?;
        let mut collected = Collected::new(leader, Some(topics));
        for topic in &answer.topics {
            if let Some((one, code)) = topic.partitions.iter().find_map(|one| Some((one, one.error_code.error()?))) {
                return Err(self.cluster.failure(code, Subject::Partition(&topic.name, one.index)));
            }
            if topic.partitions.iter().any(|one| one.offset < 0) {
                return Err(leader.malformed("an offset is negative").into());
            }
            collected.add(&topic.name, topic.partitions.iter().map(|one| (one.index, one.offset)))?;
        }
        Ok(collected.found)
    }

    async fn require_members(&self, until: Instant) -> Result<(), Failure> {
        let coordinator = self.cluster.coordinator(&self.group, until).await?;
        let answer = coordinator.call(&DescribeGroups { groups: vec![self.group.to_string()] }, until).await?;
        let [group] = answer.groups.as_slice() else {
            return Err(coordinator.malformed("it is not about the group that was asked for").into());
        };
        if let Some(code) = group.error_code.error() {
            return Err(self.cluster.failure(code, Subject::Group(&self.group)));
        }
        if group.members.is_empty() {
            let problem = format!(
                "group {:?} has no members (state {}), so that its topics are not known; give `topic`",
                self.group, group.state
            );
            return Err(self.no_value(problem));
        }
        Ok(())
    }

    /// What is known about the partitions whose last offset came back: at least one of each topic.
    async fn combine(
        &self,
        topics: &[CountedTopic],
        committed: &Offsets,
        latest: &Offsets,
        until: Instant,
    ) -> Result<Vec<PartitionOffsets>, Failure> {
        let mut combined = Vec::with_capacity(latest.len());
        let mut uncommitted: Vec<CountedTopic> = Vec::new();
        for (name, partitions) in topics {
            let before = combined.len();
            let mut without = Vec::new();
            for partition in partitions {
                let key = (Arc::clone(name), partition.index);
                let Some(latest) = latest.get(&key) else { continue };
                let committed = committed.get(&key).copied().filter(|offset| *offset >= 0);
                if committed.is_none() {
                    without.push(*partition);
                }
                let (topic, index) = key;
                combined.push(PartitionOffsets { topic, index, committed, latest: *latest, first: None });
            }
            if combined.len() == before {
                return Err(self.no_value(format!("the last offsets of topic {name:?} are missing")));
            }
            if !without.is_empty() {
                uncommitted.push((Arc::clone(name), without));
            }
        }
        if self.first_offsets == FirstOffsets::Read && !uncommitted.is_empty() {
            self.add_first(&mut combined, &uncommitted, until).await?;
        }
        Ok(combined)
    }

    /// Adds the first offsets of partitions without a committed one. One that a good answer leaves out stays unknown.
    // KEDA: where they cannot be read, for whatever reason, the last offset counts.
    async fn add_first(
        &self,
        combined: &mut [PartitionOffsets],
        uncommitted: &[CountedTopic],
        until: Instant,
    ) -> Result<(), Failure> {
        let first = self.listed(uncommitted, ListOffsetsPartition::EARLIEST, until).await?;
        for one in combined {
            one.first = first.get(&(Arc::clone(&one.topic), one.index)).copied();
        }
        Ok(())
    }

    fn no_value(&self, problem: String) -> Failure {
        Failure::Final(ReadError::NoValue { endpoint: self.cluster.endpoint(), problem })
    }
}
