//! A small Kubernetes client for the cases: any kind, as JSON, by its path.

use std::path::Path;

use anyhow::{Context, bail};
use http::{Method, Request, StatusCode};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

/// Clients with the permissions of the administrator.
pub(crate) struct Kube {
    /// Retries when the API server is busy.
    retrying: kube::Client,
    /// Returns the first response.
    plain: kube::Client,
}

/// A response of the API server.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) code: StatusCode,
    /// The warnings in its headers.
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

impl Kube {
    pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let retrying = kube::Client::try_from(config.clone())?;
        config.default_retry = false;
        Ok(Self { retrying, plain: kube::Client::try_from(config)? })
    }

    /// Sends a request. Any status is a response, not an error.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<HttpResponse> {
        send(&self.retrying, method, path, body).await
    }

    /// Sends one GET request, without retries.
    pub(crate) async fn get_once(&self, path: &str) -> anyhow::Result<HttpResponse> {
        send(&self.plain, Method::GET, path, None).await
    }

    /// Sends one request that must succeed.
    pub(crate) async fn done(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<()> {
        let answer = self.call(method.clone(), path, body).await?;
        if !answer.code.is_success() {
            bail!("{method} {path}: {}", answer.body["message"]);
        }
        Ok(())
    }

    /// The objects of a list.
    pub(crate) async fn items(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let HttpResponse { code, mut body, .. } = self.call(Method::GET, path, None).await?;
        match body["items"].take() {
            Value::Array(items) if code.is_success() => Ok(items),
            _ => bail!("GET {path}: {code} {}", body["message"]),
        }
    }
}

async fn send(client: &kube::Client, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<HttpResponse> {
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let response = client.send(request.body(Body::from(bytes))?).await.with_context(|| path.to_owned())?;
    let code = response.status();
    let warnings = response.headers().get_all("warning").iter().filter_map(|value| value.to_str().ok());
    let warnings = warnings.flat_map(warnings_of).collect();
    let text = response.into_body().collect_bytes().await?;
    let body = serde_json::from_slice(&text).unwrap_or_else(|_| String::from_utf8_lossy(&text).into());
    Ok(HttpResponse { code, warnings, body })
}

/// The texts of a header like `299 - "one", 299 - "two"`.
fn warnings_of(header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = header;
    while let Some((_, after)) = rest.split_once("299 - \"") {
        let (mut text, mut letters) = (String::new(), after.char_indices());
        let end = loop {
            match letters.next() {
                Some((_, '\\')) => text.extend(letters.next().map(|(_, letter)| letter)),
                Some((at, '"')) => break at,
                Some((_, letter)) => text.push(letter),
                None => break after.len(),
            }
        };
        texts.push(text);
        rest = &after[end..];
    }
    texts
}

#[test]
fn warnings_are_read_from_their_header() {
    let header = r#"299 - "it is \"so\", \\ really", 299 - "two""#;
    assert_eq!(warnings_of(header), [r#"it is "so", \ really"#, "two"]);
    assert!(warnings_of("").is_empty());
}

/// The path of the objects of a kind in a namespace.
pub(crate) fn path_of(kind: &str, namespace: &str) -> String {
    let root = match kind {
        "Deployment" | "StatefulSet" => "/apis/apps/v1",
        "HorizontalPodAutoscaler" => "/apis/autoscaling/v2",
        "Event" => "/apis/events.k8s.io/v1",
        "ScaledObject" | "ScaledJob" | "TriggerAuthentication" => "/apis/keda.sh/v1alpha1",
        // It has no namespace.
        "ClusterTriggerAuthentication" => return "/apis/keda.sh/v1alpha1/clustertriggerauthentications".to_owned(),
        "Widget" => "/apis/golden.example.com/v1",
        _ => "/api/v1",
    };
    format!("{root}/namespaces/{namespace}/{}s", kind.to_lowercase())
}

#[test]
fn kinds_are_found_under_the_path_of_their_group() {
    assert_eq!(path_of("Secret", "n"), "/api/v1/namespaces/n/secrets");
    assert_eq!(path_of("ScaledObject", "n"), "/apis/keda.sh/v1alpha1/namespaces/n/scaledobjects");
    assert_eq!(path_of("Event", "n"), "/apis/events.k8s.io/v1/namespaces/n/events");
}
