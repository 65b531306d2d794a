//! `kedge reference`: the generated pages of docs/reference. Hidden: users read the pages.

mod cli;
mod metrics;
mod triggers;

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;

use crate::outcome::{self, Outcome};
use crate::settings;
use crate::validation::rules;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print this page
    #[arg(value_enum, default_value_t = Page::Operator)]
    page: Page,

    /// Write the page to this file
    #[arg(long, value_name = "FILE")]
    out_file: Option<PathBuf>,
}

/// A page of `docs/reference`.
#[derive(Clone, Copy, ValueEnum)]
enum Page {
    /// The commands
    Cli,
    /// Flags and variables of the operator
    Operator,
    /// The rules of `kedge lint`
    Lint,
    /// The trigger types and their parameters
    Triggers,
    /// The metrics that the operator and the webhooks export
    Metrics,
}

pub(crate) fn run(args: &Args, commands: &mut clap::Command) -> anyhow::Result<Outcome> {
    let text = match args.page {
        Page::Cli => cli::render(commands),
        Page::Operator => settings::reference::render(),
        Page::Lint => rules::page(),
        Page::Triggers => triggers::render(),
        Page::Metrics => metrics::render(),
    };
    match &args.out_file {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => outcome::print(&text)?,
    }
    Ok(Outcome::Clear)
}
