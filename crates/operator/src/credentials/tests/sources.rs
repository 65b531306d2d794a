//! What each source returns, and its error when it cannot.

use std::fs;

use super::*;
use crate::test_cluster::token;
use kedge_cluster::{NamespacedName, TargetKind};

/// The parameters and variables that come out, as `name=value`, or the problems, what is absent included.
async fn resolve(cluster: &TestCluster, settings: Settings, object: &ScaledObject) -> Result<Vec<String>, String> {
    resolve_for(&target(), cluster, settings, object).await
}

async fn resolve_for(
    target: &ScaleTarget,
    cluster: &TestCluster,
    settings: Settings,
    object: &ScaledObject,
) -> Result<Vec<String>, String> {
    let (credentials, _queue) = credentials(cluster, settings);
    let resolved = credentials.begin(&object.into(), target).resolve(&object.spec.triggers[0]).await;
    let lines = |problems: &[CredentialError]| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let resolved = resolved.map_err(|problems| lines(&problems))?;
    if !resolved.absent.is_empty() {
        return Err(lines(&resolved.absent));
    }
    let names = ["bearerToken", "username", "password", "clientSecret", "clientID", "awsRoleArn"];
    let shown = |name: &&str| resolved.auth.get(name).map(|value| format!("{name}={}", value.reveal()));
    let variables = ["TOKEN", "QUERY"].into_iter();
    let variables = variables.filter_map(|name| Some(format!("{name}={}", resolved.environment.get(name)?)));
    Ok(names.iter().filter_map(shown).chain(variables).collect())
}

fn cluster() -> TestCluster {
    let cluster = TestCluster::new();
    cluster.apply(&format!("{SECRETS}/creds"), secret("hunter2"));
    cluster.apply("/api/v1/namespaces/keda/secrets/creds", secret("central"));
    cluster.apply(&format!("{MAPS}/settings"), json!({ "data": { "who": "user", "token": "from-map" } }));
    cluster.apply(&format!("{ACCOUNTS}/reader"), json!({}));
    let role = json!({ "metadata": { "annotations": { "eks.amazonaws.com/role-arn": "arn:worker" } } });
    cluster.apply(&format!("{ACCOUNTS}/worker"), role);
    let env = json!([
        { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "creds", "key": "token" } } },
        { "name": "LOST", "valueFrom": { "secretKeyRef": { "name": "gone", "key": "token" } } },
        { "name": "QUERY", "value": "up" },
    ]);
    let pod = json!({ "serviceAccountName": "worker", "containers": [
        { "name": "main", "image": "main", "env": env },
        { "name": "side", "image": "side", "env": [{ "name": "TOKEN", "value": "sided" }] },
    ]});
    let labels = json!({ "app": "web" });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    let spec = json!({ "selector": { "matchLabels": labels }, "template": template });
    cluster.apply(&format!("{DEPLOYMENTS}/web"), json!({ "spec": spec }));
    cluster
}

fn settings() -> Settings {
    Settings {
        cluster_object_namespace: Some("keda".to_owned()),
        token_policy: TokenPolicy::Legacy,
        ..Settings::default()
    }
}

#[tokio::test]
async fn every_source_gives_its_parameters() {
    let secret_ref = |name: &str, key: &str| json!({ "parameter": "bearerToken", "name": name, "key": key });
    let rows = [
        ("a Secret", json!({ "secretTargetRef": [secret_ref("creds", "token")] }), "bearerToken=hunter2"),
        ("a ConfigMap", json!({ "configMapTargetRef": [secret_ref("settings", "token")] }), "bearerToken=from-map"),
        (
            "a later source wins",
            json!({
                "secretTargetRef": [secret_ref("creds", "token")],
                "configMapTargetRef": [secret_ref("settings", "token")],
                "env": [{ "parameter": "bearerToken", "name": "QUERY" }],
            }),
            "bearerToken=hunter2",
        ),
        ("a variable", json!({ "env": [{ "parameter": "bearerToken", "name": "TOKEN" }] }), "bearerToken=hunter2"),
        (
            "of another container",
            json!({ "env": [{ "parameter": "bearerToken", "name": "TOKEN", "containerName": "side" }] }),
            "bearerToken=sided",
        ),
        (
            "a token",
            json!({ "boundServiceAccountToken": [{ "parameter": "bearerToken", "serviceAccountName": "reader" }] }),
            "bearerToken=token of system:serviceaccount:shop:reader",
        ),
        (
            "oauth2",
            json!({ "oauth2": {
                "type": "clientCredentials", "clientId": "me", "tokenUrl": "http://t",
                "clientSecret": { "valueFrom": { "secretKeyRef": { "name": "creds", "key": "token" } } },
            }}),
            "clientSecret=hunter2 clientID=me",
        ),
        (
            "the role of the workload",
            json!({ "podIdentity": { "provider": "aws", "identityOwner": "workload" } }),
            "awsRoleArn=arn:worker",
        ),
        ("a role", json!({ "podIdentity": { "provider": "aws", "roleArn": "arn:x" } }), "awsRoleArn=arn:x"),
        ("nothing", json!({}), ""),
    ];
    for (name, spec, expected) in rows {
        let cluster = cluster();
        cluster.apply(&format!("{AUTHS}/prom"), auth(spec));
        let found = resolve(&cluster, settings(), &object(json!({}), json!({ "name": "prom" }))).await;
        assert_eq!(found.map(|found| found.join(" ")).as_deref(), Ok(expected), "{name}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named_with_its_remedy_and_without_a_value() {
    let one = |name: &str, key: &str| json!([{ "parameter": "p", "name": name, "key": key }]);
    let rows = [
        (
            "a Secret",
            json!({ "secretTargetRef": one("gone", "token") }),
            "Secret shop/gone does not exist, but `secretTargetRef[0]` of TriggerAuthentication shop/prom refers to it; create it",
        ),
        ("a key", json!({ "secretTargetRef": one("creds", "x") }), "Secret shop/creds has no key \"x\""),
        ("a ConfigMap", json!({ "configMapTargetRef": one("gone", "token") }), "ConfigMap shop/gone does not exist"),
        (
            "a name that leads elsewhere",
            json!({ "secretTargetRef": one("../../keda/secrets/creds", "token") }),
            "does not exist",
        ),
        (
            "a variable",
            json!({ "env": [{ "parameter": "p", "name": "NOPE" }] }),
            "names the variable NOPE, which the container does not define",
        ),
        (
            "what a variable comes from",
            json!({ "env": [{ "parameter": "p", "name": "LOST" }] }),
            "Secret shop/gone does not exist, but the environment of container main",
        ),
        (
            "a container",
            json!({ "env": [{ "parameter": "p", "name": "TOKEN", "containerName": "x" }] }),
            "use one of main, side",
        ),
        (
            "an account",
            json!({ "boundServiceAccountToken": [{ "parameter": "p", "serviceAccountName": "gone" }] }),
            "ServiceAccount shop/gone does not exist",
        ),
        ("a file", json!({ "filePath": "x.json" }), "is only possible in a ClusterTriggerAuthentication"),
        (
            "a store of a cloud",
            json!({ "gcpSecretManager": { "secrets": [{ "parameter": "p", "id": "i" }] } }),
            "`gcpSecretManager` of TriggerAuthentication shop/prom is not supported yet",
        ),
        (
            "two identities",
            json!({ "podIdentity": { "provider": "aws", "roleArn": "r", "identityOwner": "workload" } }),
            "keep one of them",
        ),
    ];
    for (name, spec, expected) in rows {
        let cluster = cluster();
        cluster.apply(&format!("{AUTHS}/prom"), auth(spec));
        let text = resolve(&cluster, settings(), &object(json!({}), json!({ "name": "prom" }))).await.unwrap_err();
        assert!(text.contains(expected), "{name}: {text}");
        assert!(!text.contains("hunter2") && !text.contains("central"), "{name}: {text}");
    }
}

#[tokio::test]
async fn every_error_of_a_trigger_is_reported_at_once() {
    let cluster = cluster();
    let spec = json!({
        "secretTargetRef": [{ "parameter": "a", "name": "gone", "key": "k" }, { "parameter": "b", "name": "creds", "key": "k" }],
        "configMapTargetRef": [{ "parameter": "c", "name": "gone", "key": "k" }],
    });
    cluster.apply(&format!("{AUTHS}/prom"), auth(spec));
    let object = object(json!({ "queryFromEnv": "LOST" }), json!({ "name": "prom" }));
    let text = resolve(&cluster, settings(), &object).await.unwrap_err();
    assert_eq!(text.lines().count(), 4, "{text}");
}

#[tokio::test]
async fn a_missing_authentication_object_is_an_error_that_names_it() {
    let rows = [
        (json!({ "name": "missing" }), "TriggerAuthentication shop/missing does not exist, but `authenticationRef`"),
        (
            json!({ "name": "missing", "kind": "ClusterTriggerAuthentication" }),
            "ClusterTriggerAuthentication missing does not",
        ),
    ];
    for (reference, expected) in rows {
        let text = resolve(&cluster(), settings(), &object(json!({}), reference)).await.unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn variables_reach_the_trigger_and_nothing_else_is_read_for_them() {
    let cluster = cluster();
    let found = resolve(&cluster, settings(), &object(json!({ "queryFromEnv": "QUERY" }), Value::Null)).await;
    assert_eq!(found.unwrap(), ["QUERY=up"]);
    assert!(cluster.requests().iter().all(|request| !request.contains("secrets")), "{:?}", cluster.requests());
    let found = resolve(&cluster, settings(), &object(json!({ "xFromEnv": "TOKEN" }), Value::Null)).await;
    assert_eq!(found.unwrap(), ["TOKEN=hunter2"]);
}

#[tokio::test]
async fn a_trigger_that_refers_to_nothing_reads_nothing() {
    let cluster = cluster();
    assert_eq!(resolve(&cluster, settings(), &object(json!({ "query": "up" }), Value::Null)).await.unwrap().len(), 0);
    let gets: Vec<String> = cluster.requests().into_iter().filter(|request| request.contains("/shop/")).collect();
    assert!(gets.is_empty(), "{gets:?}");
}

#[tokio::test]
async fn a_target_without_containers_has_no_variables_and_no_roles() {
    let cluster = cluster();
    cluster.apply(&format!("{AUTHS}/prom"), auth(json!({ "podIdentity": { "provider": "aws", "roleArn": "arn:x" } })));
    let object = object(json!({ "queryFromEnv": "QUERY" }), json!({ "name": "prom" }));
    let mut target = target();
    let text = |text: &str| text.to_owned();
    let (group, version) = (text(""), text("v1"));
    target.kind = Arc::new(TargetKind { group, version, kind: text("ConfigMap"), resource: text("configmaps") });
    target.key = NamespacedName::new("shop", "settings");
    assert_eq!(resolve_for(&target, &cluster, settings(), &object).await.unwrap().len(), 0);
}

#[tokio::test]
async fn cluster_wide_objects_read_from_the_operators_namespace() {
    let cluster = cluster();
    cluster.apply(&format!("{CLUSTER_AUTHS}/prom"), from_secret("creds"));
    let object = object(json!({}), json!({ "name": "prom", "kind": "ClusterTriggerAuthentication" }));
    assert_eq!(resolve(&cluster, settings(), &object).await.unwrap(), ["bearerToken=central"]);
    let text = resolve(&cluster, Settings::default(), &object).await.unwrap_err();
    assert!(text.contains("set KEDA_CLUSTER_OBJECT_NAMESPACE"), "{text}");
}

#[tokio::test]
async fn a_file_takes_the_place_of_all_other_sources() {
    let folder = std::env::temp_dir().join(format!("kedge-credentials-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("prom.json"), r#"{"username": "u", "password": "hunter2"}"#).unwrap();
    fs::write(folder.join("bad.json"), r#"{"password": ["hunter2"]}"#).unwrap();
    let cluster = cluster();
    let object = object(json!({}), json!({ "name": "prom", "kind": "ClusterTriggerAuthentication" }));
    let settings = Settings { file_root: Some(folder.clone()), ..settings() };
    let rows = [
        ("prom.json", Ok("username=u password=hunter2")),
        ("bad.json", Err("is not a JSON object whose values are all strings")),
        ("../prom.json", Err("contains ..")),
        ("gone.json", Err("cannot be read: entity not found")),
    ];
    for (path, expected) in rows {
        let mut spec = from_secret("creds");
        spec["spec"]["filePath"] = json!(path);
        cluster.apply(&format!("{CLUSTER_AUTHS}/prom"), spec);
        let found = resolve(&cluster, settings.clone(), &object).await.map(|found| found.join(" "));
        match expected {
            Ok(expected) => assert_eq!(found.as_deref(), Ok(expected), "{path}"),
            Err(part) => {
                let text = found.unwrap_err();
                assert!(text.contains(part) && !text.contains("hunter2"), "{path}: {text}");
            }
        }
    }
    let text = resolve(&cluster, Settings { file_root: None, ..settings }, &object).await.unwrap_err();
    assert!(text.contains("--filepath-auth-root-path"), "{text}");
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn restricted_access_reads_secrets_of_the_operators_namespace_only() {
    let settings = Settings { secrets: SecretAccess::ClusterObjectNamespaceOnly, ..settings() };
    let cluster = cluster();
    cluster.apply(&format!("{AUTHS}/prom"), from_secret("creds"));
    let by_reference = object(json!({}), json!({ "name": "prom" }));
    assert_eq!(resolve(&cluster, settings.clone(), &by_reference).await.unwrap(), ["bearerToken=central"]);
    let by_variable = object(json!({ "tokenFromEnv": "TOKEN", "queryFromEnv": "QUERY" }), Value::Null);
    assert_eq!(resolve(&cluster, settings, &by_variable).await.unwrap(), ["QUERY=up"]);
    let reads = cluster.requests();
    assert!(!reads.iter().any(|request| request.contains("/shop/secrets")), "{reads:?}");
}

#[tokio::test]
async fn the_operators_own_keys_reach_no_trigger() {
    let cluster = cluster();
    let own_secret = Some(kedge_cluster::NamespacedName::new("shop", "creds"));
    let settings = Settings { own_secret, ..settings() };
    cluster.apply(&format!("{AUTHS}/prom"), from_secret("creds"));
    let by_reference = object(json!({}), json!({ "name": "prom" }));
    let text = resolve(&cluster, settings.clone(), &by_reference).await.unwrap_err();
    assert!(text.contains("the operator's own keys"), "{text}");
    let by_variable = object(json!({ "tokenFromEnv": "TOKEN", "queryFromEnv": "QUERY" }), Value::Null);
    assert_eq!(resolve(&cluster, settings, &by_variable).await.unwrap(), ["QUERY=up"]);
    assert!(!cluster.requests().iter().any(|request| request.contains("/secrets/creds")), "{:?}", cluster.requests());
}

#[tokio::test]
async fn an_api_server_that_fails_is_not_taken_for_a_missing_secret() {
    let cluster = cluster();
    cluster.apply(&format!("{AUTHS}/prom"), from_secret("creds"));
    cluster.break_path(&format!("{SECRETS}/creds"), 500);
    let object = object(json!({}), json!({ "name": "prom" }));
    let (credentials, _queue) = credentials(&cluster, settings());
    let target = target();
    let problems = credentials.begin(&(&object).into(), &target).resolve(&object.spec.triggers[0]).await.unwrap_err();
    assert!(problems.iter().all(CredentialError::is_transient), "{problems:?}");
    cluster.break_path(&format!("{SECRETS}/creds"), 403);
    let text = resolve(&cluster, settings(), &object).await.unwrap_err();
    assert!(text.contains("allow it to the operator"), "{text}");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let cluster = cluster();
    let spec = json!({ "boundServiceAccountToken": [{ "parameter": "p", "serviceAccountName": "reader" }] });
    cluster.apply(&format!("{AUTHS}/prom"), auth(spec));
    let object = object(json!({}), json!({ "name": "prom" }));
    let (credentials, _queue) = credentials(&cluster, settings());
    let target = target();
    let scalable = crate::scalable::Scalable::from(&object);
    let mut resolution = credentials.begin(&scalable, &target);
    resolution.resolve(&object.spec.triggers[0]).await.unwrap();
    let (_, refresh) = resolution.end();
    assert_eq!(refresh, Some(Duration::from_secs(2880)));
}

#[tokio::test]
async fn a_token_is_requested_for_its_listed_audience_and_no_other() {
    let cluster = cluster();
    let spec = json!({ "boundServiceAccountToken": [{ "parameter": "bearerToken", "serviceAccountName": "reader" }] });
    cluster.apply(&format!("{AUTHS}/prom"), auth(spec));
    let object = object(json!({}), json!({ "name": "prom" }));
    let listed = |account: &str| Settings { token_policy: policy_for("broker", account), ..settings() };
    let audiences = ["broker".to_owned()];
    let expected = format!("bearerToken={}", token("system:serviceaccount:shop:reader", &audiences));
    assert_eq!(resolve(&cluster, listed("reader"), &object).await, Ok(vec![expected]));
    let error = resolve(&cluster, listed("other"), &object).await.unwrap_err();
    let missing =
        "no configured token audience for service account shop/reader in KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES";
    assert!(error.contains(missing), "{error}");
    let requested = cluster.requests().iter().filter(|request| request.ends_with("reader/token")).count();
    assert_eq!(requested, 1, "nothing is requested for an account that is not listed");
}
