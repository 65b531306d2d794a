//! What scripts need: their namespaces, and CRDs.

use anyhow::{Context, bail};
use kedge_test_cluster::wait::wait_for;
use serde_json::{Value, json};

use crate::exchange::send_request;
use crate::script::Step;
use crate::server::Server;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Creates the namespace of a script.
pub(crate) async fn create_namespace(server: &Server, name: &str) -> anyhow::Result<()> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    create(server, "/api/v1/namespaces", &namespace).await
}

/// Creates a CRD and waits until its objects are served.
pub(crate) async fn install_crd(server: &Server, crd: &Value) -> anyhow::Result<()> {
    create(server, CRDS, crd).await?;
    wait_until_served(server, crd).await
}

/// Creates an object, unless it exists.
async fn create(server: &Server, path: &str, object: &Value) -> anyhow::Result<()> {
    let answer = send_request(server, &Step::default(), "POST", path, Some(object.to_string())).await?;
    if ![json!(201), json!(409)].contains(&answer["code"]) {
        bail!("cannot create {}: {answer}", object["metadata"]["name"]);
    }
    Ok(())
}

/// Waits until the objects of a CRD are served, a moment after its condition is set.
pub(crate) async fn wait_until_served(server: &Server, crd: &Value) -> anyhow::Result<()> {
    let spec = &crd["spec"];
    let versions = spec["versions"].as_array().context("a CRD without versions")?;
    let served = versions.iter().find(|version| version["served"] == json!(true)).context("no version is served")?;
    let texts = [&spec["group"], &served["name"], &spec["names"]["plural"]].map(|value| value.as_str().unwrap_or("?"));
    let path = format!("/apis/{}", texts.join("/"));
    wait_for(&format!("{path} is served"), server.deadline(), async || {
        match send_request(server, &Step::default(), "GET", &path, None).await {
            Ok(answer) if answer["code"] == json!(200) => Ok(()),
            other => Err(other),
        }
    })
    .await
}
