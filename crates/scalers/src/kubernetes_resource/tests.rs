use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;
use crate::cluster::{NoCluster, PodCount, ServiceEndpoint};
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::sample::Sample;
use crate::scaler::{Activity, BoxFuture, Known, Scaler};
use crate::trigger::Role;

/// A cluster that answers every question for an object alike, or never.
#[derive(Debug, Default)]
struct Objects {
    content: Option<Result<ReferenceContent, ReadError>>,
    asked: Mutex<Vec<String>>,
}

impl ClusterReads for Objects {
    fn pods<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        unreachable!("no pods are counted")
    }

    fn endpoints<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        unreachable!("no Service is read")
    }

    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        self.asked.lock().unwrap().push(reference.to_string());
        match self.content.clone() {
            Some(content) => Box::pin(async { content }),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn answering(content: Result<ReferenceContent, ReadError>) -> Arc<Objects> {
    Arc::new(Objects { content: Some(content), asked: Mutex::default() })
}

fn data(key: &str, text: Option<&str>) -> ReferenceContent {
    ReferenceContent::Data(BTreeMap::from([(key.to_owned(), text.map(Secret::new))]))
}

fn sample() -> Sample {
    Sample::new("kubernetes-resource")
        .with("resourceKind", "ConfigMap")
        .with("resourceName", "limits")
        .with("key", "queue.depth")
        .with("targetValue", "2.5")
}

fn shared(cluster: Arc<dyn ClusterReads>) -> Shared {
    Shared::new(Settings::default(), Connector::tcp(), cluster)
}

async fn read(sample: &Sample, cluster: Arc<dyn ClusterReads>) -> Result<Known, ReadError> {
    build(&sample.trigger(), &shared(cluster)).unwrap().read("", DateTime::UNIX_EPOCH).await
}

#[tokio::test]
async fn the_number_of_the_key_is_compared_with_the_activation_value() {
    let rows = [
        ("a number", sample(), "12", 12.0, Activity::Active),
        ("a Secret", sample().with("resourceKind", "Secret"), "12", 12.0, Activity::Active),
        ("at the activation value", sample().with("activationTargetValue", "12"), "12", 12.0, Activity::Inactive),
        ("zero", sample(), "0", 0.0, Activity::Inactive),
        (
            "JSON",
            sample().with("format", "json").with("valueLocation", "a.b"),
            r#"{"a": {"b": 7}}"#,
            7.0,
            Activity::Active,
        ),
        ("YAML", sample().with("format", "yaml").with("valueLocation", "a.b"), "a:\n  b: 8", 8.0, Activity::Active),
        ("a quantity", sample().with("valueType", "quantity"), "2k", 2000.0, Activity::Active),
    ];
    for (name, sample, text, value, activity) in rows {
        let cluster = answering(Ok(data("queue.depth", Some(text))));
        assert_eq!(read(&sample, cluster).await, Ok(Known { values: vec![value], activity }), "{name}");
    }
    let cluster = answering(Ok(data("queue.depth", Some("1"))));
    read(&sample().with("resourceKind", "Secret"), cluster.clone()).await.unwrap();
    assert_eq!(*cluster.asked.lock().unwrap(), ["Secret default/limits"], "in the namespace of the object");
}

#[tokio::test]
async fn the_metric_is_named_after_kind_object_and_key() {
    let scaler = build(&sample().index(2).trigger(), &shared(Arc::new(NoCluster))).unwrap();
    let spec = scaler.describe().await.unwrap().remove(0).external.unwrap();
    assert_eq!(spec.metric.name, "s2-configmap-limits-queue-depth");
    assert_eq!(spec.target.average_value.unwrap().0, "2.500");
    let input = sample().without("targetValue").with("resourceKind", "Secret").role(Role::FormulaInput);
    let spec = build(&input.trigger(), &shared(Arc::new(NoCluster))).unwrap().metric.spec().external.unwrap();
    assert_eq!(
        (spec.metric.name.as_str(), spec.target.average_value.unwrap().0.as_str()),
        ("s0-secret-limits-queue-depth", "1")
    );
}

#[test]
fn invalid_fields_are_named() {
    let json = || sample().with("format", "json");
    let rows = [
        ("no kind", sample().without("resourceKind"), "`resourceKind` is missing"),
        (
            "another kind",
            sample().with("resourceKind", "secret"),
            "`resourceKind` \"secret\" is not among the allowed values; use ConfigMap, Secret",
        ),
        ("no name", sample().without("resourceName"), "`resourceName` is missing"),
        ("no key", sample().without("key"), "`key` is missing"),
        ("another format", sample().with("format", "xml"), "`format` \"xml\""),
        (
            "a number has no location",
            sample().with("valueLocation", "a"),
            "`valueLocation` needs a document, and `format` is number",
        ),
        ("JSON without location", json(), "`valueLocation` is missing"),
        ("YAML without location", sample().with("format", "yaml"), "`valueLocation` is missing"),
        ("not a path", json().with("valueLocation", "a.@keys"), "`valueLocation` \"a.@keys\" has the modifier @keys"),
        (
            "another type",
            sample().with("valueType", "double"),
            "`valueType` \"double\" is not among the allowed values; use float64",
        ),
        ("no target", sample().without("targetValue"), "`targetValue` is absent or not above 0"),
        ("a target of zero", sample().with("targetValue", "0"), "`targetValue` is absent or not above 0"),
        ("metricType", sample().metric_type("Utilization"), "`metricType`"),
    ];
    for (name, sample, expected) in rows {
        let error = build(&sample.trigger(), &shared(Arc::new(NoCluster))).unwrap_err();
        assert!(error.to_string().contains(expected) && error.errors.len() == 1, "{name}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_an_error_that_shows_nothing_of_a_secret() {
    let forbidden = ReadError::Cluster { what: "Secrets", problem: "forbidden".to_owned() };
    let rows: [(&str, Result<ReferenceContent, ReadError>, &str, &str); 7] = [
        (
            "no object",
            Ok(ReferenceContent::Missing),
            "Secret default/limits has no value: it does not exist; create it",
            "SourceWithoutValue",
        ),
        ("no key", Ok(data("other", Some("hunter2"))), "it has no key \"queue.depth\"; add it", "SourceWithoutValue"),
        ("no text", Ok(data("queue.depth", None)), "its key \"queue.depth\" is not text", "SourceWithoutValue"),
        (
            "no number",
            Ok(data("queue.depth", Some("hunter2"))),
            "the value does not begin with a number",
            "SourceWithoutValue",
        ),
        (
            "withheld",
            Ok(ReferenceContent::Withheld),
            "`resourceName` names Secret default/limits, which the operator is configured not to read; store",
            "InvalidTrigger",
        ),
        ("forbidden", Err(forbidden), "cannot read Secrets from the cluster: forbidden", "ClusterUnreadable"),
        ("no answer", Ok(ReferenceContent::Missing), "no answer within 3s", "ClusterUnreadable"),
    ];
    for (name, content, expected, reason) in rows {
        let cluster = if name == "no answer" { Arc::default() } else { answering(content) };
        let error = read(&sample().with("resourceKind", "Secret"), cluster).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains("hunter2"), "{name}: {text}");
        assert_eq!(error.reason(), reason, "{name}");
    }
    let nowhere = read(&sample(), Arc::new(NoCluster)).await.unwrap_err();
    assert!(nowhere.to_string().contains("run the operator"), "{nowhere}");
}
