//! Programs of Debian packages, unpacked into the cache: nothing is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::lock_builds;
use crate::cache;

/// A program, and the folder of its libraries where the machine lacks them.
#[derive(Clone, Debug)]
pub struct DebianProgram {
    pub path: PathBuf,
    libraries: Option<PathBuf>,
}

impl DebianProgram {
    /// The one on the PATH; else that of these packages, which are fetched once.
    pub fn find(name: &str, packages: &[&str]) -> anyhow::Result<Self> {
        if shell("command -v \"$0\"", name, Path::new("/")) {
            return Ok(Self { path: PathBuf::from(name), libraries: None });
        }
        let folder = unpacked(name, packages).with_context(|| format!("{name} is not on the PATH"))?;
        let paths = ["usr/bin", "usr/sbin"].map(|bin| folder.join(bin).join(name));
        let path = paths.into_iter().find(|path| path.exists());
        let path = path.with_context(|| format!("the packages {} have no {name}", packages.join(", ")))?;
        let libraries = folder.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        Ok(Self { path, libraries: Some(libraries) })
    }

    /// The variables that the program needs.
    pub fn environment(&self) -> Vec<(String, String)> {
        let libraries = self.libraries.iter();
        libraries.map(|folder| ("LD_LIBRARY_PATH".to_owned(), folder.display().to_string())).collect()
    }
}

/// The folder with what is in these packages, which are fetched once.
pub fn unpacked(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = cache::folder()?.join("tools").join(format!("{name}-debian"));
    if !folder.exists() {
        let _lock = lock_builds()?;
        if !folder.exists() {
            unpack(name, packages, &folder)?;
        }
    }
    Ok(folder)
}

/// The folder appears under its name only when everything is there.
fn unpack(name: &str, packages: &[&str], folder: &Path) -> anyhow::Result<()> {
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished)?;
    }
    std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    let all = packages.join(" ");
    // Debian's own fetcher wants to write as another user, which a cache of root's does not let it.
    let fetch = format!("apt-get -o APT::Sandbox::User=root download {all}");
    let fetched = shell(&fetch, name, &unfinished)
        || (shell("apt-get update", name, &unfinished) && shell(&fetch, name, &unfinished));
    let whole = fetched
        && shell("for package in *.deb; do dpkg-deb -x \"$package\" . || exit 1; done; rm *.deb", name, &unfinished);
    ensure!(
        whole,
        "the Debian packages of {name} cannot be fetched: install it, on Debian with `apt-get install {all}`, or leave \
         the real servers out with `cargo xtask test --no-cluster`"
    );
    std::fs::rename(&unfinished, folder).with_context(|| format!("cannot write {}", folder.display()))
}

/// Whether a command of the shell succeeds in a folder.
fn shell(command: &str, name: &str, folder: &Path) -> bool {
    let quiet = Stdio::null;
    let mut shell = Command::new("sh");
    shell.args(["-c", command, name]).current_dir(folder).stdin(quiet()).stdout(quiet()).stderr(quiet());
    shell.status().is_ok_and(|status| status.success())
}
