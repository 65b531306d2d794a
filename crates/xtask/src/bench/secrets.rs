//! ScaledObjects that refer to one Secret each: how many connections to the API server the operator has, and what it weighs, with one
//! watch for all of them and with one watch for each.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::Method;
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::usage::Usage;
use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use serde_json::{Value, json};

use super::connections::count_connections;
use super::objects::deployment;
use super::polls::until_polled;
use super::writer::Writer;
use crate::image;

const NAMESPACE: &str = "shop";
/// How long it is left alone before it is weighed.
const SETTLES_FOR: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects and Secrets
    #[arg(long, default_value_t = 1_000)]
    objects: usize,
}

/// What the operator may list.
#[derive(Clone, Copy)]
enum Permission {
    Namespace,
    EachByName,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.objects > 0, "--objects must be above 0");
    println!("building as for the image, in release mode");
    let program = image::build()?;
    let mut rows = Vec::new();
    for permission in [Permission::EachByName, Permission::Namespace] {
        println!("starting a cluster");
        let cluster = Cluster::builder("bench-secrets").start().await?;
        cluster.install_crds(&workspace().join("crds"))?;
        rows.push(measure(&cluster, &program, permission, args.objects).await?);
    }
    println!("| Secrets in use | watches | connections to the API server | resident memory |");
    println!("|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Starts an operator with this permission, creates the objects, and weighs it. A row of the table.
async fn measure(cluster: &Cluster, program: &Path, permission: Permission, objects: usize) -> anyhow::Result<String> {
    let launch = Launch { name: permission.name().to_owned(), ..Launch::default() };
    let mut operator = RunningOperator::launch(cluster, program, launch).await?;
    if let Permission::EachByName = permission {
        allow_by_name(cluster, objects)?;
    }
    let (source, writer) = (HttpSource::start().await?, Writer::new(cluster).await?);
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    writer.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
    println!("creating {objects} ScaledObjects and Secrets, watched {}", permission.name());
    let numbers: Vec<usize> = (0..objects).collect();
    let create = async |number: usize| {
        source.set(&name_of(number), SourceResponse::Value(0.0));
        for (path, object) in objects_of(number, &source.url()) {
            writer.send(Method::POST, &path, &object).await?;
        }
        Ok(())
    };
    writer.for_each(&numbers, create).await?;
    until_polled(&mut operator, &source, objects).await?;
    tokio::time::sleep(SETTLES_FOR).await;
    let process = operator.process_id().context("the operator does not run")?;
    let connections = count_connections(process, cluster.apiserver_port())?;
    let memory = Usage::of(process)?.resident_bytes as f64 / (1024.0 * 1024.0);
    Ok(format!("| {objects} | {} | {connections} | {memory:.1} MiB |", permission.name()))
}

impl Permission {
    fn name(self) -> &'static str {
        match self {
            Permission::Namespace => "one-for-the-namespace",
            Permission::EachByName => "one-for-each",
        }
    }
}

fn name_of(number: usize) -> String {
    format!("worker-{number}")
}

/// The objects, with the paths of their resources. The target has no replicas: only the scale loop queries the source.
fn objects_of(number: usize, url: &str) -> Vec<(String, Value)> {
    let name = name_of(number);
    let metadata = json!({ "name": name });
    let trigger = json!({
        "type": "prometheus", "authenticationRef": metadata,
        "metadata": { "serverAddress": url, "query": name, "threshold": "10", "authModes": "bearer" },
    });
    let refs = json!([{ "parameter": "bearerToken", "name": name, "key": "token" }]);
    let keda = format!("/apis/keda.sh/v1alpha1/namespaces/{NAMESPACE}");
    vec![
        (
            format!("/api/v1/namespaces/{NAMESPACE}/secrets"),
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": { "token": name } }),
        ),
        (
            format!("{keda}/triggerauthentications"),
            json!({
                "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": metadata,
                "spec": { "secretTargetRef": refs },
            }),
        ),
        (format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments"), deployment(&name, 0)),
        (
            format!("{keda}/scaledobjects"),
            json!({
                "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata,
                "spec": { "scaleTargetRef": metadata, "pollingInterval": 30, "triggers": [trigger] },
            }),
        ),
    ]
}

/// Takes the rights of the administrator from the operator, and lets it read these Secrets only by name.
fn allow_by_name(cluster: &Cluster, objects: usize) -> anyhow::Result<()> {
    let all = json!(["*"]);
    let groups = ["apps", "autoscaling", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "keda.sh"];
    let names: Vec<String> = (0..objects).map(name_of).collect();
    let rules = json!([
        { "apiGroups": groups, "resources": all, "verbs": all },
        { "apiGroups": ["authentication.k8s.io", "authorization.k8s.io"], "resources": all, "verbs": ["create"] },
        { "apiGroups": [""], "resources": ["configmaps", "limitranges", "pods", "serviceaccounts"], "verbs": all },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get", "list", "watch"] },
    ]);
    let (api, name) = ("rbac.authorization.k8s.io/v1", json!({ "name": "kedge-by-name" }));
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kedge-by-name" });
    let account = json!({ "kind": "ServiceAccount", "name": "kedge", "namespace": "kedge" });
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": api, "kind": "ClusterRole", "metadata": name, "rules": rules },
        { "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": name, "roleRef": role, "subjects": [account] },
    ]}))?;
    cluster.kubectl(["delete", "clusterrolebinding", "kedge"])?;
    Ok(())
}
