//! Real NATS servers with JetStream: alone, or a cluster. `client` speaks their text protocol.

mod client;

use std::fmt::Write;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;

use anyhow::Context;

pub use self::client::NatsClient;
use crate::http::{get, is_ok};
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::deb::DebianProgram;
use crate::wait::{DEADLINE, wait_for};

/// Running servers. They end when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct NatsServers {
    group: Group,
    program: DebianProgram,
    folder: PathBuf,
    _lock: File,
}

/// One of them.
#[derive(Debug)]
pub struct NatsServer {
    /// The name by which it knows itself, and under which it advertises itself, below `.nats`.
    pub name: String,
    clients: Port,
    monitoring: Port,
    routes: Port,
}

impl NatsServers {
    /// Prepares for servers. The name is as a cluster's: two that run at once need two.
    pub async fn prepare(name: &str) -> anyhow::Result<Self> {
        let program = tokio::task::spawn_blocking(|| DebianProgram::find("nats-server", &["nats-server"])).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        Ok(Self { group: Group::start(&folder)?, program, folder, _lock: lock })
    }

    /// Starts one server with these lines of configuration, and returns when it is ready.
    pub async fn start(&mut self, name: &str, lines: &str) -> anyhow::Result<NatsServer> {
        let server = NatsServer::reserve(name)?;
        self.spawn(&server, &format!("{}\n{lines}", server.plain_monitoring()))?;
        self.until_ready(&server).await?;
        Ok(server)
    }

    /// Starts one server that speaks only TLS, with this certificate and key as PEM, and returns when it listens.
    pub async fn start_with_tls(&mut self, name: &str, certificate: &str, key: &str) -> anyhow::Result<NatsServer> {
        let server = NatsServer::reserve(name)?;
        let (certificate_path, key_path) = (self.folder.join("server.crt"), self.folder.join("server.key"));
        fs::write(&certificate_path, certificate)?;
        fs::write(&key_path, key)?;
        let tls = format!("cert_file: \"{}\", key_file: \"{}\"", certificate_path.display(), key_path.display());
        self.spawn(&server, &format!("https: \"{}\"\ntls {{ {tls} }}", server.monitoring()))?;
        wait_for("nats-server listens", DEADLINE, async || match self.group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => TcpStream::connect(server.monitoring()).map(|_| Ok(())),
        })
        .await??;
        Ok(server)
    }

    /// Starts a cluster of servers with these names, and returns when each of them is ready.
    pub async fn start_cluster(&mut self, names: &[&str], lines: &str) -> anyhow::Result<Vec<NatsServer>> {
        let servers: Vec<NatsServer> =
            names.iter().map(|name| NatsServer::reserve(name)).collect::<anyhow::Result<_>>()?;
        let routes: Vec<String> =
            servers.iter().map(|server| format!("\"nats://127.0.0.1:{}\"", server.routes.number)).collect();
        for server in &servers {
            let own = format!(
                "{}\ncluster {{ name: tests, host: 127.0.0.1, port: {}, routes: [{}] }}\nclient_advertise: \"{}.nats:{}\"\n{lines}",
                server.plain_monitoring(),
                server.routes.number,
                routes.join(", "),
                server.name,
                server.clients.number
            );
            self.spawn(server, &own)?;
        }
        for server in &servers {
            self.until_ready(server).await?;
        }
        Ok(servers)
    }

    /// Kills a server (-9), and starts it again with its data.
    pub async fn kill_and_restart(&mut self, server: &NatsServer) -> anyhow::Result<()> {
        self.group.restart(&server.name)?;
        self.until_ready(server).await
    }

    fn spawn(&mut self, server: &NatsServer, lines: &str) -> anyhow::Result<()> {
        let folder = self.folder.join(&server.name);
        fs::create_dir_all(&folder)?;
        let mut config = String::new();
        writeln!(config, "server_name: {}\nhost: 127.0.0.1\nport: {}", server.name, server.clients.number)?;
        writeln!(config, "jetstream {{ store_dir: \"{}\" }}\n{lines}", folder.display())?;
        let path = folder.join("nats.conf");
        fs::write(&path, config).with_context(|| format!("cannot write {}", path.display()))?;
        let flags = ["-c".to_owned(), path.display().to_string()];
        self.group.spawn_in(&server.name, &self.program.path, flags, &self.program.environment())
    }

    async fn until_ready(&mut self, server: &NatsServer) -> anyhow::Result<()> {
        let address = server.monitoring();
        wait_for("nats-server is ready", DEADLINE, async || match self.group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => match get(address, "/healthz").await {
                Ok(answer) if is_ok(&answer) => Ok(Ok(())),
                other => Err(format!("{other:?}")),
            },
        })
        .await?
    }
}

impl NatsServer {
    fn reserve(name: &str) -> anyhow::Result<Self> {
        let (clients, monitoring, routes) = (Port::reserve()?, Port::reserve()?, Port::reserve()?);
        Ok(Self { name: name.to_owned(), clients, monitoring, routes })
    }

    /// The line of configuration for a monitoring endpoint without TLS.
    fn plain_monitoring(&self) -> String {
        format!("http: \"{}\"", self.monitoring())
    }

    /// Where its monitoring endpoint is.
    pub fn monitoring(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.monitoring.number))
    }

    /// Connects as a client, with these fields in `CONNECT`, such as a user and a password.
    pub fn connect(&self, sign_in: serde_json::Value) -> anyhow::Result<NatsClient> {
        NatsClient::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.clients.number)), sign_in)
    }
}
