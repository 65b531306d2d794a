//! `kedge crds`: the CRDs, on standard output or as files.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use kedge_api::crd;

use crate::outcome::{self, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write one file per CRD into this folder, and print the path of each
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.out_dir {
        Some(folder) => write_files(folder)?,
        None => outcome::print(&crd::all().iter().map(crd::render_yaml).collect::<String>())?,
    }
    Ok(Outcome::Clear)
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
