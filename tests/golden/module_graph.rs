//! The `use` lines between the modules of each crate: siblings must not form a cycle. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use kedge_tests::files;
use regex::Regex;

/// A module as the parts of its path; the crate root has none.
type ModulePath = Vec<String>;

/// Siblings, each with the siblings that it uses.
type Graph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// The modules of a crate, by path, each with its source.
fn modules(source_folder: &Path) -> BTreeMap<ModulePath, String> {
    let mut found = BTreeMap::new();
    for path in files::rust_sources(source_folder) {
        let module = path.strip_prefix(source_folder).unwrap().with_extension("");
        let mut parts: ModulePath = module.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if parts == ["lib"] || parts == ["main"] {
            parts.clear();
        }
        if !parts.iter().any(|part| part == "tests" || part == "bin") {
            found.insert(parts, files::read(&path));
        }
    }
    found
}

/// The code without comments and without its tests.
fn production_code(source: &str) -> String {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").unwrap());
    COMMENT.replace_all(files::without_tests(source), "").into_owned()
}

/// Every path that begins with `crate`, `super` or `self`, in `use` lines and elsewhere.
fn local_paths(code: &str) -> Vec<String> {
    static IN_USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse\s+((?:crate|super|self)::[^;]+);").unwrap());
    static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::[a-z_]+)+").unwrap());
    let trees = IN_USE.captures_iter(code).flat_map(|found| expanded(&found[1]));
    trees.chain(ELSEWHERE.find_iter(code).map(|found| found.as_str().to_owned())).collect()
}

/// The paths of a `use` tree: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut branches) = (0_i32, vec![String::new()]);
    for letter in inside.chars() {
        match letter {
            ',' if depth == 0 => branches.push(String::new()),
            letter => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                branches.last_mut().unwrap().push(letter);
            }
        }
    }
    let branches = branches.iter().map(|branch| branch.trim()).filter(|branch| !branch.is_empty());
    branches.flat_map(|branch| expanded(&format!("{before}{branch}"))).collect()
}

/// The module that a path of the module `from` leads to: the longest beginning that is a module.
fn resolve(from: &ModulePath, path: &str, modules: &BTreeMap<ModulePath, String>) -> Option<ModulePath> {
    let mut full = from.clone();
    for part in path.split("::").map(|part| part.split_whitespace().next().unwrap_or_default()) {
        match part {
            "crate" => full.clear(),
            "self" => {}
            "super" => drop(full.pop()),
            part => full.push(part.to_owned()),
        }
    }
    while !full.is_empty() && !modules.contains_key(&full) {
        full.pop();
    }
    (!full.is_empty()).then_some(full)
}

/// What siblings use of each other, also through their children. What parents and children use of each other does not count.
fn sibling_graph(modules: &BTreeMap<ModulePath, String>) -> Graph {
    let mut graph = Graph::new();
    for (from, source) in modules {
        for path in local_paths(&production_code(source)) {
            let Some(to) = resolve(from, &path, modules) else { continue };
            let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            if common < from.len() && common < to.len() {
                graph.entry(from[..=common].to_vec()).or_default().insert(to[..=common].to_vec());
            }
        }
    }
    graph
}

/// A cycle, as the names of its modules from one of them back to it.
fn find_cycle(graph: &Graph) -> Option<String> {
    let reachable = |from: &ModulePath| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(graph.get(module).into_iter().flatten().filter(|used| seen.insert((*used).clone())));
        }
        seen
    };
    let on_a_cycle: Vec<&ModulePath> = graph.keys().filter(|module| reachable(module).contains(*module)).collect();
    let names: Vec<String> = on_a_cycle.iter().map(|module| module.join("::")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[test]
fn sibling_modules_do_not_depend_on_each_other_in_a_cycle() {
    let crates = std::fs::read_dir(files::workspace().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = crates.chain([files::workspace().join("webhooks")]).collect();
    folders.retain(|folder| folder.join("src").is_dir());
    assert!(folders.len() > 10, "{folders:?}");
    let cycles: Vec<String> = folders
        .iter()
        .filter_map(|folder| {
            let cycle = find_cycle(&sibling_graph(&modules(&folder.join("src"))))?;
            Some(format!("{}: {cycle}", folder.display()))
        })
        .collect();
    assert!(cycles.is_empty(), "these modules are on cycles; move what both need into a third:\n{}", cycles.join("\n"));
}

#[test]
fn a_cycle_is_found_through_children_and_groups() {
    let module = |path: &str| -> ModulePath { path.split("::").map(str::to_owned).collect() };
    let source = |text: &str| text.to_owned();
    let mut modules = BTreeMap::from([
        (Vec::new(), source("mod a; mod b;")),
        (module("a"), source("use crate::{b::{self, Thing}, c};")),
        (module("b"), source("use crate::c::Other;")),
        (module("b::child"), source("// use crate::a::Comment;\nuse super::Thing;")),
        (module("c"), source("#[cfg(test)]\nmod tests {\n    use crate::a::Thing;\n}")),
    ]);
    assert_eq!(find_cycle(&sibling_graph(&modules)), None);
    modules.insert(module("b::child"), source("fn f() { super::super::a::g() }"));
    assert_eq!(find_cycle(&sibling_graph(&modules)).as_deref(), Some("a, b"));
}
