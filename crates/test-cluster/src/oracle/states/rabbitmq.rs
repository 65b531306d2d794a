//! A RabbitMQ broker, with the same queues in two virtual hosts.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::oracle::cases::rabbitmq::{PASSWORD, QUEUES, USER, VHOSTS};
use crate::oracle::sources::{Placeholder, Sources};
use crate::rabbitmq::{self, RabbitBroker, RabbitClient};
use crate::wait::{DEADLINE, wait_for};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("rabbitmq-http", "127.0.0.1:15672"), ("rabbitmq-amqp", "127.0.0.1:5672")];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let broker = RabbitBroker::start(name, &[]).await?;
    let user = json!({ "password": PASSWORD, "tags": "management" });
    broker.ask("PUT", &format!("/users/{USER}"), Some(user)).await?;
    let mut clients = Vec::new();
    for vhost in VHOSTS {
        clients.push(fill(&broker, vhost).await?);
    }
    // The first search starts the broker's cache; of several at once, all but one would fail.
    broker.ask("GET", "/queues/%2F?page=1&page_size=100&name=.&use_regex=true", None).await?;
    let sources = Sources::default()
        .with("rabbitmq-http", broker.management().to_string())
        .with("rabbitmq-amqp", broker.amqp().to_string());
    Ok(sources.keeping((broker, clients)))
}

/// Creates the queues of a virtual host. The client holds the messages that are not acknowledged.
async fn fill(broker: &RabbitBroker, vhost: &str) -> anyhow::Result<RabbitClient> {
    let path = vhost.replace('/', "%2F");
    broker.ask("PUT", &format!("/vhosts/{path}"), None).await?;
    for user in [USER, rabbitmq::USER] {
        let all = json!({ "configure": ".*", "write": ".*", "read": ".*" });
        broker.ask("PUT", &format!("/permissions/{path}/{user}"), Some(all)).await?;
    }
    let mut client = RabbitClient::connect_to(broker.amqp(), vhost)?;
    for (queue, messages, taken) in QUEUES {
        broker.ask("PUT", &format!("/queues/{path}/{queue}"), Some(json!({ "durable": true }))).await?;
        let message = json!({ "properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string" });
        for _ in 0..*messages {
            let target = format!("/exchanges/{path}/amq.default/publish");
            let published = broker.ask("POST", &target, Some(message.clone())).await?;
            ensure!(published["routed"] == true, "{published}");
        }
        client.take(queue, *taken)?;
    }
    for (queue, messages, taken) in QUEUES {
        until_counted(broker, &format!("/queues/{path}/{queue}"), *messages, *taken).await?;
    }
    Ok(client)
}

/// Waits for the statistics of a queue, which are not of this moment.
async fn until_counted(broker: &RabbitBroker, path: &str, messages: usize, taken: usize) -> anyhow::Result<()> {
    let expected = [("messages", messages), ("messages_ready", messages - taken), ("messages_unacknowledged", taken)];
    let is_counted = async || match broker.ask("GET", path, None).await {
        Ok(queue) if expected.iter().all(|(name, number)| queue[*name] == json!(number)) => Ok(()),
        other => Err(shown(other)),
    };
    wait_for("the statistics are complete", DEADLINE, is_counted).await.with_context(|| path.to_owned())
}

fn shown(answer: anyhow::Result<Value>) -> String {
    answer.map_or_else(|error| format!("{error:#}"), |queue| queue.to_string())
}
