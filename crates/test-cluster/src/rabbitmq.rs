//! A real RabbitMQ broker with its management API. `client` holds messages without acknowledging them.

mod client;

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub use self::client::RabbitClient;
use crate::http::request;
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::deb;
use crate::wait::{DEADLINE, wait_for};

/// What Debian's server consists of. One that is installed is not used: its scripts start it only as a user of its own.
const PACKAGES: [&str; 18] = [
    "rabbitmq-server",
    "erlang-asn1",
    "erlang-base",
    "erlang-crypto",
    "erlang-eldap",
    "erlang-ftp",
    "erlang-inets",
    "erlang-mnesia",
    "erlang-os-mon",
    "erlang-parsetools",
    "erlang-public-key",
    "erlang-runtime-tools",
    "erlang-snmp",
    "erlang-ssl",
    "erlang-syntax-tools",
    "erlang-tftp",
    "erlang-tools",
    "erlang-xmerl",
];

/// Who may do everything.
pub const USER: &str = "tester";
pub const PASSWORD: &str = "s3cret";

/// A running broker. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct RabbitBroker {
    group: Group,
    folder: PathBuf,
    amqp: Port,
    management: Port,
    /// Where nodes of Erlang find each other. It is not that of the machine, which others may use.
    names: Port,
    nodes: Port,
    _lock: File,
}

impl RabbitBroker {
    /// Starts a broker with these lines of configuration, and returns when it is ready. The name is as a cluster's: two that run at
    /// once need two.
    pub async fn start(name: &str, lines: &[String]) -> anyhow::Result<Self> {
        let packages = tokio::task::spawn_blocking(|| deb::unpacked("rabbitmq-server", &PACKAGES)).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        let (amqp, management, names, nodes) = (Port::reserve()?, Port::reserve()?, Port::reserve()?, Port::reserve()?);
        let group = Group::start(&folder)?;
        let mut broker = Self { group, folder, amqp, management, names, nodes, _lock: lock };
        broker.configure(lines)?;
        broker.spawn(&packages)?;
        broker.until_ready().await?;
        Ok(broker)
    }

    fn configure(&self, lines: &[String]) -> anyhow::Result<()> {
        let own = [
            format!("listeners.tcp.1 = {}", self.amqp()),
            "management.tcp.ip = 127.0.0.1".to_owned(),
            format!("management.tcp.port = {}", self.management.number),
            // Milliseconds.
            "collect_statistics_interval = 500".to_owned(),
            format!("default_user = {USER}"),
            format!("default_pass = {PASSWORD}"),
            "log.console = true".to_owned(),
            "log.file = false".to_owned(),
        ];
        let all: Vec<String> = own.into_iter().chain(lines.iter().cloned()).collect();
        self.write("rabbitmq.conf", &(all.join("\n") + "\n"))?;
        self.write("enabled_plugins", "[rabbitmq_management].\n")
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Starts the virtual machine of Erlang itself: the scripts around it know only the places where packages are installed.
    fn spawn(&mut self, packages: &Path) -> anyhow::Result<()> {
        let erlang = packages.join("usr/lib/erlang");
        let programs = find(&erlang, "erts-")?.join("bin");
        let server = find(&packages.join("usr/lib/rabbitmq/lib"), "rabbitmq_server-")?;
        let environment = self.environment(&erlang, &programs, &server);
        // Started here, because the broker would start one that outlives it.
        self.group.spawn_in("epmd", &programs.join("epmd"), ["-address", "127.0.0.1"], &environment)?;
        let boot = erlang.join("bin/start_sasl").display().to_string();
        let flags = ["-noinput", "-s", "rabbit", "boot", "-boot", &boot, "+W", "w", "+sbwt", "none"];
        let interface = ["-kernel", "inet_dist_use_interface", "{127,0,0,1}"];
        let syslog = ["-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false"];
        let all = flags.iter().chain(&interface).chain(&syslog);
        self.group.spawn_in("rabbitmq", &programs.join("erlexec"), all, &environment)
    }

    fn environment(&self, erlang: &Path, programs: &Path, server: &Path) -> Vec<(String, String)> {
        let in_folder = |name: &str| self.folder.join(name).display().to_string();
        let plugins = server.join("plugins").display().to_string();
        [
            ("ROOTDIR", erlang.display().to_string()),
            ("BINDIR", programs.display().to_string()),
            ("EMU", "beam".to_owned()),
            ("PROGNAME", "erl".to_owned()),
            // Its cookie is there.
            ("HOME", self.folder.display().to_string()),
            ("ERL_LIBS", plugins.clone()),
            ("ERL_EPMD_PORT", self.names.number.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("ERL_MAX_PORTS", "4096".to_owned()),
            ("RABBITMQ_NODENAME", "kedge@localhost".to_owned()),
            ("RABBITMQ_DIST_PORT", self.nodes.number.to_string()),
            ("RABBITMQ_HOME", server.display().to_string()),
            ("RABBITMQ_PLUGINS_DIR", plugins),
            ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
            ("RABBITMQ_CONFIG_FILE", in_folder("rabbitmq.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", in_folder("enabled_plugins")),
            ("RABBITMQ_MNESIA_BASE", in_folder("data")),
            ("RABBITMQ_FEATURE_FLAGS_FILE", in_folder("feature_flags")),
            ("RABBITMQ_LOG_BASE", in_folder("logs")),
            ("RABBITMQ_GENERATED_CONFIG_DIR", in_folder("generated")),
            ("RABBITMQ_PID_FILE", in_folder("pid")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Waits until clients can connect, which is so only when everything else is ready.
    async fn until_ready(&mut self) -> anyhow::Result<()> {
        let (group, api) = (&mut self.group, Api { address: address(&self.management) });
        wait_for("rabbitmq is ready", DEADLINE, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => match api.ask("GET", "/overview", None).await {
                Ok(overview) if listens(&overview) => Ok(Ok(())),
                other => Err(format!("{other:?}")),
            },
        })
        .await?
    }

    /// Kills the broker (-9).
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.group.kill("rabbitmq")
    }

    /// Starts it again with its data, and returns when it is ready.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        self.group.start_again()?;
        self.until_ready().await
    }

    /// Where AMQP is spoken.
    pub fn amqp(&self) -> SocketAddr {
        address(&self.amqp)
    }

    /// Where the management API is.
    pub fn management(&self) -> SocketAddr {
        address(&self.management)
    }

    /// What the management API answers, which must be a success.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        Api { address: self.management() }.ask(method, path, body).await
    }

    /// Creates a queue in the vhost `/`. A broker that is restarted still has it.
    pub async fn create_queue(&self, name: &str) -> anyhow::Result<()> {
        self.ask("PUT", &format!("/queues/%2F/{name}"), Some(json!({ "durable": true }))).await.map(drop)
    }

    pub async fn delete_queue(&self, name: &str) -> anyhow::Result<()> {
        self.ask("DELETE", &format!("/queues/%2F/{name}"), None).await.map(drop)
    }

    /// Removes all messages that are ready.
    pub async fn purge(&self, name: &str) -> anyhow::Result<()> {
        self.ask("DELETE", &format!("/queues/%2F/{name}/contents"), None).await.map(drop)
    }

    /// Publishes messages to a queue, which are lost when the broker ends.
    pub async fn publish(&self, queue: &str, count: usize) -> anyhow::Result<()> {
        let message = json!({ "properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string" });
        for _ in 0..count {
            let published = self.ask("POST", "/exchanges/%2F/amq.default/publish", Some(message.clone())).await?;
            anyhow::ensure!(published["routed"] == true, "{published}");
        }
        Ok(())
    }
}

fn address(port: &Port) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port.number))
}

/// The only entry of a folder that begins so.
fn find(folder: &Path, prefix: &str) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let found = entries.filter_map(Result::ok).find(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    found.map(|entry| entry.path()).with_context(|| format!("{} has no {prefix}*", folder.display()))
}

/// The management API.
struct Api {
    address: SocketAddr,
}

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let credentials = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let credentials = format!("Basic {credentials}");
        let headers = [("authorization", credentials.as_str()), ("content-type", "application/json")];
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = request(self.address, method, &format!("/api{path}"), &headers, &body).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        if head.split_whitespace().nth(1).is_none_or(|status| !status.starts_with('2')) {
            bail!("{method} {path}: {head}\n{body}");
        }
        if body.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(body)?) }
    }
}

/// Whether the broker speaks AMQP, by its overview.
fn listens(overview: &Value) -> bool {
    let listeners = overview["listeners"].as_array().map(Vec::as_slice).unwrap_or_default();
    listeners.iter().any(|listener| listener["protocol"] == "amqp")
}
