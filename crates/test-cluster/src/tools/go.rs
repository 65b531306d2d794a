//! Running the `go` command: is it there, is it new enough, build, download.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::Recipe;
use crate::process::tail;

/// How often a running build is mentioned.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// From 1.21 on, Go fetches the newer toolchain that a module asks for by itself.
const OLDEST: (u32, u32) = (1, 21);

const REMEDY: &str =
    "install Go (https://go.dev/doc/install), or leave the real cluster out with `cargo xtask test --no-cluster`";

/// Fails, with what to do about it, unless there is a usable `go`.
pub(super) fn require() -> anyhow::Result<()> {
    let output = match Command::new("go").args(["env", "GOVERSION"]).output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => bail!("`go env GOVERSION` failed: {}; {REMEDY}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("the command `go` is missing: the control plane is built from Go modules; {REMEDY}")
        }
        Err(error) => return Err(error).context("cannot start `go`"),
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match parse_version(&version) {
        Some(found) if found >= OLDEST => Ok(()),
        _ => bail!("`go` is {version}, and {}.{} or newer is needed; {REMEDY}", OLDEST.0, OLDEST.1),
    }
}

/// Major and minor of what `go env GOVERSION` prints, e.g. `go1.26.8`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("go")?.split(['.', ' ', '-']);
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Builds one program. The result appears under its name only when it is whole.
pub(super) fn build(title: &str, recipe: &Recipe, result: &Path) -> anyhow::Result<()> {
    let folder = result.parent().expect("a cached program lies in a folder of its own");
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let unfinished = result.with_extension("unfinished");
    let log_path = folder.join("build.log");
    let log = File::create(&log_path).with_context(|| format!("cannot write {}", log_path.display()))?;

    eprintln!("{title}: building {}", recipe.package);
    let started = Instant::now();
    let mut child = Command::new("go")
        .args(["build", "-trimpath", "-ldflags", recipe.ldflags, "-tags", recipe.tags, "-o"])
        .arg(&unfinished)
        .arg(recipe.package)
        .current_dir(super::module_folder(recipe.module))
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start `go build`")?;

    let mut mentioned = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if mentioned.elapsed() >= PROGRESS_EVERY {
            mentioned = Instant::now();
            eprintln!("{title}: still building after {} s: {}", started.elapsed().as_secs(), tail(&log_path, 1).trim());
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        bail!(
            "building {} failed ({status}); the end of {} says:\n{}\nif a module could not be downloaded, check the network \
             and GOPROXY, then run the same command again",
            recipe.package,
            log_path.display(),
            tail(&log_path, 20)
        );
    }
    fs::rename(&unfinished, result).with_context(|| format!("cannot write {}", result.display()))?;
    eprintln!("{title}: done in {} s", started.elapsed().as_secs());
    Ok(())
}

/// Downloads a module that the module in `folder` requires, and answers where its source lies.
pub(super) fn download(folder: &Path, module: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(folder)
        .output()
        .context("cannot start `go mod download`")?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(source) if output.status.success() => Ok(source.into()),
        _ => bail!(
            "cannot download the Go module {module}: {}{}; check the network and GOPROXY",
            answer["Error"].as_str().unwrap_or_default(),
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_go_prints_them() {
        let rows = [
            ("go1.26.8", Some((1, 26))),
            ("go1.19", Some((1, 19))),
            ("go1.27-rc1", Some((1, 27))),
            ("go1.24.1 X:nocoverageredesign", Some((1, 24))),
            ("devel +abc", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_version(text), expected, "{text}");
        }
    }
}
