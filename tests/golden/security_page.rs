//! Every claim of docs/security.md names tests, and each of them exists.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kedge_tests::files;
use regex::Regex;

/// The tests that the page names: code with underscores.
fn named_tests(page: &str) -> BTreeSet<String> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`").unwrap());
    NAME.captures_iter(page).map(|found| found[1].to_owned()).collect()
}

/// The functions of all Rust sources.
fn functions() -> BTreeSet<String> {
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bfn ([a-z0-9_]+)\(").unwrap());
    let mut functions = BTreeSet::new();
    for folder in ["crates", "tests", "webhooks"] {
        for path in files::rust_sources(&files::workspace().join(folder)) {
            functions.extend(FUNCTION.captures_iter(&files::read(&path)).map(|found| found[1].to_owned()));
        }
    }
    functions
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = files::read(&files::workspace().join("docs/security.md"));
    let (named, functions) = (named_tests(&page), functions());
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<&String> = named.difference(&functions).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that do not exist: {missing:?}");
}

#[test]
fn every_claim_names_a_test() {
    let page = files::read(&files::workspace().join("docs/security.md"));
    let is_claim = |line: &&str| line.starts_with("| ") && !line.contains("---") && !line.starts_with("| claim |");
    let tables = page.split("## ").filter(|section| section.contains("| claim | test |"));
    let claims: Vec<&str> = tables.flat_map(|section| section.lines().filter(is_claim)).collect();
    assert!(claims.len() > 15, "{claims:?}");
    let without: Vec<&&str> = claims.iter().filter(|claim| named_tests(claim).is_empty()).collect();
    assert!(without.is_empty(), "claims without a test: {without:?}");
}
