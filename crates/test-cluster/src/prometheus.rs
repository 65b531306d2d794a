//! A real Prometheus server.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use crate::http::{get, is_ok};
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::{self, Tool};
use crate::wait::{DEADLINE, wait_for};

/// A running Prometheus. It is stopped when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Prometheus {
    _group: Group,
    port: Port,
    folder: PathBuf,
    _lock: File,
}

impl Prometheus {
    /// Starts a server that scrapes these addresses at `/metrics` every second, and returns when it answers queries. The
    /// name is as a cluster's: two that run at once need two.
    pub async fn start(name: &str, targets: &[SocketAddr]) -> anyhow::Result<Self> {
        let program = tokio::task::spawn_blocking(|| tools::path(Tool::Prometheus)).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        let port = Port::reserve()?;
        let config = folder.join("prometheus.json");
        let targets: Vec<String> = targets.iter().map(SocketAddr::to_string).collect();
        let text = json!({
            "global": { "scrape_interval": "1s" },
            "scrape_configs": [{ "job_name": "test", "static_configs": [{ "targets": targets }] }],
        });
        fs::write(&config, text.to_string()).with_context(|| format!("cannot write {}", config.display()))?;
        let mut group = Group::start(&folder)?;
        let flags = [
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{}", port.number),
        ];
        group.spawn("prometheus", &program, flags)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port.number));
        wait_for("prometheus is ready", DEADLINE, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => is_ready(address).await.map(Ok),
        })
        .await??;
        Ok(Self { _group: group, port, folder, _lock: lock })
    }

    /// What a trigger's `serverAddress` is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number)
    }

    /// The body of the answer to a GET of this path.
    pub async fn get(&self, path: &str) -> anyhow::Result<String> {
        let answer = get(SocketAddr::from(([127, 0, 0, 1], self.port.number)), path).await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("not an HTTP answer")?;
        Ok(body.to_owned())
    }

    /// The answer to a query of an expression at this moment.
    pub async fn query(&self, expression: &str) -> anyhow::Result<Value> {
        let parameters = form_urlencoded::Serializer::new(String::new()).append_pair("query", expression).finish();
        let answer = self.get(&format!("/api/v1/query?{parameters}")).await?;
        serde_json::from_str(&answer).with_context(|| format!("not JSON: {answer}"))
    }

    /// The folder with data and logs.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

async fn is_ready(address: SocketAddr) -> Result<(), String> {
    let answer = get(address, "/-/ready").await.map_err(|error| error.to_string())?;
    if is_ok(&answer) { Ok(()) } else { Err(answer) }
}
