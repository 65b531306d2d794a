//! `kedge registration`: the ValidatingWebhookConfiguration. Hidden: users have webhooks/registration.yaml.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use kedge_webhooks::webhook_configuration::render_yaml;

use crate::outcome::{self, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the object to this file
    #[arg(long, value_name = "FILE")]
    out_file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.out_file {
        Some(path) => fs::write(path, render_yaml()).with_context(|| format!("cannot write {}", path.display()))?,
        None => outcome::print(&render_yaml())?,
    }
    Ok(Outcome::Clear)
}
