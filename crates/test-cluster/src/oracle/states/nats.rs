//! NATS servers: one without accounts, and one with them.

use serde_json::json;

use crate::nats::NatsServers;
use crate::oracle::cases::nats_jetstream::{ACCOUNTS, CONSUMERS, STREAMS};
use crate::oracle::sources::{Placeholder, Sources};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("nats", "127.0.0.1:8222"), ("nats-accounts", "127.0.0.1:8223")];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let mut servers = NatsServers::prepare(name).await?;
    let plain = servers.start("plain", "").await?;
    let mut client = plain.connect(json!({}))?;
    for (stream, count) in STREAMS {
        client.create_stream(stream, 1)?;
        client.publish(stream, count)?;
    }
    for (stream, consumer, taken, acknowledged) in CONSUMERS {
        client.create_consumer(stream, consumer)?;
        if taken > 0 {
            client.take(stream, consumer, taken, acknowledged)?;
        }
    }
    let users = "accounts {
        SHOP: { jetstream: enabled, users: [{ user: shop, password: s3cret }] }
        BANK: { jetstream: enabled, users: [{ user: bank, password: s3cret }] }
        PLAIN: { users: [{ user: plain, password: s3cret }] }
    }";
    let accounts = servers.start("accounts", users).await?;
    for (_, user, count) in ACCOUNTS {
        let mut client = accounts.connect(json!({ "user": user, "pass": "s3cret" }))?;
        client.create_stream("orders", 1)?;
        client.create_consumer("orders", "worker")?;
        client.publish("orders", count)?;
    }
    let sources = Sources::default()
        .with("nats", plain.monitoring().to_string())
        .with("nats-accounts", accounts.monitoring().to_string());
    Ok(sources.keeping((servers, plain, accounts)))
}
