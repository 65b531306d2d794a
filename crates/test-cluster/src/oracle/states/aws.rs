//! Services of AWS, as moto.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

use crate::moto::Moto;
use crate::oracle::cases::aws_cloudwatch::METRICS;
use crate::oracle::cases::aws_sqs_queue::QUEUES;
use crate::oracle::sources::{Placeholder, Sources};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] = &[("moto", "http://127.0.0.1:4566")];

/// How many entries one request may have.
const SENT_AT_ONCE: usize = 10;

/// SQS queues, with messages that stay in flight or delayed.
pub(in crate::oracle) async fn start_queues(name: &str) -> anyhow::Result<Sources> {
    let moto = Moto::start(name).await?;
    let ask = async |action: &str, question: Value| moto.ask("sqs", &format!("AmazonSQS.{action}"), &question).await;
    for (queue, visible, received, delayed) in QUEUES {
        let is_fifo = queue.ends_with(".fifo");
        let attributes = if is_fifo { json!({ "FifoQueue": "true" }) } else { json!({}) };
        let created = ask("CreateQueue", json!({ "QueueName": queue, "Attributes": attributes })).await?;
        let url = created["QueueUrl"].as_str().context("the queue has no URL")?.to_owned();
        for number in 0..visible + delayed {
            let mut message = json!({ "QueueUrl": url, "MessageBody": "x" });
            if is_fifo {
                let order = json!({ "MessageGroupId": "g", "MessageDeduplicationId": number.to_string() });
                json_patch::merge(&mut message, &order);
            } else if number >= visible {
                json_patch::merge(&mut message, &json!({ "DelaySeconds": 900 }));
            }
            ask("SendMessage", message).await?;
        }
        if received > 0 {
            let question = json!({ "QueueUrl": url, "MaxNumberOfMessages": received, "VisibilityTimeout": 40_000 });
            ask("ReceiveMessage", question).await?;
        }
    }
    Ok(Sources::default().with("moto", moto.url()).keeping(moto))
}

/// A metric of CloudWatch for each queue, with three values in each minute.
pub(in crate::oracle) async fn start_metrics(name: &str) -> anyhow::Result<Sources> {
    let moto = Moto::start(name).await?;
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
    let minute = now - now % 60;
    for (queue, values, [newest, oldest]) in METRICS {
        let mut data = Vec::new();
        for ago in newest..=oldest {
            for (seconds, value) in [10, 20, 30].into_iter().zip(values) {
                let dimensions = json!([{ "Name": "Queue", "Value": queue }]);
                let at = minute - ago * 60 + seconds;
                data.push(json!({ "MetricName": "depth", "Value": value, "Dimensions": dimensions, "Timestamp": at }));
            }
        }
        for part in data.chunks(SENT_AT_ONCE) {
            let question = json!({ "Namespace": "shop", "MetricData": part });
            moto.ask("monitoring", "GraniteServiceVersion20100801.PutMetricData", &question).await?;
        }
    }
    Ok(Sources::default().with("moto", moto.url()).keeping(moto))
}
