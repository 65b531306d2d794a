//! What a step does to the cluster and to the sources.

use std::time::Duration;

use anyhow::Context;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::api::path_of;
use crate::case::{Entry, Step, filled};
use crate::play::CaseRun;

/// Applies a step, in its order.
pub(crate) async fn apply_step(run: &CaseRun<'_>, step: &Step) -> anyhow::Result<()> {
    run.environment.sources.set(&run.namespace, &step.sources);
    for entry in &step.apply {
        apply(run, entry).await?;
    }
    if let Some(annotations) = &step.annotate {
        patch(run, "ScaledObject", "so", &json!({ "metadata": { "annotations": annotations } })).await?;
    }
    for wanted in &step.patch {
        patch(run, &wanted.kind, &wanted.name, &wanted.body).await?;
    }
    for gone in &step.delete {
        let path = format!("{}/{}", path_of(&gone.kind, &run.namespace), gone.name);
        run.environment.kube.done(Method::DELETE, &path, None).await?;
    }
    // Part of the case: the capture shows what happened in this time.
    tokio::time::sleep(Duration::from_secs(step.hold)).await;
    Ok(())
}

/// Creates an object; if it exists, patches it.
pub(crate) async fn apply(run: &CaseRun<'_>, entry: &Entry) -> anyhow::Result<()> {
    let object = filled(&entry.spelled_out(), &run.places());
    let kind = object["kind"].as_str().context("a manifest without a kind")?;
    let name = object["metadata"]["name"].as_str().context("a manifest without a name")?;
    let answer = run.environment.kube.call(Method::POST, &path_of(kind, &run.namespace), Some(&object)).await?;
    match answer.code {
        StatusCode::CONFLICT => patch(run, kind, name, &object).await,
        code if code.is_success() => Ok(()),
        code => anyhow::bail!("{kind}/{name}: {code} {}", answer.body["message"]),
    }
}

async fn patch(run: &CaseRun<'_>, kind: &str, name: &str, body: &Value) -> anyhow::Result<()> {
    let path = format!("{}/{name}", path_of(kind, &run.namespace));
    run.environment.kube.done(Method::PATCH, &path, Some(&filled(body, &run.places()))).await
}
