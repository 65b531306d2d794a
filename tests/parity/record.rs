//! Records KEDA: plays the cases with it, and writes what it did.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use futures::StreamExt;
use futures::stream;
use kedge_tests::files;
use kedge_tests::page::print_line;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::AT_ONCE;
use crate::case::Case;
use crate::play::{self, Environment};

/// What KEDA exported while the cases ran that capture it.
pub(crate) fn telemetry_file() -> PathBuf {
    files::workspace().join("tests/parity/keda/golden/telemetry/metrics.txt")
}

/// Records the cases, several at once, and returns those that failed.
pub(crate) async fn record_all(environment: &Environment, cases: &[Case]) -> Vec<String> {
    let record = async |case| (case, record(environment, case).await);
    let mut recorded = stream::iter(cases).map(record).buffer_unordered(AT_ONCE);
    let mut failed = Vec::new();
    while let Some((case, result)) = recorded.next().await {
        match result {
            Ok(()) => print_line(&format!("recorded  {}", case.name)),
            Err(error) => failed.push(format!("{}: {error:#}", case.name)),
        }
    }
    failed
}

async fn record(environment: &Environment, case: &Case) -> anyhow::Result<()> {
    let golden = play::record(environment, case).await?;
    let mut text = Vec::new();
    golden.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" ")))?;
    text.push(b'\n');
    let file = case.golden_file();
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
