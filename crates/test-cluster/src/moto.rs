//! moto: AWS services as a process. It checks no signatures.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::cache;
use crate::http::{get, is_ok, post};
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::lock_builds;
use crate::wait::{DEADLINE, wait_for};

const VERSION: &str = "5.2.5";

/// A running server. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Moto {
    group: Group,
    port: Port,
    _lock: File,
}

impl Moto {
    /// Starts a server without queues, and returns when it answers. The name is as a cluster's: two that run at once need two.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        let packages = tokio::task::spawn_blocking(fetch).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let port = Port::reserve()?;
        let mut group = Group::start(state.path())?;
        let number = port.number.to_string();
        let flags = ["-m", "moto.server", "-H", "127.0.0.1", "-p", &number];
        let environment = [("PYTHONPATH".to_owned(), packages.display().to_string())];
        group.spawn_in("moto", Path::new("python3"), flags, &environment)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port.number));
        wait_for("moto answers", DEADLINE, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => match get(address, "/moto-api/data.json").await {
                Ok(answer) if is_ok(&answer) => Ok(Ok(())),
                other => Err(format!("{other:?}")),
            },
        })
        .await??;
        Ok(Self { group, port, _lock: lock })
    }

    /// Kills it (-9), and starts it again without its data. It takes a moment to answer.
    pub fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.group.restart("moto")
    }

    /// The answer of a service that speaks JSON, such as `sqs`, to a question, such as `AmazonSQS.CreateQueue`.
    pub async fn ask(&self, service: &str, target: &str, question: &Value) -> anyhow::Result<Value> {
        let credential = format!("Credential=A/20260101/eu-west-1/{service}/aws4_request");
        let authorization = format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0");
        let headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", target),
            ("authorization", &authorization),
        ];
        let response = post(self.address(), "/", &headers, &question.to_string()).await?;
        let (_, body) = response.split_once("\r\n\r\n").context("the response has no body")?;
        ensure!(is_ok(&response), "{target}: {body}");
        Ok(serde_json::from_str(body).unwrap_or_default())
    }

    /// How many requests of services it has answered since its first start.
    pub fn requests(&self) -> anyhow::Result<usize> {
        Ok(self.group.read_log("moto")?.matches("\"POST /").count())
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port.number))
    }

    /// Where its services are.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }
}

/// The folder of the packages, fetched once.
fn fetch() -> anyhow::Result<PathBuf> {
    let folder = cache::folder()?.join("tools").join(format!("moto-{VERSION}"));
    if folder.exists() {
        return Ok(folder);
    }
    let _lock = lock_builds()?;
    if folder.exists() {
        return Ok(folder);
    }
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    let fetched = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(&unfinished)
        .arg(format!("moto[server]=={VERSION}"))
        .stdin(Stdio::null())
        .output()
        .context("cannot start python3: install Python 3 with pip, on Debian `apt-get install python3-pip`")?;
    ensure!(
        fetched.status.success(),
        "pip cannot fetch moto {VERSION}; install Python 3 with pip, on Debian `apt-get install python3-pip`, or leave the real servers out with \
         `cargo xtask test --no-cluster`: {}",
        String::from_utf8_lossy(&fetched.stderr).trim()
    );
    fs::rename(&unfinished, &folder).with_context(|| format!("cannot write {}", folder.display()))?;
    Ok(folder)
}
