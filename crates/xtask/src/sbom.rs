//! `cargo xtask sbom`: the packages in the shipped program, as a CycloneDX document.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use kedge_test_cluster::cargo;
use serde_json::{Value, json};

/// The package of the shipped program.
const PROGRAM: &str = "kedge";

/// The target of the image.
const TARGET: &str = "x86_64-unknown-linux-musl";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List the packages for this target
    #[arg(long, value_name = "TRIPLE", default_value = TARGET)]
    target: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let platform = format!("--filter-platform={}", args.target);
    let features = "--features=kedge/jemalloc";
    let output = cargo::command(&["metadata", "--format-version=1", "--locked", features, &platform]).output()?;
    ensure!(output.status.success(), "`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cannot parse the output of cargo")?;
    let lock = fs::read_to_string(cargo::workspace().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let document = format!("{:#}\n", render(&metadata, &checksums(&lock))?);
    match &args.output {
        Some(path) => fs::write(path, document).with_context(|| format!("cannot write {}", path.display())),
        None => {
            print!("{document}");
            Ok(())
        }
    }
}

/// The checksums of packages by name and version.
type Checksums = BTreeMap<(String, String), String>;

/// Reads the checksums of `Cargo.lock`, whose packages are blocks of `key = "value"` lines.
fn checksums(lock: &str) -> Checksums {
    let field = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
        Some(line.trim_matches('"').to_owned())
    };
    let package = |block: &str| Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?));
    lock.split("[[package]]").filter_map(package).collect()
}

/// The document for the output of `cargo metadata`.
fn render(metadata: &Value, checksums: &Checksums) -> anyhow::Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let by_id: BTreeMap<&str, &Value> = packages.iter().filter_map(|one| Some((one["id"].as_str()?, one))).collect();
    let root = packages.iter().find(|one| one["name"] == PROGRAM).context("cargo lists no package kedge")?;
    let root_id = root["id"].as_str().unwrap_or_default();
    let edges = normal_dependencies(metadata);
    let reached = reached_from(root_id, &edges);
    let reference = |id: &str| by_id.get(id).map(|package| package_url(package)).unwrap_or_default();
    let mut components: Vec<Value> = reached
        .iter()
        .filter(|id| **id != root_id)
        .filter_map(|id| Some(component(by_id.get(id)?, checksums)))
        .collect();
    components.sort_by_key(|component| component["purl"].to_string());
    let mut dependencies: Vec<Value> = reached
        .iter()
        .map(|id| {
            let mut below: Vec<String> = edges.get(id).into_iter().flatten().map(|id| reference(id)).collect();
            below.sort();
            json!({ "ref": reference(id), "dependsOn": below })
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    let mut program = component(root, checksums);
    program["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The packages that each package links.
fn normal_dependencies(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let is_normal = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
    };
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let edges = nodes.filter_map(|node| {
        let below = node["deps"].as_array().into_iter().flatten().filter(is_normal);
        Some((node["id"].as_str()?, below.filter_map(|one| one["pkg"].as_str()).collect()))
    });
    edges.collect()
}

fn reached_from<'a>(root: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([root]);
    let mut left = vec![root];
    while let Some(id) = left.pop() {
        left.extend(edges.get(id).into_iter().flatten().copied().filter(|below| reached.insert(below)));
    }
    reached
}

fn component(package: &Value, checksums: &Checksums) -> Value {
    let url = package_url(package);
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": package["name"],
        "version": package["version"],
        "purl": url,
        "licenses": [{ "expression": text("license").replace('/', " OR ") }],
    });
    if let Some(checksum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn package_url(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> Value {
        json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" })
    }

    #[test]
    fn only_what_is_linked_is_listed_with_its_checksum() {
        let edge = |to: &str, kind: Value| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("kedge"), package("linked"), package("below"), package("tested"), package("built")],
            "resolve": { "nodes": [
                { "id": "kedge", "deps": [edge("linked", Value::Null), edge("tested", json!("dev")), edge("built", json!("build"))] },
                { "id": "linked", "deps": [edge("below", Value::Null)] },
                { "id": "tested", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"below\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n[[package]]\nname = \"kedge\"\nversion = \"1.0.0\"\n";
        let document = render(&metadata, &checksums(lock)).unwrap();
        let names: Vec<&str> =
            document["components"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["below", "linked"]);
        assert_eq!(document["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["metadata"]["component"]["type"], "application");
        assert_eq!(
            document["dependencies"][1],
            json!({ "ref": "pkg:cargo/kedge@1.0.0", "dependsOn": ["pkg:cargo/linked@1.0.0"] })
        );
    }
}
