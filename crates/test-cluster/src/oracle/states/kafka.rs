//! A Kafka broker, with topics and what groups committed.

use crate::kafka::KafkaServer;
use crate::oracle::cases::kafka::{COMMITS, TOPICS};
use crate::oracle::sources::{Placeholder, Sources};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("kafka", "127.0.0.1:9092"), ("kafka-sasl", "127.0.0.1:9093")];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let server = KafkaServer::start(name).await?;
    let mut client = server.client()?;
    for (topic, partitions) in TOPICS {
        client.create_topic(topic, i32::try_from(partitions.len())?).await?;
        for (index, (messages, deleted)) in (0..).zip(partitions) {
            if *messages > 0 {
                client.produce(topic, index, *messages).await?;
            }
            if *deleted > 0 {
                client.delete_before(topic, index, *deleted).await?;
            }
        }
    }
    for (group, commits) in COMMITS {
        for (topic, index, offset) in commits {
            client.commit(group, topic, *index, *offset).await?;
        }
    }
    let sources = Sources::default().with("kafka", server.address()).with("kafka-sasl", server.sasl_address());
    Ok(sources.keeping(server))
}
