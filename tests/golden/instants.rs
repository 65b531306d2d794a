//! Instants are added with `kedge_cluster::instant_after`, which cannot overflow: waits come from manifests and from sources.

use std::sync::LazyLock;

use kedge_tests::files;
use regex::Regex;

/// The crates of the shipped binary.
const FOLDERS: [&str; 9] = [
    "crates/certificates/src",
    "crates/cluster/src",
    "crates/core/src",
    "crates/kedge/src",
    "crates/metrics-api/src",
    "crates/operator/src",
    "crates/scalers/src",
    "crates/serving/src",
    "webhooks/src",
];

/// Files that add to an instant: their path, and why they may.
const EXCEPT: [(&str, &str); 1] = [("crates/metrics-api/src/responder.rs", "adds a constant")];

/// The lines that add to the current instant, outside of tests.
fn additions(source: &str) -> Vec<usize> {
    static ADDITION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"Instant::now\(\)\s*\+").unwrap());
    let lines = files::without_tests(source).lines().enumerate().filter(|(_, line)| ADDITION.is_match(line));
    lines.map(|(number, _)| number + 1).collect()
}

#[test]
fn no_wait_can_overflow_an_instant() {
    let mut paths: Vec<_> =
        FOLDERS.iter().flat_map(|folder| files::rust_sources(&files::workspace().join(folder))).collect();
    paths.retain(|path| !path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs"));
    assert!(paths.len() > 200, "only {} files", paths.len());
    let mut found = Vec::new();
    for path in paths {
        let inside = path.strip_prefix(files::workspace()).unwrap().display().to_string();
        if !EXCEPT.iter().any(|(except, _)| *except == inside) {
            found.extend(additions(&files::read(&path)).into_iter().map(|line| format!("{inside}:{line}")));
        }
    }
    assert!(found.is_empty(), "use `kedge_cluster::instant_after`:\n{}", found.join("\n"));
}

#[test]
fn additions_are_found_outside_of_tests() {
    let source =
        "let at = Instant::now() + wait;\n#[cfg(test)]\nmod tests {\n    let at = Instant::now() + SECOND;\n}\n";
    assert_eq!(additions(source), [1]);
}
