//! The folder of a cluster: who owns it, and clearing up after an owner that was killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The environment variable by which the parts of a cluster are known; its value is the cluster's folder.
pub(crate) const MARK: &str = "KEDGE_TEST_CLUSTER";

/// How long killed processes may take to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// The folder in which one cluster keeps its data, certificates and logs. Logs stay until the name is used again.
#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
}

/// The process that owns a cluster, as its folder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
}

impl StateFolder {
    /// The folder of the cluster with this name, below the build folder of this checkout.
    pub fn for_cluster(name: &str) -> anyhow::Result<Self> {
        let harmless = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(harmless) {
            bail!("the cluster name `{name}` has characters other than a-z, 0-9 and -");
        }
        Ok(Self { path: clusters_folder().join(name) })
    }

    /// Every folder that some cluster has used.
    pub fn all() -> anyhow::Result<Vec<(String, Self)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(clusters_folder()).into_iter().flatten() {
            let entry = entry?;
            if let Some(name) = entry.file_name().to_str().filter(|_| entry.path().is_dir()) {
                all.push((name.to_owned(), Self { path: entry.path() }));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kubeconfig of the administrator, once there is one.
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        Some(self.path.join("pki/admin.kubeconfig")).filter(|path| path.exists())
    }

    /// The living owner, if there is one: whoever holds the lock.
    pub fn owner(&self) -> anyhow::Result<Option<Owner>> {
        let Ok(lock) = File::open(self.lock_path()) else { return Ok(None) };
        if lock.try_lock_shared().is_ok() {
            return Ok(None);
        }
        let pid = fs::read_to_string(self.lock_path())?.trim().parse().context("the lock file names no process")?;
        Ok(Some(Owner { pid }))
    }

    /// Takes the folder for this process and empties it. What a killed owner left running is killed first.
    pub(crate) fn take(&self) -> anyhow::Result<File> {
        fs::create_dir_all(clusters_folder())
            .with_context(|| format!("cannot create {}", clusters_folder().display()))?;
        let lock = File::options().create(true).truncate(false).write(true).read(true).open(self.lock_path())?;
        if lock.try_lock().is_err() {
            let pid = fs::read_to_string(self.lock_path()).unwrap_or_default();
            bail!(
                "the cluster in {} is in use by process {}; take it down first, or choose another name",
                self.path.display(),
                pid.trim()
            );
        }
        fs::write(self.lock_path(), format!("{}\n", std::process::id()))?;
        self.kill_leftovers()?;
        if self.path.exists() {
            fs::remove_dir_all(&self.path).with_context(|| format!("cannot empty {}", self.path.display()))?;
        }
        fs::create_dir_all(&self.path).with_context(|| format!("cannot create {}", self.path.display()))?;
        Ok(lock)
    }

    /// The processes that were started as parts of this cluster.
    pub fn processes(&self) -> anyhow::Result<Vec<u32>> {
        let mark = format!("{MARK}={}", self.path.display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").context("cannot list /proc; clusters run on Linux only")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // A process may end while it is read; those of other users are not ours.
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) {
                found.push(pid);
            }
        }
        Ok(found)
    }

    /// Kills what runs of this cluster and waits until it is gone.
    pub fn kill_leftovers(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + GONE_WITHIN;
        loop {
            let left = self.processes()?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("processes {left:?} of the cluster in {} do not end", self.path.display());
            }
            for pid in left {
                if let Some(pid) = to_pid(pid) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn lock_path(&self) -> PathBuf {
        self.path.with_extension("lock")
    }
}

impl Owner {
    /// Asks the owner to stop the cluster and end.
    pub fn ask_to_stop(self) -> anyhow::Result<()> {
        let pid = to_pid(self.pid).context("not a process id")?;
        kill_process(pid, Signal::TERM).with_context(|| format!("cannot signal process {}", self.pid))
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// `target/clusters` of this checkout.
fn clusters_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders deep");
    workspace.join("target/clusters")
}
