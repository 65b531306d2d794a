//! `kedge reference`: pages that are generated from the code. Hidden: users read the pages.

mod triggers;

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;

use crate::{lint, operator};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which page
    #[arg(value_enum, default_value_t = Page::Operator)]
    page: Page,

    /// Write it to this file instead
    #[arg(long, value_name = "FILE")]
    out_file: Option<PathBuf>,
}

/// A page of `docs/reference`.
#[derive(Clone, Copy, ValueEnum)]
enum Page {
    /// Flags and variables of the operator
    Operator,
    /// The rules of `kedge lint`
    Lint,
    /// The trigger types and their parameters
    Triggers,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let text = match args.page {
        Page::Operator => operator::reference::render(),
        Page::Lint => lint::reference(),
        Page::Triggers => triggers::render(),
    };
    match &args.out_file {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}
