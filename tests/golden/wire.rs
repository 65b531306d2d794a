//! Every name that users and their tools can see: what is in `tests/golden/wire/` is what the code publishes. A change there breaks a
//! dashboard, an alert, a script or a manifest; `UPDATE_GOLDEN=1` records it, and the difference is the review.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kedge_tests::{files, golden};
use regex::Regex;
use serde_json::Value;

/// Crates that are for development only: nothing of them is visible to users.
const DEVELOPMENT: [&str; 5] = ["faults", "peer", "plane", "test-cluster", "xtask"];

/// The Rust files of all crates that are part of the binary.
fn shipped_sources() -> Vec<PathBuf> {
    let root = files::workspace();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let is_shipped = |path: &PathBuf| !DEVELOPMENT.iter().any(|name| path.ends_with(name));
    let mut sources = Vec::new();
    for folder in crates.filter(is_shipped).chain([root.join("webhooks")]) {
        collect(&folder.join("src"), &mut sources);
    }
    sources.sort();
    sources
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => collect(&path, sources),
            false if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") => {
                sources.push(path)
            }
            false => {}
        }
    }
}

/// Every identifier in the shipped sources, `api::names` aside.
fn shipped_words() -> BTreeSet<String> {
    let sources = shipped_sources();
    assert!(sources.len() > 100, "only {} sources", sources.len());
    let rest = sources.iter().filter(|path| !path.ends_with("api/src/names.rs"));
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    rest.flat_map(|path| files::read(path).split(|letter| !is_part(letter)).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Compares a sorted list with its golden file.
fn expect(group: &str, lines: BTreeSet<String>) {
    assert!(!lines.is_empty(), "nothing found for {group}");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let difference = golden::case(".", "wire").differs(&format!("{group}.txt"), &text);
    assert_eq!(difference, None, "a name that users see has changed");
}

/// Constants of one module of `api::names` that some shipped crate uses: their values.
fn constants(module: &str, words: &BTreeSet<String>) -> BTreeSet<String> {
    let names = files::read(&files::workspace().join("crates/api/src/names.rs"));
    let start = names.find(&format!("pub mod {module} {{")).unwrap_or_else(|| panic!("api::names has no {module}"));
    let body = &names[start..];
    let body = &body[..body.find("\n}").unwrap()];
    let constant = Regex::new(r#"pub const (\w+): &str =\s+"([^"]*)";"#).unwrap();
    let used = constant.captures_iter(body).filter(|found| words.contains(&found[1]));
    used.map(|found| found[2].to_owned()).collect()
}

#[test]
fn names_in_objects_are_unchanged() {
    let words = shipped_words();
    for module in ["annotations", "labels", "conditions", "reasons", "messages", "events"] {
        expect(module, constants(module, &words));
    }
}

/// A format string with empty placeholders.
fn without_arguments(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}{{}}{}", part.split_once('}').map_or(part, |(_, rest)| rest)))
}

/// `notes.txt` is written by hand: the notes of events and the messages of conditions that are composed where they are published.
#[test]
fn composed_messages_are_unchanged() {
    let notes = files::golden("wire/notes.txt");
    let mut missing: BTreeSet<String> = notes.lines().map(without_arguments).collect();
    for path in shipped_sources() {
        for literal in files::read(&path).split('"') {
            missing.remove(&without_arguments(literal));
        }
    }
    assert!(missing.is_empty(), "no longer published: {missing:#?}");
}

#[test]
fn metrics_and_their_labels_are_unchanged() {
    let page = files::read(&files::workspace().join("docs/reference/metrics.md"));
    let line = |cells: Vec<&str>| {
        let mut labels: Vec<&str> = cells[2].split(", ").map(|label| label.trim_matches('`')).collect();
        labels.sort_unstable();
        format!("{}{{{}}}", cells[0].trim_matches('`'), labels.join(","))
    };
    expect("metrics", rows(&page).map(line).collect());
}

/// The first cells of the rows of Markdown tables whose first cell is code.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
}

#[test]
fn flags_and_variables_are_unchanged() {
    let page = files::read(&files::workspace().join("docs/reference/operator.md"));
    let mut lines: BTreeSet<String> =
        rows(&page).map(|cells| format!("{} {}", cells[0], cells[1]).trim().to_owned()).collect();
    let ignored = Regex::new(r"`([^`]+)`").unwrap();
    let without_effect = page.split("that have no effect here").skip(1).flat_map(str::lines);
    for line in without_effect.filter(|line| line.starts_with("| ") && !line.starts_with("| why")) {
        let cell = line.rsplit(" | ").next().unwrap();
        lines.extend(ignored.captures_iter(cell).map(|found| format!("{} (no effect)", &found[1])));
    }
    expect("flags-and-variables", lines);
}

#[test]
fn lint_rules_are_unchanged() {
    let page = files::read(&files::workspace().join("docs/reference/lint.md"));
    let (of_files, rest) = page.split_once("## Only in a cluster").unwrap();
    let (of_clusters, renamed) = rest.split_once("## Renamed rules").unwrap();
    let id = |cells: &Vec<&str>| cells[0].trim_matches('`').to_owned();
    let mut lines: BTreeSet<String> = rows(of_files).map(|cells| format!("{} {}", id(&cells), cells[1])).collect();
    lines.extend(rows(of_clusters).map(|cells| format!("{} in a cluster", id(&cells))));
    lines.extend(rows(renamed).map(|cells| format!("{} is now {}", id(&cells), cells[1].trim_matches('`'))));
    expect("lint-rules", lines);
}

#[test]
fn chart_values_are_unchanged() {
    let values = files::read_yaml(&files::workspace().join("config/helm/kedge/values.yaml"));
    let mut keys = BTreeSet::new();
    flatten("", &values, &mut keys);
    expect("chart-values", keys);
}

fn flatten(prefix: &str, value: &Value, keys: &mut BTreeSet<String>) {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => fields.iter().for_each(|(key, value)| flatten(&format!("{prefix}.{key}"), value, keys)),
        None => drop(keys.insert(prefix.trim_start_matches('.').to_owned())),
    }
}
