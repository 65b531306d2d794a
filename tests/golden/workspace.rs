//! Rules for the whole workspace: licences, requirements of a build, sources of dependencies, and banned ones.

use std::process::Command;

use kedge_tests::files;
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(files::workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The rules for dependencies: `.deny.toml`, which cargo-deny reads too.
fn rules() -> DocumentMut {
    files::read(&files::workspace().join(".deny.toml")).parse().unwrap()
}

fn texts(list: &Item) -> Vec<&str> {
    let texts: Vec<&str> = list.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(!texts.is_empty());
    texts
}

/// Whether an SPDX expression can be met with these licences alone: every `AND` part, by any of its `OR` parts.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let words = expression.replace(['(', ')'], " ").replace(" WITH LLVM-exception", "").replace('/', " OR ");
    words.split(" AND ").all(|part| part.split(" OR ").any(|licence| allowed.contains(&licence.trim())))
}

#[test]
fn every_dependency_has_a_free_licence() {
    let rules = rules();
    let is_free = |expression: &str| is_met(expression, &texts(&rules["licenses"]["allow"]));
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_free(licence), "{} has the licence {licence:?}", package["name"]);
    }
    assert!(!is_free("AGPL-3.0-only") && !is_free("MIT AND GPL-3.0") && is_free("GPL-2.0 OR MIT"));
}

#[test]
fn a_build_needs_no_system_library() {
    let (rules, lock) = (rules(), files::read(&files::workspace().join("Cargo.lock")));
    let banned = rules["bans"]["deny"].as_array().unwrap();
    assert!(banned.len() > 3);
    for package in banned.iter().map(|ban| ban.as_inline_table().unwrap()["crate"].as_str().unwrap()) {
        assert!(!lock.contains(&format!("name = \"{package}\"")), "{package} needs more than cargo");
    }
}

#[test]
fn a_checkout_has_few_dependencies_and_one_of_each_stack() {
    /// Each takes time to build and to review. Codecs of sources are our own: see decision 12.
    const PACKAGES_MAX: usize = 405;
    let lock: DocumentMut = files::read(&files::workspace().join("Cargo.lock")).parse().unwrap();
    let names: Vec<&str> =
        lock["package"].as_array_of_tables().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
    assert!(names.len() <= PACKAGES_MAX, "{} packages", names.len());
    for stack in ["hyper", "http", "rustls", "tokio", "tonic"] {
        assert_eq!(names.iter().filter(|name| **name == stack).count(), 1, "{stack}");
    }
}

#[test]
fn every_dependency_is_from_the_registry_and_has_a_checksum() {
    let (rules, lock) = (rules(), files::read(&files::workspace().join("Cargo.lock")));
    let registries = texts(&rules["sources"]["allow-registry"]);
    let lock: DocumentMut = lock.parse().unwrap();
    let packages = lock["package"].as_array_of_tables().unwrap();
    let of_others: Vec<_> = packages.iter().filter(|package| package.contains_key("source")).collect();
    assert!(of_others.len() > 100, "only {} packages", of_others.len());
    for package in of_others {
        let source = package["source"].as_str().unwrap();
        let is_known = registries.iter().any(|registry| source == format!("registry+{registry}"));
        assert!(is_known && package.contains_key("checksum"), "{:?} is from {source}", package["name"]);
    }
    let own = packages.iter().filter(|package| !package.contains_key("source"));
    for name in own.map(|package| package["name"].as_str().unwrap()) {
        assert!(name.starts_with("kedge") || name == "xtask", "{name} is in no registry");
    }
}

#[test]
fn crates_have_no_banned_dependencies() {
    // Left: the crate. Right: packages that it must not depend on.
    let rows: [(&str, &[&str]); 4] = [
        ("kedge-api", &["tokio", "hyper", "kube-client", "tonic"]),
        ("kedge-core", &["tokio", "hyper", "kube-client", "tonic"]),
        ("kedge-proto", &["kube-core", "kedge-api"]),
        ("kedge", &["kedge-test-cluster", "xtask"]),
    ];
    for (package, banned) in rows {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--edges=normal", "--prefix=none", "--format={lib}", "--package", package])
            .current_dir(files::workspace())
            .output()
            .unwrap();
        let below = String::from_utf8(output.stdout).unwrap();
        assert!(below.lines().count() > 10, "{}", String::from_utf8_lossy(&output.stderr));
        for name in banned {
            let name = name.replace('-', "_");
            assert!(below.lines().all(|found| found != name), "{package} must not depend on {name}");
        }
    }
}
