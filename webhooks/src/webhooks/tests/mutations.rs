//! Manifests with random changes: each gets a response, and none panics.

use proptest::prelude::*;

use super::*;

/// Any small JSON value.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        prop_oneof![Just("cpu"), Just("cron"), Just("prometheus"), Just("0"), Just(""), Just("((((a))))??1")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,8}|metadata|spec|triggers|type|name", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every JSON pointer into a value.
fn pointers(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| {
                pointers(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into)
            });
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| pointers(value, format!("{at}/{i}"), into))
        }
        _ => {}
    }
    into.push(at);
}

fn manifest() -> Value {
    let mut object = scaled_object(json!({
        "pollingInterval": 5, "cooldownPeriod": 5, "minReplicaCount": 1, "maxReplicaCount": 9, "idleReplicaCount": 0,
        "fallback": { "failureThreshold": 3, "replicas": 2, "behavior": "scalingModifiers" },
        "advanced": {
            "horizontalPodAutoscalerConfig": { "name": "h" },
            "scalingModifiers": { "formula": "a + p", "target": "2", "activationTarget": "1" },
        },
        "triggers": [
            { "type": "cron", "name": "a", "metadata": { "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "1 8 * * *", "desiredReplicas": "3" } },
            { "type": "prometheus", "name": "p", "authenticationRef": { "name": "x" },
              "metadata": { "serverAddress": "http://p:9090", "query": "up", "threshold": "5", "authModes": "bearer" } },
            { "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } },
        ],
    }));
    object["metadata"]["annotations"] = json!({ "autoscaling.keda.sh/paused": "true" });
    review("UPDATE", Some(object.clone()), Some(object))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_manifest_makes_admission_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any_json()), 1..5), route in 0..4usize) {
        let mut review = manifest();
        for (choice, value) in changes {
            let mut all = Vec::new();
            pointers(&review["request"]["object"], "/request/object".to_owned(), &mut all);
            let pointer = choice.get(&all).clone();
            *review.pointer_mut(&pointer).unwrap() = value;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (code, answer) = runtime.block_on(async {
            let posted = post_to_any(&review, route);
            tokio::time::timeout(Duration::from_secs(5), posted).await.expect("no manifest makes admission hang")
        });
        prop_assert_eq!(code, StatusCode::OK);
        let status = &answer["response"]["status"];
        prop_assert!(status["code"] != 500, "{}: {}", review, answer);
        prop_assert!(answer["response"]["allowed"] == (status["code"] == 200), "{}", answer);
    }
}

async fn post_to_any(review: &Value, route: usize) -> (StatusCode, Value) {
    let webhooks = webhooks();
    post(&webhooks, routes::ROUTES[route].path, review.to_string()).await
}
