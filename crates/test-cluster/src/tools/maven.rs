//! Java programs of Maven Central, fetched into the cache with all that they need, and archives of it: nothing is installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::lock_builds;
use crate::cache;

const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

const UNPACK: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack-dependencies";

const REMEDY: &str = "install Java 17 and Maven, on Debian with `apt-get install openjdk-17-jre-headless maven`, or leave the real \
                      servers out with `cargo xtask test --no-cluster`";

/// A small heap, and the least of the machinery that makes long runs fast.
const JVM: [&str; 3] = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// An artifact with what it needs at run time.
#[derive(Clone, Debug)]
pub struct JavaProgram {
    folder: PathBuf,
}

impl JavaProgram {
    /// An artifact, as `group:artifact:version`, fetched once.
    pub fn find(coordinates: &str) -> anyhow::Result<Self> {
        let name = coordinates.rsplit_once(':').map_or(coordinates, |(artifact, _)| artifact);
        let parts: Vec<&str> = coordinates.split(':').collect();
        let [group, artifact, version] = parts[..] else {
            anyhow::bail!("{name} is not given as group:artifact:version")
        };
        ensure!(runs("java"), "the command `java` is missing, which {artifact} needs: {REMEDY}");
        let folder = cache::folder()?.join("tools").join(format!("{artifact}-{version}"));
        if !folder.exists() {
            let _lock = lock_builds()?;
            if !folder.exists() {
                fetch(COPY, group, artifact, version, &folder)?;
            }
        }
        Ok(Self { folder })
    }

    /// What runs a class of it, and the arguments before those of the class.
    pub fn command(&self, class: &str) -> (PathBuf, Vec<OsString>) {
        let mut arguments: Vec<OsString> = JVM.map(OsString::from).to_vec();
        arguments.extend(["-cp".into(), self.folder.join("*").into(), class.into()]);
        (PathBuf::from("java"), arguments)
    }

    /// Runs a class of it to its end.
    pub fn run(&self, class: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let (program, first) = self.command(class);
        let mut command = Command::new(program);
        let output =
            command.args(first).args(arguments).stdin(Stdio::null()).output().context("cannot start `java`")?;
        let words = || [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        ensure!(output.status.success(), "{class} failed: {}", words());
        Ok(())
    }
}

/// The folder with what an artifact holds, given as `group:artifact:version` and fetched once.
pub fn unpacked(coordinates: &str) -> anyhow::Result<PathBuf> {
    let parts: Vec<&str> = coordinates.split(':').collect();
    let [group, artifact, version] = parts[..] else {
        anyhow::bail!("{coordinates} is not given as group:artifact:version")
    };
    let folder = cache::folder()?.join("tools").join(format!("{artifact}-{version}"));
    if !folder.exists() {
        let _lock = lock_builds()?;
        if !folder.exists() {
            fetch(UNPACK, group, artifact, version, &folder)?;
        }
    }
    Ok(folder)
}

/// The folder appears under its name only when everything is there.
fn fetch(plugin: &str, group: &str, artifact: &str, version: &str, folder: &Path) -> anyhow::Result<()> {
    ensure!(runs("mvn"), "the command `mvn` is missing, which fetches {artifact}: {REMEDY}");
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    let pom = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>kedge</groupId><artifactId>tools</artifactId><version>1</version><packaging>pom</packaging><dependencies><dependency>\
         <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>\
         </dependency></dependencies></project>\n"
    );
    fs::write(unfinished.join("pom.xml"), pom)?;
    let output = Command::new("mvn")
        .args(["-q", "-B", "-f", "pom.xml", plugin, "-DincludeScope=runtime", "-DoutputDirectory=."])
        .current_dir(&unfinished)
        .stdin(Stdio::null())
        .output()
        .context("cannot start `mvn`")?;
    let words = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "Maven cannot fetch {artifact} {version}; check the network, or {REMEDY}: {}",
        words.trim()
    );
    fs::rename(&unfinished, folder).with_context(|| format!("cannot write {}", folder.display()))
}

fn runs(program: &str) -> bool {
    let quiet = Stdio::null;
    let mut command = Command::new(program);
    command.arg("-version").stdin(quiet()).stdout(quiet()).stderr(quiet());
    command.status().is_ok_and(|status| status.success())
}
