//! A real MariaDB server. `client` runs statements on it.

mod client;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

pub use self::client::MysqlClient;
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::deb::DebianProgram;
use crate::wait::{DEADLINE, wait_for};

/// What Debian's server consists of.
const PACKAGES: [&str; 3] = ["mariadb-server-core", "liburing2", "libaio1"];

/// Who may do everything.
const ADMIN: &str = "admin";
const ADMIN_PASSWORD: &str = "4dmin";

/// The name of the process.
const NAME: &str = "mariadbd";

/// A running server with the empty database `shop`. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct MysqlServer {
    group: Group,
    port: Port,
    _lock: File,
}

impl MysqlServer {
    /// Starts a server that also has TLS, with this certificate and key as PEM, and returns when it answers. The name is as a
    /// cluster's: two that run at once need two.
    pub async fn start(name: &str, certificate: &str, key: &str) -> anyhow::Result<Self> {
        let state = StateFolder::for_cluster(name)?;
        let (lock, folder) = (state.take()?, state.path().to_owned());
        let (certificate_path, key_path) = (folder.join("server.crt"), folder.join("server.key"));
        fs::write(&certificate_path, certificate)?;
        fs::write(&key_path, key)?;
        let installation = tokio::task::spawn_blocking({
            let folder = folder.clone();
            move || Installation::make(&folder)
        })
        .await??;
        let port = Port::reserve()?;
        let flags = [
            format!("--port={}", port.number),
            "--bind-address=127.0.0.1".to_owned(),
            "--skip-name-resolve".to_owned(),
            // No socket beside the port: its path would be too long.
            "--socket=".to_owned(),
            "--pid-file=pid".to_owned(),
            format!("--init-file={}", installation.init_file.display()),
            format!("--ssl-cert={}", certificate_path.display()),
            format!("--ssl-key={}", key_path.display()),
        ];
        let mut group = Group::start(&folder)?;
        let flags = installation.flags.iter().chain(&flags);
        group.spawn_in(NAME, &installation.program.path, flags, &installation.program.environment())?;
        let mut server = Self { group, port, _lock: lock };
        server.until_ready().await?;
        Ok(server)
    }

    async fn until_ready(&mut self) -> anyhow::Result<()> {
        let port = self.port.number;
        wait_for("mariadbd answers", DEADLINE, async || match self.group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => {
                MysqlClient::connect(port, ADMIN, ADMIN_PASSWORD).map(|_| Ok(())).map_err(|error| format!("{error:#}"))
            }
        })
        .await?
    }

    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// A client that may do everything, in the database `shop`.
    pub fn connect(&self) -> anyhow::Result<MysqlClient> {
        MysqlClient::connect(self.port.number, ADMIN, ADMIN_PASSWORD)
    }

    /// Kills the server (-9).
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.group.kill(NAME)
    }

    /// Starts a killed server again, with its data.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        self.group.start_again()?;
        self.until_ready().await
    }
}

/// The program, and a folder with the system tables.
struct Installation {
    program: DebianProgram,
    flags: Vec<String>,
    init_file: PathBuf,
}

impl Installation {
    fn make(folder: &Path) -> anyhow::Result<Self> {
        let program = DebianProgram::find(NAME, &PACKAGES)?;
        let above = program.path.parent().and_then(Path::parent).filter(|usr| !usr.as_os_str().is_empty());
        let share = above.unwrap_or(Path::new("/usr")).join("share/mysql");
        let data = folder.join("data");
        fs::create_dir(&data).with_context(|| format!("cannot create {}", data.display()))?;
        let flags = [
            // It must be the first.
            "--no-defaults".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--lc-messages-dir={}", share.display()),
            format!("--character-sets-dir={}", share.join("charsets").display()),
            // Without it, root is refused; another user may not change it, and goes on as itself.
            "--user=root".to_owned(),
            "--innodb-buffer-pool-size=16M".to_owned(),
            "--innodb-use-native-aio=0".to_owned(),
            // A commit survives the process, which is all that is killed here.
            "--innodb-flush-log-at-trx-commit=2".to_owned(),
        ];
        let tables = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"].map(|file| share.join(file));
        let mut statements = "CREATE DATABASE mysql;\nUSE mysql;\n".to_owned();
        for file in tables {
            statements += &fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        }
        bootstrap(&program, &flags, folder, &statements)?;
        let init_file = folder.join("init.sql");
        let user = format!("'{ADMIN}'@'127.0.0.1'");
        let lines = format!(
            "CREATE DATABASE IF NOT EXISTS shop;\nCREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{ADMIN_PASSWORD}';\n\
             GRANT ALL ON *.* TO {user} WITH GRANT OPTION;\n"
        );
        fs::write(&init_file, lines)?;
        Ok(Self { program, flags: flags.to_vec(), init_file })
    }
}

/// Runs statements on a server that ends then.
fn bootstrap(program: &DebianProgram, flags: &[String], folder: &Path, statements: &str) -> anyhow::Result<()> {
    let (input, log) = (folder.join("bootstrap.sql"), folder.join("bootstrap.log"));
    fs::write(&input, statements)?;
    let output = File::create(&log)?;
    let mut command = Command::new(&program.path);
    command.args(flags).arg("--bootstrap").envs(program.environment());
    command.stdin(File::open(&input)?).stdout(Stdio::null()).stderr(output);
    let status = command.status().with_context(|| format!("cannot start {}", program.path.display()))?;
    ensure!(status.success(), "mariadbd made no system tables: see {}", log.display());
    Ok(())
}
