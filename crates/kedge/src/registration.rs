//! `kedge registration`: the ValidatingWebhookConfiguration. Hidden: users have the file.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use kedge_webhooks::registration::render_yaml;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write it to this file instead
    #[arg(long, value_name = "FILE")]
    out_file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.out_file {
        Some(path) => fs::write(path, render_yaml()).with_context(|| format!("cannot write {}", path.display())),
        None => {
            print!("{}", render_yaml());
            Ok(())
        }
    }
}
