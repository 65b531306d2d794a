//! `aws-sqs-queue`: the messages in a queue of Amazon SQS.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::aws_json::{self, AwsClient, Service};
use crate::error::{Endpoint, ReadError};
use crate::field::{Field, FieldGroup, Source};
use crate::identity::aws;
use crate::metadata::convert::{ConversionError, Converted};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "aws-sqs-queue",
    keda_scaler: "awsSqsQueueScaler",
    class: TriggerClass::Source,
    help: "the messages in a queue of Amazon SQS",
    docs_page: "aws-sqs-queue.md",
    groups: &[
        FieldGroup {
            title: "Queue",
            fields: &[
                QUEUE_URL,
                QUEUE_LENGTH,
                ACTIVATION_QUEUE_LENGTH,
                SCALE_ON_IN_FLIGHT,
                SCALE_ON_DELAYED,
                aws_json::ENDPOINT,
            ],
        },
        aws::FIELDS,
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(ACTIVATION_QUEUE_LENGTH.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

const QUEUE_URL: Field = Field::required("queueURL")
    .sources(&[Source::Metadata, Source::Environment])
    .help("The URL of the queue, or its name");
const QUEUE_LENGTH: Field = Field::optional("queueLength").default("5").help("How many messages one replica is for");
const ACTIVATION_QUEUE_LENGTH: Field = Field::optional("activationQueueLength")
    .default("0")
    .help("The trigger is active while there are more messages than this");
const SCALE_ON_IN_FLIGHT: Field = Field::optional("scaleOnInFlight")
    .default("true")
    .help("`true`: messages that were received and not deleted yet count too");
const SCALE_ON_DELAYED: Field =
    Field::optional("scaleOnDelayed").default("false").help("`true`: messages with a delay count too");

const SQS: Service = Service { name: "sqs", target: "AmazonSQS", content_type: "application/x-amz-json-1.0" };

/// A queue.
#[derive(Debug)]
struct SqsQueue {
    client: AwsClient,
    url: String,
    /// The numbers that are added up.
    attributes: Vec<&'static str>,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<SqsQueue>, BuildError> {
    let mut read = Reader::new(trigger);
    let queue = read.required(QUEUE_URL, |text| queue_name(text).map(|name| (text.to_owned(), name)));
    let name = queue.as_ref().map(|(_, name)| name.as_str()).unwrap_or_default();
    let name = metric_name::full_name(trigger.index, &format!("aws-sqs-{name}"));
    let metric = External::parse_whole(&mut read, trigger, name, QUEUE_LENGTH);
    let activation = read.or_default(ACTIVATION_QUEUE_LENGTH, convert::integer);
    let in_flight = read.or_default(SCALE_ON_IN_FLIGHT, convert::boolean);
    let delayed = read.or_default(SCALE_ON_DELAYED, convert::boolean);
    let mut attributes = vec!["ApproximateNumberOfMessages"];
    attributes.extend(in_flight.then_some("ApproximateNumberOfMessagesNotVisible"));
    attributes.extend(delayed.then_some("ApproximateNumberOfMessagesDelayed"));
    let client = AwsClient::parse(&mut read, trigger, shared, SQS);
    let made = (|| {
        let (url, _) = queue?;
        let source = SqsQueue { client: client?, url, attributes };
        Some(OneMetric { metric: metric?, activation: activation as f64, source })
    })();
    read.finish(made)
}

/// The name within a URL, whose path is `/ACCOUNT/NAME`.
// KEDA: what is no URL is the name itself.
fn queue_name(text: &str) -> Converted<String> {
    let path = match text.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => match text.strip_prefix('/') {
            Some(path) => path,
            // An ARN has a scheme, too.
            None if text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) => "",
            None => return Ok(text.to_owned()),
        },
    };
    let path = path.split('?').next().unwrap_or_default();
    match percent_decode_str(path).decode_utf8_lossy().split('/').collect::<Vec<_>>().as_slice() {
        [_, name] if !name.is_empty() => Ok((*name).to_owned()),
        _ => Err(ConversionError::new(
            "has no path of an account and a queue",
            "give it as in https://sqs.eu-west-1.amazonaws.com/123456789012/orders, or give the name alone",
        )),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

impl NumberSource for SqsQueue {
    async fn fetch_number(&self, now: DateTime<Utc>) -> Result<f64, ReadError> {
        let question = json!({ "QueueUrl": self.url, "AttributeNames": self.attributes });
        let (endpoint, answer) = self.client.ask("GetQueueAttributes", &question, now).await?;
        Ok(sum(&endpoint, &answer["Attributes"], &self.attributes)? as f64)
    }

    fn host(&self) -> Option<String> {
        self.client.host()
    }
}

fn sum(endpoint: &Endpoint, found: &Value, wanted: &[&str]) -> Result<i64, ReadError> {
    wanted.iter().try_fold(0_i64, |sum, name| {
        let number = found[*name].as_str().and_then(|text| text.parse::<i64>().ok()).filter(|number| *number >= 0);
        let problem = || format!("it has no number {name}");
        let number = number.ok_or_else(|| ReadError::Malformed { endpoint: endpoint.clone(), problem: problem() })?;
        Ok(sum.saturating_add(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damaged::{Damage, read_once};
    use crate::http::Settings;
    use crate::http::connector::Connector;
    use crate::recorded_server::{Recording, http_answer};
    use crate::sample::Sample;
    use crate::{NoCluster, Registry};
    use kedge_api::authentication::PodIdentityProvider;

    #[test]
    fn the_queue_is_the_last_part_of_its_url_or_the_name() {
        let rows = [
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/orders", Some("orders")),
            ("http://localhost:4566/000000000000/orders.fifo", Some("orders.fifo")),
            ("orders", Some("orders")),
            ("/1/orders", Some("orders")),
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/orders/", None),
            ("https://sqs.eu-west-1.amazonaws.com/orders", None),
            ("https://sqs.eu-west-1.amazonaws.com", None),
            ("https://host/1/", None),
        ];
        for (text, expected) in rows {
            assert_eq!(queue_name(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_whole_numbers_of_every_attribute_are_a_count() {
        let endpoint = Endpoint::from_host("sqs".to_owned());
        let rows = [
            (json!({ "a": "3", "b": "4" }), Some(7)),
            (json!({ "a": "3", "b": "0", "c": "9" }), Some(3)),
            (json!({ "a": "3" }), None),
            (json!({ "a": "3", "b": "x" }), None),
            (json!({ "a": "3", "b": "-1" }), None),
            (json!({ "a": 3, "b": 4 }), None),
            (Value::Null, None),
        ];
        for (found, expected) in rows {
            assert_eq!(sum(&endpoint, &found, &["a", "b"]).ok(), expected, "{found}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_outage_is_a_number() {
        let attributes = r#""ApproximateNumberOfMessages":"31","ApproximateNumberOfMessagesNotVisible":"11""#;
        let recording = Recording::http([format!("{{\"Attributes\":{{{attributes}}}}}")]);
        let queue = Sample::new("aws-sqs-queue").with("queueURL", "orders").with("awsRegion", "eu-west-1");
        let queue = queue.with("awsEndpoint", "http://sqs").auth("awsAccessKeyID", "A").auth("awsSecretAccessKey", "s");
        recording.value_bytes(b"31").value_bytes(b"11").assert_no_outage_is_a_number(&queue, 42.0).await;
        for status in ["400 Bad Request", "403 Forbidden", "500 Internal Server Error", "204 No Content"] {
            let refused = Recording::new([http_answer(status, "{}")]).read(&queue, Damage::None).await;
            assert!(refused.is_err(), "{status}: {refused:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_region_that_is_not_there_is_named() {
        let sample = Sample::new("aws-sqs-queue").with("queueURL", "orders").with("awsRegion", "eu-west-99");
        let sample = sample.auth("awsAccessKeyID", "A").auth("awsSecretAccessKey", "hunter2");
        let error = read_once(Recording::network(&[]), &sample).await.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.reason(), "SourceUnreachable");
        assert!(text.ends_with("; check `awsRegion`, which is \"eu-west-99\"") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn an_identity_and_a_region_are_needed() {
        let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
        let plain = || Sample::new("aws-sqs-queue").with("queueURL", "orders").with("awsRegion", "eu-west-1");
        let keys = |sample: Sample| sample.auth("awsAccessKeyID", "A").auth("awsSecretAccessKey", "hunter2");
        let rows: [(&str, Sample, &[&str]); 8] = [
            ("keys", keys(plain()), &[]),
            ("the operator", plain().with("identityOwner", "operator"), &[]),
            ("a pod identity", plain().pod_identity(PodIdentityProvider::Aws), &[]),
            ("nothing", plain(), &["`awsAccessKeyID` is missing, and so is every other identity"]),
            ("half of the keys", plain().auth("awsAccessKeyID", "A"), &["`awsSecretAccessKey`"]),
            ("no region", keys(plain().without("awsRegion")), &["`awsRegion` is missing"]),
            ("no endpoint", keys(plain().with("awsEndpoint", "moto")), &["`awsEndpoint`"]),
            (
                "all at once",
                plain().with("queueURL", "https://h/x").with("queueLength", "x"),
                &["`queueURL`", "`queueLength`", "identity"],
            ),
        ];
        for (name, sample, expected) in rows {
            let text = registry.build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
            assert!(expected.iter().all(|part| text.contains(part)) && !text.contains("hunter2"), "{name}: {text}");
        }
    }
}
