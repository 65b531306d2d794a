//! docs/helm-values.md: every value with its default and what it is for.

use std::fmt::Write as _;

use serde_json::Value;

use super::values::{Entry, ValueKind};
use super::{KedaValue, Outcome, dotted};

const OPENING: &str = "\
# Values of the Helm chart

<!-- Written by `cargo xtask generate` from the values.yaml of the chart. -->

How to install with them: [install.md](install.md). The names are those of KEDA's chart where the meaning is the same. A value that is not
listed here is rejected before anything is installed, and so is one of the wrong type.

| value | default | meaning |
|---|---|---|
";

const IGNORED: &str = "
## KEDA's values that have no effect here

They are accepted, and the notes after an installation name those that were set.

| value | why |
|---|---|
";

const REFUSED: &str = "
## KEDA's values that are rejected

Without what they ask for something would not work as expected. `false`, `0` and nothing are accepted.

| value | why, and what to do |
|---|---|
";

/// The longest default that the page shows; for longer ones it refers to values.yaml.
const DEFAULT_LENGTH_MAX: usize = 40;

pub(super) fn render(entries: &[Entry], kedas: &[KedaValue]) -> String {
    let mut page = OPENING.to_owned();
    for entry in entries.iter().filter(|entry| entry.kind == ValueKind::Value) {
        let (value, default) = (dotted(&entry.path), default(&entry.default));
        let _ = writeln!(page, "| `{value}` | {default} | {}{} |", cell(&entry.description), choices(&entry.rules));
    }
    for (opening, outcome) in [(IGNORED, Outcome::Ignored), (REFUSED, Outcome::Refused)] {
        page += opening;
        for keda in kedas.iter().filter(|keda| keda.then == outcome) {
            let _ = writeln!(page, "| `{}` | {} |", keda.value, cell(&keda.because));
        }
    }
    page
}

fn default(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => String::new(),
        Value::String(text) => format!("`{text}`"),
        value => match value.to_string() {
            long if long.len() > DEFAULT_LENGTH_MAX => "see values.yaml".to_owned(),
            short => format!("`{}`", cell(&short)),
        },
    }
}

fn choices(rules: &Value) -> String {
    let Some(choices) = rules["enum"].as_array() else { return String::new() };
    let choices: Vec<String> = choices.iter().filter_map(Value::as_str).map(|one| format!("`{one}`")).collect();
    format!(" One of {}.", choices.join(", "))
}

/// A text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
