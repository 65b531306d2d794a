//! Rules for the whole workspace: licences, requirements of a build, and banned dependencies.

use std::process::Command;

use kedge_tests::files;
use serde_json::Value;

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(files::workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Licences that require no more than attribution.
const FREE: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met with free licences alone: every `AND` part, by any of its `OR` parts.
fn is_free(expression: &str) -> bool {
    let words = expression.replace(['(', ')'], " ").replace(" WITH LLVM-exception", "").replace('/', " OR ");
    words.split(" AND ").all(|part| part.split(" OR ").any(|licence| FREE.contains(&licence.trim())))
}

#[test]
fn every_dependency_has_a_free_licence() {
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
    let lock = files::read(&files::workspace().join("Cargo.lock"));
    for package in ["openssl-sys", "native-tls", "libz-sys", "protobuf-src", "prost-reflect-build"] {
        assert!(!lock.contains(&format!("name = \"{package}\"")), "{package} needs more than cargo");
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
