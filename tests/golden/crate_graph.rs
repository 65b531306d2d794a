//! The dependencies between the crates of the workspace, held against the block "Dependencies between crates" in `docs/ARCHITECTURE.md`.
//!
//! `a <- b, c` in the block means that `b` and `c` may depend on `a`, and on all that `a` may depend on. A chain continues:
//! `a <- b <- c`. Two or more blanks separate chains; words in parentheses are remarks.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use kedge_tests::files;
use serde_json::Value;

/// Pairs: the first depends on the second.
type Arrows = BTreeSet<(String, String)>;

/// Where the block is.
const HEADING: &str = "## Dependencies between crates";

/// The drawn arrows of a block.
fn drawn(block: &str) -> Arrows {
    let mut arrows = Arrows::new();
    let chains = block.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|chain| !chain.is_empty());
    for chain in chains {
        let groups: Vec<Vec<String>> = chain.split("<-").map(names).collect();
        assert!(groups.len() > 1 && groups.iter().all(|group| !group.is_empty()), "no arrow in `{chain}`");
        for pair in groups.windows(2) {
            let below = |above: &String| pair[0].iter().map(|below| (above.clone(), below.clone())).collect::<Vec<_>>();
            arrows.extend(pair[1].iter().flat_map(below));
        }
    }
    arrows
}

/// The names in a list, without remarks in parentheses.
fn names(list: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0_usize;
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            letter if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Whether one crate may depend on another, directly or through crates between them.
fn is_reachable(arrows: &Arrows, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(crate_name) = next.pop() {
        if crate_name == to {
            return true;
        }
        if seen.insert(crate_name.clone()) {
            next.extend(arrows.iter().filter(|(above, _)| *above == crate_name).map(|(_, below)| below.clone()));
        }
    }
    false
}

/// The normal dependencies between members of the workspace, by short name.
fn declared() -> (BTreeSet<String>, Arrows) {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--no-deps"])
        .current_dir(files::workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let short = |name: &Value| name.as_str().unwrap().trim_start_matches("kedge-").to_owned();
    let packages: BTreeMap<String, &Value> =
        metadata["packages"].as_array().unwrap().iter().map(|package| (short(&package["name"]), package)).collect();
    let mut arrows = Arrows::new();
    for (name, package) in &packages {
        let normal =
            package["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"].is_null());
        let members = normal.map(|dependency| short(&dependency["name"])).filter(|below| packages.contains_key(below));
        arrows.extend(members.map(|below| (name.clone(), below)));
    }
    (packages.into_keys().collect(), arrows)
}

/// The text block that follows the heading.
fn block(page: &str) -> &str {
    let (_, rest) = page.split_once(HEADING).expect("the heading is there");
    let (_, rest) = rest.split_once("```text\n").expect("a text block follows the heading");
    rest.split_once("```").expect("the block ends").0
}

#[test]
fn crates_depend_only_on_what_the_architecture_draws() {
    let page = files::read(&files::workspace().join("docs/ARCHITECTURE.md"));
    let drawn = drawn(block(&page));
    let (packages, declared) = declared();
    assert!(packages.len() > 10 && declared.len() > 10, "{packages:?} {declared:?}");
    let mut wrong: Vec<String> = Vec::new();
    for (above, below) in declared.iter().filter(|(above, below)| !is_reachable(&drawn, above, below)) {
        wrong.push(format!("`{above}` depends on `{below}`, which is not drawn"));
    }
    for (above, below) in drawn.difference(&declared) {
        wrong.push(format!("`{below} <- {above}` is drawn, but `{above}` does not depend on `{below}`"));
    }
    for name in &packages {
        if drawn.iter().all(|(above, below)| above != name && below != name) {
            wrong.push(format!("`{name}` is not drawn"));
        }
    }
    assert!(wrong.is_empty(), "docs/ARCHITECTURE.md, \"Dependencies between crates\":\n{}", wrong.join("\n"));
}

#[test]
fn a_block_of_arrows_is_read_chain_by_chain() {
    let arrows = drawn(
        "api <- core <- scalers     proto <- scalers\nserving <- metrics-api, certificates (TLS, HTTP) <- kedge\n",
    );
    let expected = [
        ("certificates", "serving"),
        ("core", "api"),
        ("kedge", "certificates"),
        ("kedge", "metrics-api"),
        ("metrics-api", "serving"),
        ("scalers", "core"),
        ("scalers", "proto"),
    ];
    assert_eq!(arrows, expected.map(|(above, below)| (above.to_owned(), below.to_owned())).into());
    assert!(is_reachable(&arrows, "scalers", "api") && !is_reachable(&arrows, "api", "scalers"));
}
