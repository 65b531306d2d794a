//! `cargo xtask generate`: what is generated and committed. A test fails while any of it is stale.

use anyhow::bail;
use kedge_test_cluster::cargo;

use crate::chart;
use crate::generated_file::GeneratedFile;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if what is made of the chart's files is stale
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.check {
        return check();
    }
    cargo::run(&["run", "--quiet", "--package", "kedge", "--", "crds", "--out-dir", "crds"])?;
    let registration = "webhooks/registration.yaml";
    cargo::run(&["run", "--quiet", "--package", "kedge", "--", "registration", "--out-file", registration])?;
    for page in ["operator", "lint", "triggers", "metrics", "cli"] {
        let file = format!("docs/reference/{page}.md");
        cargo::run(&["run", "--quiet", "--package", "kedge", "--", "reference", page, "--out-file", &file])?;
    }
    chart::clear()?;
    chart::parts()?.iter().try_for_each(GeneratedFile::write)?;
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
