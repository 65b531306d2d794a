//! The index, filled by hand and by watches.

use kedge_core::trigger_class::Resource;
use kedge_plane::{Options, Plane};
use serde_json::{Value, json};

use super::*;
use crate::neighbours::KindName;

fn scaled_object(name: &str, target: &str, hpa: Option<&str>) -> WatchedScaledObject {
    let config = hpa.map(|name| json!({ "horizontalPodAutoscalerConfig": { "name": name } }));
    serde_json::from_value(json!({
        "metadata": { "namespace": "n", "name": name },
        "spec": { "scaleTargetRef": { "name": target }, "advanced": config, "triggers": [] },
    }))
    .unwrap()
}

#[test]
fn objects_are_found_by_target_and_by_hpa() {
    let index = Index::default();
    let all = vec![scaled_object("first", "web", None), scaled_object("second", "api", Some("shared"))];
    apply(&index.objects, None, &ListWatchEvent::Listed(all));
    assert_eq!(index.same_target("n", "web", "so")[0].name, "first".into());
    assert_eq!(index.same_target("n", "web", "first"), [], "an object does not conflict with itself");
    assert_eq!(index.same_target("m", "web", "so"), [], "other namespaces are not searched");
    assert_eq!(index.same_hpa("n", "keda-hpa-first", "so"), ["first".into()]);
    assert_eq!(index.same_hpa("n", "shared", "so"), ["second".into()]);
    apply(&index.objects, None, &ListWatchEvent::Applied(scaled_object("first", "other", None)));
    assert_eq!(index.same_target("n", "web", "so"), [], "its target has changed");
    apply(&index.objects, None, &ListWatchEvent::Deleted(scaled_object("second", "api", None)));
    assert_eq!(index.same_hpa("n", "shared", "so"), [""; 0].map(Box::from));
    apply(&index.objects, None, &ListWatchEvent::Listed(Vec::<WatchedScaledObject>::new()));
    assert!(read(&index.objects).is_empty());
}

#[test]
fn a_list_of_one_namespace_leaves_the_others() {
    let index = Index::for_namespaces(vec!["n".to_owned(), "m".to_owned()]);
    apply(&index.objects, Some("n"), &ListWatchEvent::Listed(vec![scaled_object("first", "web", None)]));
    apply(&index.objects, Some("m"), &ListWatchEvent::Listed(Vec::<WatchedScaledObject>::new()));
    assert_eq!(index.same_target("n", "web", "so").len(), 1);
    apply(&index.objects, Some("n"), &ListWatchEvent::Listed(vec![scaled_object("second", "api", None)]));
    assert_eq!(index.same_target("n", "web", "so"), [], "the new list does not have it");
    assert!(index.covers("m") && !index.covers("elsewhere"));
    assert!(Index::default().covers("elsewhere"), "all namespaces are covered unless some are named");
}

async fn create(client: &Client, path: &str, object: Value) {
    let request =
        http::Request::post(path).header("content-type", "application/json").body(object.to_string().into_bytes());
    client.request::<Value>(request.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn watches_fill_the_index() {
    for namespaces in [Vec::new(), vec!["default".to_owned()], vec!["other".to_owned(), "default".to_owned()]] {
        watches_fill_an_index_of(namespaces).await;
    }
}

async fn watches_fill_an_index_of(namespaces: Vec<String>) {
    let plane = Plane::new(Options::default());
    let client = plane.client("webhooks");
    for definition in kedge_api::crd::all() {
        let definition = serde_json::to_value(&definition).unwrap();
        create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    }
    let container = json!({ "name": "main", "image": "x", "resources": { "requests": { "cpu": "1m" } } });
    let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container] } });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": template },
    });
    create(&client, "/apis/apps/v1/namespaces/default/deployments", deployment).await;
    let hpa = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": "mine", "annotations": { "validations.keda.sh/hpa-ownership": "false" } },
        "spec": { "scaleTargetRef": { "kind": "Deployment", "name": "web", "apiVersion": "apps/v1" }, "maxReplicas": 3 },
    });
    create(&client, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", hpa).await;
    let index = Arc::new(Index::for_namespaces(namespaces));
    assert!(!index.has_synced());
    let watching = tokio::spawn(index.clone().watch(client));
    assert!(index.wait_until_synced_within(Duration::from_secs(60)).await);
    let containers = index.pod_resources(WorkloadKind::Deployment, "default", "web").unwrap().containers;
    assert!(containers[0].requests.has(Resource::Cpu) && !containers[0].requests.has(Resource::Memory));
    assert_eq!(index.pod_resources(WorkloadKind::StatefulSet, "default", "web"), None);
    let hpas = index.hpas("default", "web");
    assert_eq!(
        (&*hpas[0].name, &hpas[0].kind, hpas[0].conflict_check),
        ("mine", &KindName::from_reference(None, None), crate::neighbours::ConflictCheck::Excluded)
    );
    watching.abort();
}
