//! Writes objects to a cluster, many at once.

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, Request};
use kedge_test_cluster::Cluster;
use kube::Client;
use serde_json::Value;

/// How many requests are sent at once.
const AT_ONCE: usize = 16;

#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
}

impl Writer {
    pub(super) async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self { client: cluster.client().await? })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Sends one request. An object that is gone need not be changed or deleted.
    pub(super) async fn send(&self, method: Method, path: &str, body: &Value) -> anyhow::Result<()> {
        let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method.clone()).uri(path).header("content-type", content_type);
        let sent = self.client.request::<Value>(request.body(body.to_string().into_bytes())?).await;
        match sent {
            Err(kube::Error::Api(status)) if status.code == 404 && method != Method::POST => Ok(()),
            other => other.map(drop).with_context(|| format!("{method} {path}")),
        }
    }

    /// Does something for each number, several at once.
    pub(super) async fn for_each(
        &self,
        numbers: &[usize],
        each: impl AsyncFn(usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        stream::iter(numbers).map(|number| Ok(each(*number))).try_buffer_unordered(AT_ONCE).try_collect().await
    }
}
