//! One query of a source, over a connection in memory: the request, the response, and its reading. Time, and allocations.
//!
//! `cargo bench --bench queries` measures; `cargo test --bench queries` runs each once.

use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use divan::{AllocProfiler, Bencher};
use http::Uri;
use kedge_api::trigger::Trigger;
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{
    Activity, AuthParams, BoxFuture, Connector, Environment, NoCluster, Owner, Registry, Role, Scaler, TriggerConfig,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn now() -> DateTime<Utc> {
    "2026-06-01T12:00:00Z".parse().expect("a time")
}

/// Responds to every request on a connection with the same body.
async fn respond(mut connection: DuplexStream, body: &'static str) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let response = head + body;
    let mut request = [0; 4096];
    let mut length = 0;
    loop {
        length += connection.read(&mut request[length..]).await?;
        if request[..length].ends_with(b"\r\n\r\n") {
            connection.write_all(response.as_bytes()).await?;
            length = 0;
        }
    }
}

/// The scaler of a trigger whose source responds with this body.
fn scaler(trigger_type: &str, metadata: Value, body: &'static str) -> Arc<dyn Scaler> {
    let connect = move |_: Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        let (client, server) = tokio::io::duplex(16 * 1024);
        tokio::spawn(respond(server, body));
        Box::pin(async { Ok(Box::new(client) as BoxStream) })
    };
    let registry = Registry::new(Default::default(), Connector::new(connect), Arc::new(NoCluster));
    let trigger = json!({ "type": trigger_type, "metadata": metadata });
    let trigger: Trigger = serde_json::from_value(trigger).expect("a trigger");
    let owner = Owner { namespace: "shop", name: "web", role: Role::Metric };
    let (auth, environment) = (AuthParams::default(), Environment::default());
    let trigger = TriggerConfig::new(owner, 0, &trigger).resolved(&auth, &environment, None);
    registry.build(&trigger).expect("a scaler")
}

fn measure(bencher: Bencher<'_, '_>, trigger_type: &str, metadata: Value, body: &'static str) {
    let runtime: Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let scaler = scaler(trigger_type, metadata, body);
    let read = || runtime.block_on(scaler.read("s0-metric", now())).expect("a reading");
    assert_eq!(read().activity, Activity::Active, "this also opens the connection");
    bencher.bench_local(read);
}

#[divan::bench]
fn prometheus(bencher: Bencher<'_, '_>) {
    let metadata =
        json!({ "serverAddress": "http://prometheus:9090", "query": "sum(rate(requests[1m]))", "threshold": "5" });
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1780315200.123,"12.5"]}]}}"#;
    measure(bencher, "prometheus", metadata, body);
}

#[divan::bench]
fn metrics_api(bencher: Bencher<'_, '_>) {
    let metadata = json!({ "url": "http://queue/stats", "valueLocation": "queue.depth", "targetValue": "5" });
    measure(bencher, "metrics-api", metadata, r#"{"queue":{"depth":12.5,"name":"orders"}}"#);
}

#[divan::bench]
fn cron(bencher: Bencher<'_, '_>) {
    let metadata = json!({ "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "5" });
    measure(bencher, "cron", metadata, "");
}
