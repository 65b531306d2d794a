//! Reviews over HTTP, from the request to the response and the counters.

mod mutations;

use http_body_util::BodyExt;
use kedge_core::trigger_class::Resource;
use serde_json::{Value, json};

use super::*;
use crate::lookups::{Lookup, Served};
use crate::neighbours::{Container, PodResources, ResourceSet, WorkloadKind};

/// A cluster with a Deployment `live` that the index does not have, without the kind `Ghost`, where the kind `Broken` panics.
struct Cluster;

impl Lookups for Cluster {
    fn pod_resources<'a>(&'a self, _: WorkloadKind, _: &'a str, name: &'a str) -> Lookup<'a, Option<PodResources>> {
        let main = Container { name: "main".into(), requests: ResourceSet::default().with(Resource::Cpu) };
        let found = match name {
            "live" => Ok(Some(PodResources { containers: [main].into(), ..PodResources::default() })),
            "forbidden" => Err(Failure { code: 403, reason: "Forbidden".into(), message: "not for you".into() }),
            _ => Ok(None),
        };
        Box::pin(async move { found })
    }

    fn serves<'a>(&'a self, _: &'a str, kind: &'a str) -> Lookup<'a, Served> {
        assert_ne!(kind, "Broken", "a bug");
        Box::pin(async move { Ok(if kind == "Ghost" { Served::No } else { Served::Yes }) })
    }
}

fn webhooks() -> Webhooks {
    Webhooks::new(Arc::new(Index::synced()), Arc::new(Cluster), Arc::default())
}

fn scaled_object(spec: Value) -> Value {
    let metadata = json!({ "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3" });
    let mut spec_json =
        json!({ "scaleTargetRef": { "name": "web" }, "triggers": [{ "type": "cron", "metadata": metadata }] });
    for (key, value) in spec.as_object().unwrap() {
        spec_json[key] = value.clone();
    }
    let metadata = json!({ "namespace": "n", "name": "so", "creationTimestamp": null });
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec_json, "status": {} })
}

fn review(operation: &str, object: Option<Value>, old: Option<Value>) -> Value {
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u-1", "operation": operation, "namespace": "n", "name": "so", "object": object, "oldObject": old,
    } })
}

const SCALED_OBJECTS: &str = "/validate-keda-sh-v1alpha1-scaledobject";

async fn post(webhooks: &Webhooks, path: &str, body: impl Into<Bytes>) -> (StatusCode, Value) {
    let request = Request::post(path).header("content-type", "application/json").body(Full::new(body.into())).unwrap();
    let response = webhooks.handle(request).await;
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn submit(webhooks: &Webhooks, review: &Value) -> Value {
    let (code, answer) = post(webhooks, SCALED_OBJECTS, review.to_string()).await;
    assert_eq!((code, &answer["response"]["uid"]), (StatusCode::OK, &json!("u-1")), "{answer}");
    answer["response"].clone()
}

fn counters(webhooks: &Webhooks) -> Vec<String> {
    let text = String::from_utf8(webhooks.telemetry.render()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.replace("keda_webhook_scaled_object_", "")).collect()
}

#[tokio::test]
async fn a_review_is_answered_with_a_verdict() {
    let webhooks = webhooks();
    let create = |spec: Value| review("CREATE", Some(scaled_object(spec)), None);
    let cpu = json!([{ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } }]);
    let on = |name: &str| json!({ "minReplicaCount": 1, "scaleTargetRef": { "name": name }, "triggers": cpu });
    let kind = |kind: &str| json!({ "scaleTargetRef": { "name": "web", "apiVersion": "x/v1", "kind": kind } });
    let rows: Vec<(&str, Value, u16, &str)> = vec![
        ("valid", create(json!({})), 200, ""),
        (
            "a rule is violated",
            create(json!({ "idleReplicaCount": 0 })),
            403,
            "IdleReplicaCount=0 must be less than MinReplicaCount=0; ",
        ),
        ("the target is missing", create(on("missing")), 404, "Deployment.apps \"missing\" not found"),
        ("the target is not in the index yet", create(on("live")), 200, ""),
        ("the target may not be read", create(on("forbidden")), 403, "not for you"),
        ("the kind is not served", create(kind("Ghost")), 403, "no matches for kind \"Ghost\" in version \"x/v1\""),
        ("a bug", create(kind("Broken")), 500, "a rule of the admission webhooks failed"),
        (
            "no ScaledObject",
            review("CREATE", Some(json!({ "spec": { "triggers": 5 } })), None),
            400,
            "the object cannot be read",
        ),
        ("no object", review("CREATE", None, None), 400, "there is no object"),
        ("deleted", review("DELETE", None, Some(json!({}))), 200, ""),
        ("connected", review("CONNECT", None, None), 200, ""),
        ("no operation", review("PONDER", Some(scaled_object(json!({}))), None), 400, "unknown operation"),
    ];
    for (name, review, code, message) in rows {
        let answer = submit(&webhooks, &review).await;
        assert_eq!(answer["status"]["code"], code, "{name}: {answer}");
        assert_eq!(answer["allowed"], code == 200, "{name}: {answer}");
        let said = answer["status"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(message) && said.is_empty() == message.is_empty(), "{name}: {said}");
    }
}

#[tokio::test]
async fn warnings_come_with_admitted_objects_only() {
    let webhooks = webhooks();
    let spec = json!({ "minReplicaCount": 1, "cooldownPeriod": 9 });
    let warned = submit(&webhooks, &review("CREATE", Some(scaled_object(spec.clone())), None)).await;
    assert!(
        warned["warnings"][0].as_str().unwrap().starts_with("CooldownPeriod is configured but is not relevant"),
        "{warned}"
    );
    let mut bad = spec;
    bad["maxReplicaCount"] = json!(0);
    let denied = submit(&webhooks, &review("CREATE", Some(scaled_object(bad)), None)).await;
    assert_eq!((&denied["allowed"], &denied["warnings"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn an_object_that_has_become_invalid_can_still_be_paused_and_finalized() {
    let webhooks = webhooks();
    let with = |metadata: Value| {
        let mut object = scaled_object(json!({ "idleReplicaCount": 0 }));
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        object
    };
    let plain = || with(json!({ "finalizers": ["finalizer.keda.sh"] }));
    let paused =
        with(json!({ "finalizers": ["finalizer.keda.sh"], "annotations": { "autoscaling.keda.sh/paused": "true" } }));
    let labelled = with(json!({ "finalizers": ["finalizer.keda.sh"], "labels": { "a": "b" } }));
    let mut unreadable = plain();
    unreadable["spec"]["triggers"] = json!("none");
    let mut unreadable_paused = paused.clone();
    unreadable_paused["spec"]["triggers"] = json!("none");
    let rows = [
        ("paused", plain(), paused, true),
        ("finalized", plain(), with(json!({})), true),
        ("paused, though it cannot be decoded", unreadable, unreadable_paused, true),
        ("labelled", plain(), labelled, false),
    ];
    for (name, old, new, allowed) in rows {
        assert_eq!(submit(&webhooks, &review("UPDATE", Some(new), Some(old))).await["allowed"], allowed, "{name}");
    }
    assert_eq!(
        counters(&webhooks),
        [
            "validation_errors_total{action=\"update\",namespace=\"n\",reason=\"incorrect-replicas\"} 1",
            "validations_total{action=\"update\",namespace=\"n\"} 3",
        ],
        "removing a finalizer is not counted"
    );
}

#[tokio::test]
async fn counters_have_kedas_names_and_count_dry_runs_too() {
    let webhooks = webhooks();
    let mut dry = review("CREATE", Some(scaled_object(json!({ "idleReplicaCount": 0, "triggers": [] }))), None);
    dry["request"]["dryRun"] = json!(true);
    submit(&webhooks, &dry).await;
    let job = json!({ "spec": { "jobTargetRef": { "template": {} }, "triggers": [] } });
    let (_, answer) =
        post(&webhooks, "/validate-keda-sh-v1alpha1-scaledjob", review("UPDATE", Some(job), None).to_string()).await;
    assert_eq!(answer["response"]["allowed"], false, "{answer}");
    assert_eq!(
        counters(&webhooks),
        [
            "validation_errors_total{action=\"create\",namespace=\"n\",reason=\"incorrect-replicas\"} 1",
            "validation_errors_total{action=\"create\",namespace=\"n\",reason=\"incorrect-triggers\"} 1",
            "validation_errors_total{action=\"update\",namespace=\"n\",reason=\"incorrect-triggers\"} 1",
            "validations_total{action=\"create\",namespace=\"n\"} 1",
        ]
    );
}

#[tokio::test]
async fn each_kind_has_its_path() {
    let webhooks = webhooks();
    let aws = json!({ "metadata": {}, "spec": { "podIdentity": { "provider": "aws", "externalID": "me" } } });
    for kind in ["triggerauthentication", "clustertriggerauthentication"] {
        let path = format!("/validate-keda-sh-v1alpha1-{kind}");
        let (_, answer) = post(&webhooks, &path, review("CREATE", Some(aws.clone()), None).to_string()).await;
        let message = answer["response"]["status"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("externalID of PodIdentity requires roleArn to be set; "), "{kind}: {answer}");
    }
    assert_eq!(post(&webhooks, "/validate-keda-sh-v1alpha1-other", "{}").await.0, StatusCode::NOT_FOUND);
    let get = Request::get(SCALED_OBJECTS).body(Full::<Bytes>::default()).unwrap();
    assert_eq!(webhooks.handle(get).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_request_without_a_review_is_rejected() {
    let webhooks = webhooks();
    let code = async |body: Bytes| post(&webhooks, SCALED_OBJECTS, body).await.1["response"]["status"]["code"].clone();
    assert_eq!(code("".into()).await, 400);
    assert_eq!(code("{".into()).await, 400);
    assert_eq!(code("{}".into()).await, 400);
    assert_eq!(code(vec![b' '; BODY_BYTES_MAX + 1].into()).await, 413);
    let text =
        Request::post(SCALED_OBJECTS).header("content-type", "text/plain").body(Full::<Bytes>::default()).unwrap();
    let body = webhooks.handle(text).await.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["response"]["status"]["message"], "contentType=\"text/plain\", expected application/json");
}

/// A review whose body never ends, after these bytes.
fn endless(sent: usize) -> Request<impl Body<Data = Bytes, Error = std::io::Error> + Send> {
    let first = futures::stream::iter([Ok(http_body::Frame::data(Bytes::from(vec![b' '; sent])))]);
    let body = http_body_util::StreamBody::new(futures::StreamExt::chain(first, futures::stream::pending()));
    Request::post(SCALED_OBJECTS).header("content-type", "application/json").body(body).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_costs_its_deadline_and_no_other_review() {
    let webhooks = webhooks();
    let started = tokio::time::Instant::now();
    let stalled = futures::future::join_all((0..1000).map(|_| webhooks.handle(endless(1))));
    let valid = async {
        let answer = submit(&webhooks, &review("CREATE", Some(scaled_object(json!({}))), None)).await;
        (answer["allowed"].clone(), started.elapsed())
    };
    let (stalled, valid) = tokio::join!(stalled, valid);
    assert_eq!(valid, (json!(true), Duration::ZERO), "it did not wait");
    assert!(stalled.iter().all(|response| response.status() == StatusCode::REQUEST_TIMEOUT));
    assert_eq!(started.elapsed(), BODY_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn bodies_beyond_the_budget_wait_until_others_are_gone() {
    let webhooks = webhooks();
    let full = BODY_BYTES_TOTAL / BODY_BYTES_MAX + 1;
    let held = futures::future::join_all((0..full).map(|_| webhooks.handle(endless(BODY_BYTES_MAX))));
    let waiting = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(webhooks.body_budget.available_permits() < kib(BODY_BYTES_MAX));
    };
    let (held, ()) = tokio::join!(held, waiting);
    assert!(held.iter().all(|response| response.status() == StatusCode::REQUEST_TIMEOUT));
    assert_eq!(webhooks.body_budget.available_permits(), kib(BODY_BYTES_TOTAL), "all of it is free again");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_validated_before_the_index_has_synced() {
    let unsynced = Webhooks::new(Arc::default(), Arc::new(Cluster), Arc::default());
    let answer = submit(&unsynced, &review("CREATE", Some(scaled_object(json!({}))), None)).await;
    assert_eq!(answer["status"]["code"], 500, "{answer}");
}
