//! A caller that asks as an API server does, and measures.

use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};

use super::webhooks::Webhooks;
use super::{WRITTEN, namespace_of, scaled_object};
use crate::bench::times::Times;

pub(super) struct Caller {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
}

impl Caller {
    pub(super) fn new(webhooks: &Webhooks) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(webhooks.certificate.chain.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), url: webhooks.url() })
    }

    /// Asks whether new objects may be written, in one namespace after another; every tenth has a rival and is refused.
    pub(super) async fn measure(&self, questions: usize, present: usize) -> anyhow::Result<Times> {
        let mut times = Vec::with_capacity(questions);
        for number in 0..questions {
            let place = number * 7919 % present;
            let mut object = scaled_object(place, "new");
            let has_rival = number % 10 == 0;
            if has_rival {
                object["spec"]["scaleTargetRef"]["name"] = scaled_object(place, WRITTEN)["metadata"]["name"].clone();
            }
            let review = review(&object, &namespace_of(place));
            let started = Instant::now();
            let answer = self.ask(review).await?;
            times.push(started.elapsed());
            ensure!(answer["response"]["allowed"] == !has_rival, "question {number}: {answer}");
        }
        Ok(Times::new(times))
    }

    async fn ask(&self, review: String) -> anyhow::Result<Value> {
        let request = Request::post(&self.url).header("content-type", "application/json");
        let answer = self.client.request(request.body(Full::new(review.into()))?).await?;
        Ok(serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?)
    }
}

fn review(object: &Value, namespace: &str) -> String {
    let name = &object["metadata"]["name"];
    let request = json!({ "uid": "u", "operation": "CREATE", "namespace": namespace, "name": name, "object": object });
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request }).to_string()
}
