//! Scalers against sources that listen: what is sent, what is believed, and that a failure is never a number.

#![allow(clippy::unwrap_used, reason = "all of this is test code, also what is outside of test functions")]

mod deadlines;
mod external;
mod failures;
mod identities;
mod metrics_api;
mod oauth;
mod proxies;
mod server;
mod signing_in;
mod tls;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_api::authentication::PodIdentity;
use kedge_scalers::{
    Activity, AuthParams, BuildError, Connector, Environment, KeepAlive, Known, NoCluster, Proxies, ReadError,
    Registry, Resolution, Role, Scaler, Settings, TlsVersion, TriggerConfig,
};
use server::{Reply, Server};

/// A trigger, of type `prometheus` unless it sets another, which sets only what matters.
#[derive(Clone, Debug)]
struct Query {
    trigger_type: &'static str,
    metadata: BTreeMap<String, String>,
    auth: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    pod_identity: Option<PodIdentity>,
}

impl Query {
    fn at(address: impl std::fmt::Display) -> Self {
        Self::of_type("prometheus")
            .with("serverAddress", &address.to_string())
            .with("query", "sum(up)")
            .with("threshold", "5")
    }

    fn of_type(trigger_type: &'static str) -> Self {
        Self { trigger_type, metadata: BTreeMap::new(), auth: Vec::new(), environment: Vec::new(), pod_identity: None }
    }

    fn of(server: &Server) -> Self {
        Self::at(format!("http://{}", server.address))
    }

    fn of_tls(server: &Server) -> Self {
        Self::at(format!("https://{}", server.address))
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.metadata.insert(name.to_owned(), value.to_owned());
        self
    }

    fn auth(mut self, name: &str, value: &str) -> Self {
        self.auth.push((name.to_owned(), value.to_owned()));
        self
    }

    fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn identity(mut self, identity: PodIdentity) -> Self {
        self.pod_identity = Some(identity);
        self
    }

    fn build(&self, registry: &Registry) -> Result<Arc<dyn Scaler>, BuildError> {
        let auth: AuthParams = self.auth.iter().cloned().collect();
        registry.build(&TriggerConfig {
            index: 0,
            trigger_type: self.trigger_type,
            name: None,
            metadata: &self.metadata,
            auth: &auth,
            environment: &self.environment.iter().cloned().collect::<Environment>(),
            metric_type: None,
            namespace: "default",
            object: "web",
            pod_identity: self.pod_identity.as_ref(),
            role: Role::Metric,
            resolution: Resolution::Complete,
        })
    }

    async fn read_with(&self, registry: &Registry) -> Result<Known, ReadError> {
        let scaler = self.build(registry).unwrap_or_else(|error| panic!("{error}"));
        scaler.read("s0-prometheus", now()).await
    }

    async fn read(&self) -> Result<Known, ReadError> {
        self.read_with(&registry()).await
    }
}

fn registry() -> Registry {
    Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
}

fn now() -> DateTime<Utc> {
    "2026-08-20T10:11:12Z".parse().unwrap()
}

fn known(value: f64, activity: Activity) -> Known {
    Known { values: vec![value], activity }
}

#[tokio::test]
async fn a_healthy_source_gives_its_number() {
    let server = Server::plain(|_| Reply::value("12.5")).await;
    assert_eq!(Query::of(&server).read().await, Ok(known(12.5, Activity::Active)));
    let sleepy = Query::of(&server).with("activationThreshold", "12.5");
    assert_eq!(sleepy.read().await, Ok(known(12.5, Activity::Inactive)));
    let request = server.requests().remove(0);
    assert_eq!(request.target, "/api/v1/query?query=sum%28up%29&time=2026-08-20T10:11:12Z");
    assert_eq!(request.header("host"), Some(server.address.to_string().as_str()));
}

#[tokio::test]
async fn an_empty_result_is_zero_only_where_the_trigger_allows_it() {
    let server = Server::plain(|_| Reply::body(r#"{"data":{"result":[]}}"#)).await;
    assert_eq!(Query::of(&server).read().await, Ok(known(0.0, Activity::Inactive)));
    let error = Query::of(&server).with("ignoreNullValues", "false").read().await.unwrap_err();
    assert_eq!(error.reason(), "SourceWithoutValue");
}

#[tokio::test]
async fn two_triggers_share_one_connection() {
    let server = Server::plain(|_| Reply::value("1")).await;
    let registry = registry();
    let one = Query::of(&server).build(&registry).unwrap();
    let other = Query::of(&server).with("query", "other").with("authModes", "bearer").auth("token", "t");
    let other = other.build(&registry.clone()).unwrap();
    for scaler in [&one, &other, &one] {
        scaler.read("s0-prometheus", now()).await.unwrap();
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 3));
}

#[tokio::test]
async fn without_keep_alive_every_reading_has_its_own_connection() {
    let server = Server::plain(|_| Reply::value("1")).await;
    let settings = Settings { keep_alive: KeepAlive::Off, ..Settings::default() };
    let registry = Registry::new(settings, Connector::tcp(), Arc::new(NoCluster));
    let scaler = Query::of(&server).build(&registry).unwrap();
    for _ in 0..2 {
        scaler.read("s0-prometheus", now()).await.unwrap();
    }
    assert_eq!(server.connections(), 2);
    assert_eq!(server.requests()[0].header("connection"), Some("close"));
}
