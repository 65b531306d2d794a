//! `cargo xtask generate`: what is generated and committed. A test fails while any of it is stale.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use kedge_test_cluster::cargo::{self, workspace};

use crate::chart;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if what is made of the chart's files is stale
    #[arg(long)]
    check: bool,
}

/// A file, and what is to be in it.
pub(crate) struct Generated {
    /// Within the workspace.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Generated {
    fn is_fresh(&self) -> bool {
        fs::read_to_string(workspace().join(&self.path)).is_ok_and(|found| found == self.text)
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let path = workspace().join(&self.path);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        fs::write(&path, &self.text).with_context(|| format!("cannot write {}", path.display()))
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.check {
        return check();
    }
    cargo::run(&["run", "--quiet", "--package", "kedge", "--", "crds", "--out-dir", "crds"])?;
    let registration = "webhooks/registration.yaml";
    cargo::run(&["run", "--quiet", "--package", "kedge", "--", "registration", "--out-file", registration])?;
    for page in ["operator", "lint", "triggers", "metrics"] {
        let file = format!("docs/reference/{page}.md");
        cargo::run(&["run", "--quiet", "--package", "kedge", "--", "reference", page, "--out-file", &file])?;
    }
    chart::clear()?;
    chart::parts()?.iter().try_for_each(Generated::write)?;
    // The chart is rendered with the parts that were just written.
    chart::manifests()?.write()
}

fn check() -> anyhow::Result<()> {
    let mut all = chart::parts()?;
    all.push(chart::manifests()?);
    let stale: Vec<&str> = all.iter().filter(|one| !one.is_fresh()).map(|one| one.path.as_str()).collect();
    let strange = chart::strange_copies(&all)?;
    if !stale.is_empty() || !strange.is_empty() {
        let all = [stale, strange.iter().map(String::as_str).collect()].concat();
        bail!("stale: {}; run `cargo xtask generate`", all.join(", "));
    }
    println!("{} files are fresh", all.len());
    Ok(())
}
