//! The offsets of a reading: what a group has committed, and where its partitions end and begin.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{try_join, try_join_all};
use kedge_wire::kafka::messages::{
    DescribeGroups, ListOffsets, ListOffsetsPartition, ListOffsetsTopic, OffsetFetch, TopicPartitions,
};
use tokio::time::Instant;

use super::broker::Broker;
use super::cluster::Cluster;
use super::failure::{Failure, Subject};
use super::lag::PartitionOffsets;
use super::view::{Partition, Topic, Wanted};
use crate::error::ReadError;
use crate::sessions::deadline;

/// How long to wait before a question is asked again: at once of those who know better, and once more for those who are about to.
const PAUSES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(250)];

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

impl OffsetSource {
    /// The offsets of every partition that counts. One deadline covers everything.
    pub(super) async fn fetch(&self, now: DateTime<Utc>) -> Result<Vec<PartitionOffsets>, ReadError> {
        let until = deadline(self.limit);
        self.cluster.set_now(now);
        match tokio::time::timeout_at(until, self.fetch_until(until)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ReadError::Timeout { endpoint: self.cluster.endpoint(), limit: self.limit }),
        }
    }

    async fn fetch_until(&self, until: Instant) -> Result<Vec<PartitionOffsets>, ReadError> {
        let mut pauses = PAUSES.iter();
        loop {
            let mut names = Vec::new();
            match (self.attempt(&mut names, until).await, pauses.next()) {
                (Err(Failure::Passing(error)), Some(pause)) if Instant::now() + *pause < until => {
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
                        "group {:?} has committed no offsets, which would tell its topics; give `topic`",
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
        let topics = self.counted(topics)?;
        let latest = self.listed(&topics, ListOffsetsPartition::LATEST, until);
        let (committed, latest) = match committed {
            Some(committed) => (committed, latest.await?),
            None => try_join(self.committed(Some(topics.as_slice()), until), latest).await?,
        };
        self.combine(&topics, &committed, &latest, until).await
    }

    /// The partitions that count: at least one of each topic.
    fn counted(&self, topics: Vec<Topic>) -> Result<Vec<CountedTopic>, Failure> {
        let is_counted = |partition: &Partition| match &self.partitions {
            None => true,
            Some(ranges) => ranges.iter().any(|range| range.contains(&partition.index)),
        };
        let mut counted = Vec::with_capacity(topics.len());
        for (name, partitions) in topics {
            let partitions: Vec<Partition> = partitions.iter().copied().filter(is_counted).collect();
            if partitions.is_empty() {
                let problem = format!("topic {name:?} has none of the partitions; check `partitionLimitation`");
                return Err(self.no_value(problem));
            }
            counted.push((name, partitions));
        }
        if counted.is_empty() { Err(self.no_value("the cluster has no topics".to_owned())) } else { Ok(counted) }
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
        let mut found = Offsets::new();
        for topic in answer.topics {
            let name = shared_name(topics, &topic.name);
            for one in topic.partitions {
                if let Some(code) = one.error_code.error() {
                    return Err(self.cluster.failure(code, Subject::Partition(&topic.name, one.index)));
                }
                put(&mut found, &coordinator, (&name, one.index), one.offset, topics)?;
            }
        }
        let missing = topics.iter().copied().flatten().find_map(|(name, partitions)| {
            partitions.iter().find(|partition| !found.contains_key(&(Arc::clone(name), partition.index)))
        });
        match missing {
            None => Ok(found),
            Some(_) => Err(coordinator.malformed("a partition that was asked for is missing").into()),
        }
    }

    /// The last or first offsets of partitions, of the brokers that lead them. Some may be missing.
    // KEDA: Azure Event Hubs leaves partitions out at times.
    async fn listed(&self, topics: &[CountedTopic], timestamp: i64, until: Instant) -> Result<Offsets, Failure> {
        let mut by_leader: BTreeMap<i32, (Arc<Broker>, Vec<ListOffsetsTopic>)> = BTreeMap::new();
        for (name, partitions) in topics {
            for partition in partitions {
                let asked = match by_leader.entry(partition.leader) {
                    std::collections::btree_map::Entry::Occupied(known) => &mut known.into_mut().1,
                    std::collections::btree_map::Entry::Vacant(new) => {
                        &mut new.insert((self.cluster.leader(name, *partition)?, Vec::new())).1
                    }
                };
                if asked.last().is_none_or(|topic| topic.name != **name) {
                    asked.push(ListOffsetsTopic { name: name.to_string(), partitions: Vec::new() });
                }
                let topic = asked.last_mut().expect("one was added for the topic");
                topic.partitions.push(ListOffsetsPartition { index: partition.index, timestamp });
            }
        }
        let asking = by_leader.into_values().map(|(leader, asked)| async move {
            let answer = leader.call(&ListOffsets { replica_id: -1, topics: asked }, until).await?;
            let mut found = Offsets::new();
            for topic in answer.topics {
                let name = shared_name(Some(topics), &topic.name);
                for one in topic.partitions {
                    if let Some(code) = one.error_code.error() {
                        return Err(self.cluster.failure(code, Subject::Partition(&topic.name, one.index)));
                    }
                    if one.offset < 0 {
                        return Err(leader.malformed("an offset is negative").into());
                    }
                    put(&mut found, &leader, (&name, one.index), one.offset, Some(topics))?;
                }
            }
            Ok::<_, Failure>(found)
        });
        Ok(try_join_all(asking).await?.into_iter().flatten().collect())
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
                "group {:?} has no members (state {}), which would tell that its topics are those of the cluster; give `topic`",
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
            self.add_first(&mut combined, &uncommitted, until).await;
        }
        Ok(combined)
    }

    /// Adds the first offsets of partitions without a committed one.
    // KEDA: where they cannot be read, the last offset counts.
    async fn add_first(&self, combined: &mut [PartitionOffsets], uncommitted: &[CountedTopic], until: Instant) {
        match self.listed(uncommitted, ListOffsetsPartition::EARLIEST, until).await {
            Ok(first) => {
                for one in combined {
                    one.first = first.get(&(Arc::clone(&one.topic), one.index)).copied();
                }
            }
            Err(failure) => tracing::debug!(error = %failure.error(), "the first offsets cannot be read"),
        }
    }

    fn no_value(&self, problem: String) -> Failure {
        Failure::Final(ReadError::NoValue { endpoint: self.cluster.endpoint(), problem })
    }
}

/// The name as it is shared, where the topic is known.
fn shared_name(topics: Option<&[CountedTopic]>, name: &str) -> Arc<str> {
    let known = topics.into_iter().flatten().find(|(known, _)| **known == *name);
    known.map_or_else(|| Arc::from(name), |(known, _)| Arc::clone(known))
}

/// Adds an offset, which must have been asked for, and once.
fn put(
    found: &mut Offsets,
    broker: &Broker,
    (name, index): (&Arc<str>, i32),
    offset: i64,
    asked: Option<&[CountedTopic]>,
) -> Result<(), Failure> {
    let is_asked = asked.is_none_or(|topics| {
        let mut topics = topics.iter().filter(|(known, _)| known == name);
        topics.any(|(_, partitions)| partitions.iter().any(|partition| partition.index == index))
    });
    if !is_asked || offset < -1 || found.insert((Arc::clone(name), index), offset).is_some() {
        return Err(broker.malformed("it has an offset that was not asked for").into());
    }
    Ok(())
}
