use std::sync::Mutex;

use kedge_core::credentials::{Reference, ReferenceContent};

use super::*;
use crate::cluster::{NoCluster, ServiceEndpoint};
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::sample::Sample;
use crate::scaler::{Activity, BoxFuture, Known, Scaler};
use crate::trigger::Role;

/// A cluster with pods, which records its queries.
#[derive(Debug)]
struct Pods {
    count: Result<PodCount, ReadError>,
    queries: Mutex<Vec<(String, String)>>,
}

impl ClusterReads for Pods {
    fn pods<'a>(&'a self, namespace: &'a str, selector: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        self.queries.lock().unwrap().push((namespace.to_owned(), selector.to_owned()));
        Box::pin(async { self.count.clone() })
    }

    fn endpoints<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        unreachable!("no Service is read")
    }

    fn content<'a>(&'a self, _: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        unreachable!("no object is read")
    }
}

/// A cluster that never answers.
#[derive(Debug)]
struct Silent;

impl ClusterReads for Silent {
    fn pods<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        Box::pin(std::future::pending())
    }

    fn endpoints<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        Box::pin(std::future::pending())
    }

    fn content<'a>(&'a self, _: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        Box::pin(std::future::pending())
    }
}

fn shared(cluster: Arc<dyn ClusterReads>) -> Shared {
    Shared::new(Settings::default(), Connector::tcp(), cluster)
}

fn sample() -> Sample {
    Sample::new("kubernetes-workload").with("podSelector", "app=web,tier in (a, b)").with("value", "2")
}

fn pods(pods: u64, nodes: u64) -> Arc<Pods> {
    Arc::new(Pods { count: Ok(PodCount { pods, nodes }), queries: Mutex::default() })
}

async fn read(sample: &Sample, cluster: Arc<dyn ClusterReads>) -> Result<Known, ReadError> {
    build(&sample.trigger(), &shared(cluster)).unwrap().read("s0-workload-default", DateTime::UNIX_EPOCH).await
}

#[tokio::test]
async fn pods_or_nodes_are_counted_and_compared_with_the_activation_value() {
    let rows = [
        ("pods", sample(), 7.0, Activity::Active),
        ("nodes", sample().with("groupByNode", "true"), 3.0, Activity::Active),
        ("at the activation value", sample().with("activationValue", "7"), 7.0, Activity::Inactive),
        (
            "nodes are compared too",
            sample().with("activationValue", "3").with("groupByNode", "1"),
            3.0,
            Activity::Inactive,
        ),
    ];
    for (name, sample, value, activity) in rows {
        let cluster = pods(7, 3);
        assert_eq!(read(&sample, cluster.clone()).await, Ok(Known { values: vec![value], activity }), "{name}");
        let queries = cluster.queries.lock().unwrap().clone();
        assert_eq!(queries, [("default".to_owned(), "app=web,tier in (a, b)".to_owned())], "{name}");
    }
}

#[tokio::test]
async fn the_metric_is_named_after_the_namespace() {
    let scaler = build(&sample().index(2).trigger(), &shared(pods(0, 0))).unwrap();
    let spec = scaler.describe().await.unwrap().remove(0).external.unwrap();
    assert_eq!(spec.metric.name, "s2-workload-default");
    assert_eq!(spec.target.average_value.unwrap().0, "2");
    let metric = Sample::new("kubernetes-workload").with("podSelector", "a").role(Role::FormulaInput);
    let spec = build(&metric.trigger(), &shared(pods(0, 0))).unwrap().metric.spec().external.unwrap();
    assert_eq!(spec.target.average_value.unwrap().0, "1");
}

#[test]
fn invalid_fields_are_named() {
    let rows = [
        ("no selector", sample().without("podSelector"), "`podSelector` is missing"),
        (
            "not a selector",
            sample().with("podSelector", "app==a=b"),
            "`podSelector` \"app==a=b\" is not a label selector: found '=', expected: ',' or 'end of string'",
        ),
        ("no value", sample().without("value"), "`value` is absent or not above 0"),
        ("zero", sample().with("value", "0"), "`value` is absent or not above 0"),
        ("below zero", sample().with("value", "-1"), "`value` is absent or not above 0"),
        ("not a number", sample().with("value", "many").role(Role::FormulaInput), "`value` \"many\" is not a number"),
        ("metricType", sample().metric_type("Utilization"), "`metricType`"),
        ("groupByNode", sample().with("groupByNode", "yes"), "`groupByNode` \"yes\""),
    ];
    for (name, sample, expected) in rows {
        let error = build(&sample.trigger(), &shared(pods(0, 0))).unwrap_err();
        assert!(error.to_string().contains(expected) && error.errors.len() == 1, "{name}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_an_error_and_never_zero() {
    let forbidden = ReadError::Cluster { what: cluster::PODS, problem: "forbidden".to_owned() };
    let failing = Arc::new(Pods { count: Err(forbidden.clone()), queries: Mutex::default() });
    assert_eq!(read(&sample(), failing).await, Err(forbidden));
    let nowhere = read(&sample(), Arc::new(NoCluster)).await.unwrap_err();
    assert!(nowhere.to_string().contains("run the operator"), "{nowhere}");
    let started = tokio::time::Instant::now();
    let late = read(&sample(), Arc::new(Silent)).await.unwrap_err();
    assert_eq!(late.to_string(), "cannot read pods from the cluster: no answer within 3s");
    assert_eq!((late.reason(), started.elapsed()), ("ClusterUnreadable", Duration::from_secs(3)));
}
