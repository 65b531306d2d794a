//! `cargo xtask oracle`: KEDA's own scalers are asked about single triggers, and their answers written into golden files.

use std::fmt::Write;

use anyhow::{Context, bail};
use kedge_test_cluster::oracle::{Family, ask};
use kedge_test_cluster::tools::{self, Tool};

use crate::generated_file::GeneratedFile;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Start the servers of trigger families, give every case to KEDA's scalers, and write the answers into tests/golden/oracle
    Record(Record),
}

#[derive(clap::Args)]
pub(crate) struct Record {
    /// Choose families; all unless given
    families: Vec<String>,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Record(record) => record_all(&record.families),
    }
}

#[tokio::main]
async fn record_all(names: &[String]) -> anyhow::Result<()> {
    let families = chosen(names)?;
    tools::build(&[Tool::KedaOracle])?;
    for family in families {
        let sources = family.start(&format!("oracle-record-{}", family.name())).await?;
        let recorded = ask::record(family.cases(), &sources).with_context(|| family.name())?;
        let mut text = String::new();
        for line in &recorded {
            writeln!(text, "{}", serde_json::to_string(line)?)?;
        }
        GeneratedFile { path: format!("tests/golden/oracle/{}.jsonl", family.name()), text }.write()?;
        let built = recorded.iter().filter(|line| line.keda.build_error.is_empty()).count();
        println!("{}: {} cases, KEDA builds {built}", family.name(), recorded.len());
    }
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Family>> {
    if names.is_empty() {
        return Ok(Family::RECORDED.to_vec());
    }
    let find = |name: &String| match Family::RECORDED.into_iter().find(|family| family.name() == name) {
        Some(family) => Ok(family),
        None => bail!("there is no family {name}; use {}", Family::RECORDED.map(Family::name).join(", ")),
    };
    names.iter().map(find).collect()
}
