//! `kedge scaler check -f`, as a user runs it.

mod rig;
mod server;
mod source_types;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::scaler_check::{Manner, scaler};
use rig::{
    CPU, CRON, PASSWORD, Rig, authentication, check, cluster, depth, object, prometheus, settled, shown, source,
    sources,
};

#[test]
fn the_value_its_target_and_what_follows_are_shown() {
    let source = sources();
    let triggers = [prometheus(&source.address), CRON.to_owned(), CPU.to_owned(), depth(&source.address)];
    let rig = Rig::new(&[("worker.yaml", &object(&triggers)), ("auth.yaml", &authentication(PASSWORD))]);
    let (text, code) =
        rig.run(&["-f", "worker.yaml", "-f", "auth.yaml", "--at", "2026-01-05T09:00:00Z", "--replicas", "2"]);
    assert_eq!(code, 0, "{text}");
    let expected = "\
ScaledObject shop/worker (worker.yaml:1:1)
  trigger 0 (prometheus, orders)
    metric   s0-prometheus
    value    35, active: it is above 5
    target   10 for each replica (AverageValue)
    took     N ms
  trigger 1 (cron)
    metric   s1-cron-UTC-08xxx-018xxx
    value    2, active
    target   1 for each replica (AverageValue)
    took     N ms
  trigger 2 (cpu)
    source   none to ask: the HPA controller reads cpu from the resource metrics API
  trigger 3 (metrics-api, depth)
    metric   s3-metric-api-queue-depth
    value    7, active: it is above 0
    target   5 for each replica (AverageValue)
    took     N ms
  with 2 replicas
    Kedge    left to HPA: the target is above zero, and the HPA decides
    HPA      2 → 4: orders is at 35, which needs 4
    without  trigger 2 (cpu)

in order: 4 of 4 triggers";
    assert_eq!(settled(&text, &source), expected);
    assert_eq!(source.requests.load(Ordering::SeqCst), 2, "each source is asked once");
}

#[test]
fn the_page_for_users_shows_real_output() {
    let source = sources();
    let triggers = [prometheus(&source.address), depth(&source.address), CPU.to_owned()];
    let rig = Rig::new(&[("worker.yaml", &object(&triggers)), ("auth.yaml", &authentication("guess"))]);
    let (text, code) = rig.run(&["-f", "worker.yaml", "-f", "auth.yaml", "--replicas", "2"]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scalers/README.md");
    let page = fs::read_to_string(page).unwrap().replace("queue.shop:8080", &source.address);
    assert!(code == 1 && settled(&page, &source).contains(&settled(&text, &source)), "{text}");
}

#[test]
fn replicas_follow_from_where_they_begin() {
    let source = sources();
    let rig = Rig::new(&[("worker.yaml", &object(&[prometheus(&source.address)]))]);
    let idle = object(&[prometheus(&source.address).replace("'5'", "'50'")]);
    let idle = Rig::new(&[("worker.yaml", &idle)]);
    let rows = [
        (
            &rig,
            "0",
            "Kedge    0 → 1  trigger active: orders is active",
            "HPA      1 → 4: orders is at 35, which needs 4",
        ),
        (&rig, "4", "left to HPA", "HPA      stays at 4: orders is at 35, which needs 4"),
        (
            &rig,
            "9",
            "left to HPA",
            "stays at 9, then down to 4: orders is at 35, which needs 4; the stabilization window",
        ),
        (&idle, "0", "at minimum: no trigger is active", "not active: it is not above 50"),
        (&idle, "3", "0 replicas after 300 s without activity", "HPA      3 → 4"),
    ];
    for (rig, replicas, operator, hpa) in rows {
        let (text, code) = rig.run(&["-f", "worker.yaml", "--replicas", replicas]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(operator) && text.contains(hpa), "{replicas}: {operator}, {hpa}: {text}");
    }
}

#[test]
fn a_formula_is_evaluated() {
    let source = sources();
    let text = object(&[prometheus(&source.address)])
        .replace("  triggers:", "  advanced: {scalingModifiers: {formula: orders * 2, target: '10'}}\n  triggers:");
    let (text, code) = Rig::new(&[("worker.yaml", &text)]).run(&["-f", "worker.yaml"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("formula  70\n") && text.contains("HPA      1 → 4, then up to 7: the formula is at 70"),
        "{text}"
    );
}

#[test]
fn credentials_come_from_the_files_or_from_the_command_line() {
    let source = sources();
    let triggers = object(&[depth(&source.address)]);
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: worker, namespace: shop}}\n\
         spec: {{template: {{spec: {{containers: [{{name: a, env: [{{name: TOKEN, value: {PASSWORD}}}]}}]}}}}}}\n"
    );
    let own = "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: source, namespace: shop}\n\
               spec: {env: [{parameter: token, name: TOKEN}]}\n";
    let rig = Rig::new(&[
        ("worker.yaml", &triggers),
        ("right.yaml", &authentication(PASSWORD)),
        ("wrong.yaml", &authentication("guess")),
        ("deployment.yaml", &deployment),
        ("env.yaml", own),
        ("token.txt", &format!("{PASSWORD}\n")),
    ]);
    let given = format!("token={PASSWORD}");
    let value = "value    7, active";
    let rows: [(&[&str], i32, &[&str]); 8] = [
        (&["-f", "worker.yaml", "-f", "right.yaml"], 0, &[value]),
        (&["-f", "worker.yaml", "-f", "wrong.yaml"], 1, &["answered with status 401", "check the credentials"]),
        (&["-f", "worker.yaml", "-f", "wrong.yaml", "--auth", &given], 0, &[value]),
        (&["-f", "worker.yaml", "-f", "wrong.yaml", "--auth-file", "token=token.txt"], 0, &[value]),
        (
            &["-f", "worker.yaml"],
            1,
            &["TriggerAuthentication shop/source cannot be read: it is not in the files", "or add --from-cluster"],
        ),
        (&["-f", "worker.yaml", "--auth", &given], 0, &[value, "warning  only what --auth gives is used"]),
        (
            &["-f", "worker.yaml", "-f", "env.yaml"],
            1,
            &["Deployment shop/worker cannot be read: it is not in the files"],
        ),
        (&["-f", "worker.yaml", "-f", "env.yaml", "-f", "deployment.yaml"], 0, &[value]),
    ];
    for (arguments, code, expected) in rows {
        let (text, found) = rig.run(arguments);
        assert_eq!(found, code, "{arguments:?}: {text}");
        for part in expected {
            assert!(text.contains(part), "{arguments:?}: {part}: {text}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_a_remedy() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let pods = "{type: kubernetes-workload, metadata: {podSelector: app=a, value: '1'}}";
    let rows: [(String, &[&str]); 5] = [
        (prometheus(&unused), &["cannot be reached", "start the source", "kubectl port-forward"]),
        (
            "{type: cron, metadata: {timezone: Nowhere, start: x, desiredReplicas: '0'}}".to_owned(),
            &["failed   `timezone`", "failed   `start`", "failed   `end`", "failed   `desiredReplicas`"],
        ),
        (pods.to_owned(), &["cannot read pods from the cluster", "add --from-cluster"]),
        ("{type: cronn, metadata: {}}".to_owned(), &["no scaler found for type: cronn", "use one of"]),
        (
            prometheus(&unused).replace("threshold: '10'", "threshold: '0'"),
            &["the target of metric s1-prometheus is 0", "raise it to 0.001"],
        ),
    ];
    for (trigger, expected) in rows {
        let rig = Rig::new(&[("worker.yaml", &object(&[CPU.to_owned(), trigger.clone()]))]);
        let (text, code) = rig.run(&["-f", "worker.yaml"]);
        assert_eq!(code, 1, "{trigger}: {text}");
        for part in expected.iter().chain(&["1 of 2 triggers failed"]) {
            assert!(text.contains(part), "{trigger}: {part}: {text}");
        }
        assert_eq!(rig.run(&["-f", "worker.yaml", "--fail-on", "never"]).1, 0);
        assert_eq!(rig.run(&["-f", "worker.yaml", "--trigger", "0"]).1, 0, "only the one that is chosen");
    }
}

#[test]
fn a_slow_source_costs_its_time_limit() {
    let slow = source(|_, _| {
        std::thread::sleep(std::time::Duration::from_secs(5));
        (200, String::new())
    });
    let rig = Rig::new(&[("worker.yaml", &object(&[prometheus(&slow.address)]))]);
    let (text, code) = rig.run(&["-f", "worker.yaml", "--timeout", "200ms"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("gave no answer within 200ms") && text.contains("raise --timeout"), "{text}");
}

#[test]
fn a_parameter_that_the_type_does_not_have_is_a_warning() {
    let source = sources();
    let trigger = prometheus(&source.address).replace("query:", "querry: x, query:");
    let rig = Rig::new(&[("worker.yaml", &object(&[trigger]))]);
    let (text, code) = rig.run(&["-f", "worker.yaml"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("warning  Unmatched input property querry"), "{text}");
    assert_eq!(rig.run(&["-f", "worker.yaml", "--fail-on", "warning"]).1, 1);
}

#[test]
fn the_metadata_of_one_trigger_can_be_replaced() {
    let source = sources();
    let triggers = object(&[prometheus("prometheus.monitoring:9090"), CRON.to_owned()]);
    let rig = Rig::new(&[("worker.yaml", &triggers)]);
    let entry = format!("serverAddress=http://{}", source.address);
    let (text, code) = rig.run(&["-f", "worker.yaml", "--metadata", &entry, "--trigger", "orders"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("value    35") && !text.contains("cron"), "{text}");
}

#[test]
fn what_cannot_be_done_exits_with_two() {
    let broken = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {token: [hunter2-is-secret]}\n";
    let rig = Rig::new(&[
        ("worker.yaml", &object(&[CRON.to_owned(), CPU.to_owned()])),
        ("invalid.yaml", &object(&[CRON.replace("'2'", "010")])),
        ("secret.yaml", broken),
    ]);
    let rows: [(&[&str], &str); 14] = [
        (&[], "ADDRESS|--file"),
        (&["localhost:1", "-f", "worker.yaml"], "cannot be used with"),
        (&["localhost:1", "--replicas", "1"], "cannot be used with"),
        (&["-f", "worker.yaml", "--push"], "cannot be used with"),
        (&["-f", "missing.yaml"], "cannot read missing.yaml"),
        (&["-f", "secret.yaml"], "secret.yaml:1:1: Secret a cannot be read; write each value"),
        (&["-f", "invalid.yaml"], "put it in quotes: \"010\""),
        (&["-f", "worker.yaml", "--trigger", "orders"], "there are 0 (cron), 1 (cpu)"),
        (&["-f", "worker.yaml", "--name", "web"], "the files have ScaledObject shop/worker"),
        (&["-f", "worker.yaml", "--metadata", "a=b"], "choose one with --trigger"),
        (&["-f", "worker.yaml", "--auth", PASSWORD], "write NAME=VALUE"),
        (&["-f", "worker.yaml", "--ca-dir", "missing"], "--ca-dir: missing is not a folder"),
        (&["-f", "worker.yaml", "--at", "monday"], "write it as 2026-01-05T08:00:00Z"),
        (&["-f", "worker.yaml", "--kubeconfig", "missing"], "cannot read the kubeconfig missing"),
    ];
    for (arguments, expected) in rows {
        let (text, code) = rig.run(arguments);
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {expected}: {text}");
    }
    let (text, code) =
        shown(&check(rig.folder.path(), &["-f", "-"], "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"));
    assert!(code == 2 && text.contains("there is no ScaledObject and no ScaledJob in the files"), "{text}");
    fs::write(rig.path("a.yaml"), "").unwrap();
    assert!(rig.run(&["-f", "a.yaml"]).0.starts_with("error: "));
}

#[test]
fn jobs_and_external_scalers_are_asked_too() {
    let address = scaler(Manner::InOrder, None);
    let external = format!("{{type: external-push, metadata: {{scalerAddress: '{address}'}}}}");
    let job = format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {{name: batch}}\nspec:\n  \
         jobTargetRef: {{template: {{spec: {{containers: [{{name: a, image: a}}]}}}}}}\n  triggers:\n  - {external}\n"
    );
    let text = format!("{}---\n{job}", object(&[external]));
    let (text, code) = shown(&check(Path::new("."), &["-f", "-", "--namespace", "jobs"], &text));
    assert_eq!(code, 0, "{text}");
    for part in [
        "ScaledObject shop/worker (<stdin>:1:1)",
        "metric   s0-jobs\n    value    35, active\n    target   10 for each replica",
        "ScaledJob jobs/batch (<stdin>:",
        "ScaledJobs are not run yet",
        "in order: 2 of 2 triggers",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn json_says_the_same_as_the_text() {
    let source = sources();
    let invalid = "{type: cron, metadata: {timezone: UTC}}".to_owned();
    let triggers = [prometheus(&source.address), CPU.to_owned(), depth(&source.address), invalid];
    let rig = Rig::new(&[("worker.yaml", &object(&triggers)), ("auth.yaml", &authentication("guess"))]);
    let output = rig.output(&["-f", ".", "-o", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "wrong");
    let triggers = report["objects"][0]["triggers"].as_array().unwrap();
    let [orders, cpu, depth, cron] = triggers.as_slice() else { panic!("{report}") };
    let metric = &orders["metrics"][0];
    assert_eq!((&metric["values"], &metric["active"], &metric["target"]), (&json!([35.0]), &json!(true), &json!(10.0)));
    assert_eq!((&orders["activation"], &orders["failed"]), (&json!(5.0), &json!(false)));
    assert_eq!(cpu["result"], "leftToHpa");
    assert!(depth["metrics"][0]["problem"]["problem"].as_str().unwrap().contains("status 401"));
    assert_eq!(cron["problems"].as_array().unwrap().len(), 3);
    let hpa = &report["objects"][0]["outlook"]["hpa"];
    assert_eq!((&hpa["from"], &hpa["to"]), (&json!(1), &json!(4)), "a failed metric does not keep it from scaling out");
}

#[test]
fn objects_and_credentials_are_read_from_the_cluster() {
    let source = sources();
    let rig = Rig::new(&[("worker.yaml", &object(&[depth(&source.address)]))]);
    let keda = "/apis/keda.sh/v1alpha1/namespaces/shop";
    let token = "aHVudGVyMi1pcy1zZWNyZXQ=";
    let scaled = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "worker", "namespace": "shop" },
        "spec": { "scaleTargetRef": { "name": "worker" }, "triggers": [
            { "type": "metrics-api", "authenticationRef": { "name": "source" }, "metadata": {
                "url": format!("http://{}/depth", source.address), "valueLocation": "queue.depth", "targetValue": "5",
                "authMode": "bearer" } },
            { "type": "kubernetes-workload", "metadata": { "podSelector": "app=a", "value": "1" } },
        ] },
    });
    let list = json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": [] });
    let path = |text: String| -> &'static str { text.leak() };
    let kubeconfig = cluster(
        &rig,
        [
            (path(format!("{keda}/scaledobjects/worker")), scaled),
            (
                path(format!("{keda}/triggerauthentications/source")),
                json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "source" },
            "spec": { "secretTargetRef": [{ "parameter": "token", "name": "source", "key": "token" }] } }),
            ),
            (
                "/api/v1/namespaces/shop/secrets/source",
                json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "source" }, "data": { "token": token } }),
            ),
            ("/api/v1/namespaces/shop/pods", list),
        ]
        .into(),
    );
    let both = "value    7, active: it is above 0";
    let rows: [(&[&str], i32, &[&str]); 4] = [
        (
            &["--kubeconfig", &kubeconfig, "--context", "shop", "--name", "worker"],
            0,
            &["ScaledObject shop/worker (the cluster)", both, "s1-workload-shop\n    value    0, not active"],
        ),
        (&["--kubeconfig", &kubeconfig, "-n", "shop", "--name", "worker"], 0, &[both]),
        (&["--kubeconfig", &kubeconfig, "-f", "worker.yaml"], 0, &["(worker.yaml:1:1)", both]),
        (
            &["--kubeconfig", &kubeconfig, "-n", "shop", "--name", "web"],
            2,
            &["there is no ScaledObject and no ScaledJob named web in the namespace shop"],
        ),
    ];
    for (arguments, code, expected) in rows {
        let (text, found) = rig.run(arguments);
        assert_eq!(found, code, "{arguments:?}: {text}");
        for part in expected {
            assert!(text.contains(part), "{arguments:?}: {part}: {text}");
        }
    }
}
