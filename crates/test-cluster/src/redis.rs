//! Real Redis servers: alone, in a cluster, or behind a sentinel.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;

use anyhow::{Context, bail};
use kedge_wire::resp::{Reply, decode_reply, encode_command};

use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::deb::DebianProgram;
use crate::wait::{DEADLINE, wait_for};

/// What Debian's server consists of.
const PACKAGES: [&str; 7] =
    ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "liblua5.1-0", "lua-bitop", "lua-cjson"];

/// Running servers. They end when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct RedisServers {
    group: Group,
    program: DebianProgram,
    folder: PathBuf,
    _lock: File,
}

/// One of them. Its cluster bus has the port above its own, where it is in a cluster.
#[derive(Debug)]
pub struct RedisServer {
    pub name: String,
    port: Port,
    _bus: Port,
}

impl RedisServers {
    /// Prepares for servers. The name is as a cluster's: two that run at once need two.
    pub async fn prepare(name: &str) -> anyhow::Result<Self> {
        let program = tokio::task::spawn_blocking(|| DebianProgram::find("redis-server", &PACKAGES)).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        Ok(Self { group: Group::start(&folder)?, program, folder, _lock: lock })
    }

    /// Starts a server with these lines of configuration, and returns when it answers.
    pub async fn start(&mut self, name: &str, lines: &[String]) -> anyhow::Result<RedisServer> {
        let server = RedisServer { name: name.to_owned(), port: Port::reserve()?, _bus: Port::reserve()? };
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let own = [
            format!("port {}", server.port()),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", folder.display()),
            "save \"\"".to_owned(),
        ];
        let bus = lines.iter().any(|line| line.starts_with("cluster-enabled"));
        let bus = bus.then(|| format!("cluster-port {}", server._bus.number));
        let all: Vec<String> = own.into_iter().chain(bus).chain(lines.iter().cloned()).collect();
        let config = folder.join("redis.conf");
        fs::write(&config, all.join("\n") + "\n").with_context(|| format!("cannot write {}", config.display()))?;
        let mut flags = vec![config.display().to_string()];
        flags.extend(lines.iter().any(|line| line.starts_with("sentinel ")).then(|| "--sentinel".to_owned()));
        self.group.spawn_in(name, &self.program.path, flags, &self.program.environment())?;
        wait_for("redis answers", DEADLINE, async || match self.group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => server.ask(&["PING"]).map(|_| Ok(())).map_err(|error| format!("{error:#}")),
        })
        .await??;
        Ok(server)
    }

    /// Kills a server (-9), and starts it again without its data.
    pub fn kill_and_restart(&mut self, server: &RedisServer) -> anyhow::Result<()> {
        self.group.restart(&server.name)
    }
}

impl RedisServer {
    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// The port of its cluster bus.
    pub fn bus_port(&self) -> u16 {
        self._bus.number
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// The reply to one command. An error is a reply, too.
    pub fn ask(&self, command: &[&str]) -> anyhow::Result<Reply> {
        self.ask_as(&[], command)
    }

    /// The same after another command, such as `AUTH`.
    pub fn ask_as(&self, first: &[&str], command: &[&str]) -> anyhow::Result<Reply> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port()))?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let mut last = None;
        for command in [first, command].into_iter().filter(|command| !command.is_empty()) {
            stream.write_all(&encode_command(command.iter().map(|part| part.as_bytes())))?;
            last = Some(receive(&mut stream)?);
        }
        last.context("there is no command")
    }
}

fn receive(stream: &mut TcpStream) -> anyhow::Result<Reply> {
    let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        if let Some((reply, _)) = decode_reply(&received)? {
            return Ok(reply);
        }
        match stream.read(&mut chunk)? {
            0 => bail!("redis closed the connection"),
            read => received.extend_from_slice(&chunk[..read]),
        }
    }
}
