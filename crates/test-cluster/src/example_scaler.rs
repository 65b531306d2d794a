//! One of the example scalers as a separate process, controlled by the file that holds its queue.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::ports::Port;
use crate::process::Group;
use crate::wait::{DEADLINE, wait_for};

/// One of the example scalers. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct ExampleScaler {
    program: PathBuf,
    flags: Vec<String>,
    port: Port,
    folder: TempDir,
    running: Option<Group>,
    ca_pem: Option<String>,
}

impl ExampleScaler {
    /// Prepares one without TLS. The queue is empty, and nothing runs yet.
    pub fn plain(program: PathBuf) -> anyhow::Result<Self> {
        let (port, folder) = (Port::reserve()?, tempfile::tempdir()?);
        let queue = folder.path().join("queue").display().to_string();
        let flags = vec!["--queue".to_owned(), queue, "--listen".to_owned(), format!("127.0.0.1:{}", port.number)];
        let scaler = Self { program, flags, port, folder, running: None, ca_pem: None };
        scaler.set("0");
        Ok(scaler)
    }

    /// Prepares one with TLS and a self-signed certificate.
    pub fn with_tls(program: PathBuf) -> anyhow::Result<Self> {
        let mut scaler = Self::plain(program)?;
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (cert, key) = (scaler.folder.path().join("tls.crt"), scaler.folder.path().join("tls.key"));
        fs::write(&cert, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        let flag = |name: &str, path: &Path| [name.to_owned(), path.display().to_string()];
        scaler.flags.extend([flag("--tls-cert", &cert), flag("--tls-key", &key)].concat());
        scaler.ca_pem = Some(made.cert.pem());
        Ok(scaler)
    }

    /// Starts it, again if it ran before, on the port that it has; returns when it listens.
    pub async fn start(&mut self) -> anyhow::Result<()> {
        let mut group = Group::start(self.folder.path())?;
        group.spawn("scaler", &self.program, &self.flags)?;
        let address = SocketAddr::from(([127, 0, 0, 1], self.port.number));
        wait_for("the scaler listens", DEADLINE, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => TcpStream::connect(address).await.map(|_| Ok(())),
        })
        .await??;
        self.running = Some(group);
        Ok(())
    }

    /// Ends it with kill -9.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Writes the queue: its length, and behind it, if it is not the one of the trigger, the target.
    pub fn set(&self, queue: &str) {
        // At once, so that no read finds half of it.
        let (new, file) = (self.folder.path().join("new"), self.queue());
        fs::write(&new, queue).and_then(|()| fs::rename(&new, &file)).expect("a folder that can be written");
    }

    /// Removes the queue, so that its length is unknown.
    pub fn remove_queue(&self) {
        fs::remove_file(self.queue()).expect("a folder that can be written");
    }

    /// The `scalerAddress` of a trigger.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number)
    }

    /// The CA to trust, as PEM, with TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    fn queue(&self) -> PathBuf {
        self.folder.path().join("queue")
    }
}
