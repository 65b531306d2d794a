//! `kedge crds`: the CRDs, on standard output or as files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use kedge_api::crd;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write one file per CRD into this folder, and print the path of each
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.out_dir {
        Some(folder) => write_files(folder),
        None => print(),
    }
}

fn print() -> anyhow::Result<()> {
    let all: String = crd::all().iter().map(crd::render_yaml).collect();
    std::io::stdout().write_all(all.as_bytes()).context("cannot write to standard output")
}

fn write_files(folder: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    for definition in crd::all() {
        let path = folder.join(crd::file_name(&definition));
        fs::write(&path, crd::render_yaml(&definition)).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
