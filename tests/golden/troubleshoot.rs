//! `docs/troubleshoot.md` quotes messages of Kedge: each must be in the sources that are shipped.
//!
//! In tables with the header `| message |`, the first cell of a row is one message, in which `…` replaces any text. Messages are
//! assembled at `: `, at `; ` and after the name of a field, so the parts between these and `…` are searched one by one.

use std::fs;
use std::path::Path;

use kedge_tests::files;
use kedge_tests::page::{cells, code};

/// Crates that are for development only: users see none of their messages.
const DEVELOPMENT: [&str; 5] = ["faults", "peer", "plane", "test-cluster", "xtask"];

/// The code of all crates that are shipped, without comments and unit tests, as the compiler reads its string literals.
fn shipped_code() -> String {
    let root = files::workspace();
    let mut code = String::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        if !DEVELOPMENT.iter().any(|name| path.ends_with(name)) {
            collect(&path.join("src"), &mut code);
        }
    }
    collect(&root.join("webhooks/src"), &mut code);
    code
}

fn collect(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            collect(&path, code);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            code.push_str(&literals(&files::read(&path)));
        }
    }
}

/// The text of a source file with its escapes resolved and lines that end in a backslash joined.
fn literals(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut text = String::new();
    let mut is_continued = false;
    for line in lines {
        let line = if is_continued { line.trim_start() } else { line };
        is_continued = line.ends_with('\\');
        text.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !is_continued {
            text.push('\n');
        }
    }
    text.replace("\\\"", "\"")
}

/// The messages that a page quotes.
fn messages(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        is_inside = line.starts_with('|') && (is_inside || line.starts_with("| message |"));
        if is_inside && !line.starts_with("| message |") && !line.starts_with("|---") {
            let cell = cells(line).swap_remove(1);
            found.push(code(&cell).unwrap_or_else(|| panic!("not one message in backticks: {cell}")));
        }
    }
    found
}

/// The constant parts of a message.
fn parts(message: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = message.split('…').collect();
    for joint in [": ", "; ", "` "] {
        parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    parts.retain(|part| part.len() > 1);
    parts
}

#[test]
fn every_quoted_message_is_in_the_code() {
    let shipped = shipped_code();
    let messages = messages(&files::read(&files::workspace().join("docs/troubleshoot.md")));
    assert!(messages.len() > 30, "only {} messages", messages.len());
    let missing: Vec<(&String, &str)> = messages
        .iter()
        .flat_map(|message| parts(message).into_iter().map(move |part| (message, part)))
        .filter(|(_, part)| !shipped.contains(*part))
        .collect();
    assert!(missing.is_empty(), "docs/troubleshoot.md quotes what no code prints: {missing:#?}");
}

#[test]
fn messages_are_read_from_their_tables_alone() {
    let page =
        "| message | cause |\n|---|---|\n| `a …: b` | c |\n\n| error of Kubernetes | cause |\n|---|---|\n| `d` | e |\n";
    assert_eq!(messages(page), ["a …: b"]);
    assert_eq!(parts("no …: `…` x; use one of …"), ["no ", "use one of "]);
    assert_eq!(literals("// no\nfn x() { \"a \\\"b\\\" \\\n    c\" }\n"), "fn x() { \"a \"b\" c\" }\n");
}
