//! Random texts: no panic, a result in time, and positions within the text. The same texts in every run.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{lint, yaml_files};

/// The time limit of one text: a hundred times the usual, because test machines are busy.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Checks what must hold for any text.
fn survives(bytes: &[u8]) {
    let started = Instant::now();
    let report = lint(bytes);
    assert!(started.elapsed() < TIME_MAX, "{:?} for {} bytes", started.elapsed(), bytes.len());
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    for diagnostic in &report.diagnostics {
        let position = diagnostic.position;
        assert!((1..=lines + 1).contains(&position.line) && position.column >= 1, "{position:?} of {lines} lines");
    }
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    DeleteLine(Index),
    RepeatLine(Index),
    SwapLines(Index, Index),
    Indent(Index, usize),
    /// What follows the first colon of a line.
    Scalar(Index, &'static str),
    InsertLine(Index, &'static str),
    Bytes(Index, Vec<u8>),
    Cut(Index),
    Nest(Index, usize),
    Prolong(Index, usize),
}

const SCALARS: [&str; 24] = [
    "",
    "~",
    "null",
    "true",
    "yes",
    "-1",
    "0",
    "2.5",
    "1e400",
    "-.inf",
    ".nan",
    "99999999999999999999",
    "[]",
    "{}",
    "[[[]]]",
    "{a: {b: c}}",
    "\"\"",
    "'",
    "|",
    "*anchor",
    "&anchor x",
    "!!binary aGk=",
    "<<",
    "\"\\ud800\"",
];

const LINES: [&str; 12] = [
    "---",
    "...",
    "%YAML 1.1",
    "\t",
    "- ",
    "? key",
    ": value",
    "<<: *anchor",
    "spec:",
    "  triggers: &t [*t]",
    "kind: List",
    "items: [{}]",
];

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Change::DeleteLine),
        at().prop_map(Change::RepeatLine),
        (at(), at()).prop_map(|(one, other)| Change::SwapLines(one, other)),
        (at(), 0..9_usize).prop_map(|(line, spaces)| Change::Indent(line, spaces)),
        (at(), select(&SCALARS[..])).prop_map(|(line, text)| Change::Scalar(line, text)),
        (at(), select(&LINES[..])).prop_map(|(line, text)| Change::InsertLine(line, text)),
        (at(), proptest::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(position, bytes)| Change::Bytes(position, bytes)),
        at().prop_map(Change::Cut),
        (at(), 1..100_usize).prop_map(|(line, depth)| Change::Nest(line, depth)),
        (at(), 1..20_000_usize).prop_map(|(line, length)| Change::Prolong(line, length)),
    ]
}

fn apply(text: Vec<u8>, change: &Change) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    match change {
        Change::DeleteLine(at) => drop(lines.remove(at.index(lines.len()))),
        Change::RepeatLine(at) => lines.insert(at.index(lines.len()), lines[at.index(lines.len())].clone()),
        Change::SwapLines(one, other) => {
            let count = lines.len();
            lines.swap(one.index(count), other.index(count));
        }
        Change::Indent(at, spaces) => {
            let count = lines.len();
            let line = &mut lines[at.index(count)];
            *line = [vec![b' '; *spaces], line.trim_ascii_start().to_vec()].concat();
        }
        Change::Scalar(at, scalar) => {
            let count = lines.len();
            let line = &mut lines[at.index(count)];
            let kept = line.iter().position(|byte| *byte == b':').map_or(0, |colon| colon + 1);
            *line = [&line[..kept], b" ", scalar.as_bytes()].concat();
        }
        Change::InsertLine(at, text) => lines.insert(at.index(lines.len()), text.as_bytes().to_vec()),
        Change::Nest(at, depth) => {
            let count = lines.len();
            lines[at.index(count)].extend(b"[".repeat(*depth));
        }
        Change::Prolong(at, length) => {
            let count = lines.len();
            lines[at.index(count)].extend(b"x".repeat(*length));
        }
        Change::Bytes(at, bytes) => return spliced(&text, at, bytes),
        Change::Cut(at) => return text[..at.index(text.len() + 1)].to_vec(),
    }
    lines.join(&b'\n')
}

fn spliced(text: &[u8], at: &Index, bytes: &[u8]) -> Vec<u8> {
    let (before, after) = text.split_at(at.index(text.len() + 1));
    [before, bytes, after].concat()
}

/// The same texts in every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn changed_manifests_are_survived() {
    let seeds: Vec<Vec<u8>> = yaml_files("tests/manifests/lint").into_iter().map(|(_, bytes)| bytes).collect();
    let changes = proptest::collection::vec(change(), 1..6);
    let done = runner(300).run(&(any::<Index>(), changes), |(seed, changes)| {
        let text = changes.iter().fold(seeds[seed.index(seeds.len())].clone(), apply);
        survives(&text);
        Ok(())
    });
    done.unwrap();
}

#[test]
fn any_bytes_are_survived() {
    let done = runner(300).run(&proptest::collection::vec(any::<u8>(), 0..200), |bytes| {
        survives(&bytes);
        Ok(())
    });
    done.unwrap();
    let signs = proptest::collection::vec(select(&b"{}[]:,-?&*!|>'\"%@#\n \tab0~<"[..]), 0..200);
    let done = runner(300).run(&signs, |bytes| {
        survives(&bytes);
        Ok(())
    });
    done.unwrap();
}

#[test]
fn what_is_made_to_be_heavy_is_survived() {
    let laughs = |width: usize, depth: usize| {
        let level = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); width].join(", "));
        let levels: String = (1..depth).map(level).collect();
        format!("a0: &a0 [x, x, x, x, x]\n{levels}")
    };
    let rows = [
        ("brackets", "[".repeat(100_000)),
        ("braces", "{a: ".repeat(50_000)),
        ("dashes", "- ".repeat(50_000)),
        ("deep blocks", (0..3_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect()),
        ("many keys", (0..20_000).map(|key| format!("k{key}: {key}\n")).collect()),
        ("many documents", "---\nkind: A\n".repeat(5_000)),
        ("one long line", format!("a: {}\n", "x".repeat(2_000_000))),
        ("a billion laughs", laughs(10, 10)),
        ("aliases beside each other", laughs(90, 3)),
        ("an alias of itself", "a: &a {b: *a}\n".to_owned()),
        ("many anchors", (0..5_000).map(|n| format!("k{n}: &a{n} x\n")).collect()),
        ("merges", format!("a: &a {{x: 1}}\nb:\n{}", "  <<: *a\n".repeat(2_000))),
        (
            "many triggers",
            format!(
                "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  triggers:\n{}",
                "  - type: x\n".repeat(3_000)
            ),
        ),
        ("a million empty lines", "\n".repeat(1_000_000)),
    ];
    for (name, text) in rows {
        let started = Instant::now();
        survives(text.as_bytes());
        assert!(started.elapsed() < TIME_MAX, "{name}");
    }
}
