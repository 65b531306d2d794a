//! `kedge lint`, as a user runs it. The rules are tested beside their code.

// Helpers of tests may unwrap too.
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A run in the folder of the sample, with this on standard input.
fn kedge(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kedge"));
    command.args(arguments).current_dir(workspace("tests/golden/lint"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A run that reads nothing may be over before.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn lint(arguments: &[&str]) -> (Option<i32>, String) {
    let output = kedge(&[&["lint"], arguments].concat(), b"");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

const FORMATS: [&str; 4] = ["text", "json", "sarif", "github"];

/// `UPDATE_GOLDEN=1` writes them; the difference is the review.
#[test]
fn each_format_has_every_violation_of_the_sample() {
    for format in FORMATS {
        let (code, printed) = lint(&["shop.yaml", "--format", format]);
        let printed = printed.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert_eq!(code, Some(1), "{format}");
        let path = workspace("tests/golden/lint").join(format!("shop.{format}"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &printed).unwrap();
        }
        assert_eq!(printed, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
    }
}

#[test]
fn sarif_has_the_required_fields() {
    let log: Value = serde_json::from_str(&lint(&["shop.yaml", "--format", "sarif"]).1).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().contains("sarif-2.1.0"));
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "kedge");
    let rules: Vec<&str> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(result["ruleId"], rules[index]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()), "{result}");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let location = &result["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "shop.yaml");
        assert!(location["region"]["startLine"].as_u64().unwrap() >= 1, "{location}");
        assert!(location["region"]["startColumn"].as_u64().unwrap() >= 1, "{location}");
    }
}

#[test]
fn all_formats_report_the_same() {
    let json: Value = serde_json::from_str(&lint(&["shop.yaml", "--format", "json"]).1).unwrap();
    let expected: Vec<(String, u64)> = json["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|remark| (remark["rule"].as_str().unwrap().to_owned(), remark["line"].as_u64().unwrap()))
        .collect();
    let count = expected.len();
    let (text, github) = (lint(&["shop.yaml"]).1, lint(&["shop.yaml", "--format", "github"]).1);
    assert_eq!((text.lines().count(), github.lines().count()), (count + 1, count + 1), "a line each, and the sum");
    for ((rule, line), (text, github)) in expected.iter().zip(text.lines().zip(github.lines())) {
        assert!(text.starts_with(&format!("shop.yaml:{line}:")) && text.contains(&format!("[{rule}]")), "{text}");
        assert!(github.contains(&format!("file=shop.yaml,line={line},")) && github.contains(rule), "{github}");
    }
}

#[test]
fn the_exit_code_follows_the_severity() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: web}}\nspec:\n  scaleTargetRef: {{name: web}}\n\
             {lines}  triggers:\n  - type: cron\n    metadata: {{timezone: UTC, start: 0 8 * * *, end: 0 9 * * *, desiredReplicas: \"2\"}}\n"
        );
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let fine = write("fine.yaml", "  maxReplicaCount: 5\n");
    let advised = write("advised.yaml", "");
    let warned = write("warned.yaml", "  maxReplicaCount: 5\n  minReplicaCount: 1\n  cooldownPeriod: 9\n");
    let wrong = write("wrong.yaml", "  maxReplicaCount: 5\n  minReplicaCount: 9\n");
    let missing = folder.path().join("missing.yaml").to_str().unwrap().to_owned();
    let rows: [(&[&str], i32); 12] = [
        (&[&fine], 0),
        (&[&fine, "--fail-on", "advice"], 0),
        (&[&advised], 0),
        (&[&advised, "--fail-on", "advice"], 1),
        (&[&warned], 0),
        (&[&warned, "--fail-on", "warning"], 1),
        (&[&wrong], 1),
        (&[&wrong, "--fail-on", "never"], 0),
        (&[&missing], 2),
        (&[&missing, "--fail-on", "never"], 2),
        (&[], 2),
        (&[&fine, "--format", "xml"], 2),
    ];
    for (arguments, expected) in rows {
        assert_eq!(lint(arguments).0, Some(expected), "{arguments:?}");
    }
    let (code, printed) = lint(&[&missing, &wrong]);
    assert_eq!(code, Some(2));
    assert!(printed.contains("min-above-max"), "the others are checked nevertheless: {printed}");
}

#[test]
fn rules_can_be_ignored_by_id() {
    let all = lint(&["shop.yaml"]).1;
    let (code, printed) = lint(&["shop.yaml", "--ignore", "no-fallback,no-max-replicas", "--ignore", "schema"]);
    assert_eq!(code, Some(1));
    let kept: Vec<&str> = all
        .lines()
        .filter(|line| !["[no-fallback]", "[no-max-replicas]", "[schema]"].iter().any(|rule| line.contains(rule)))
        .collect();
    assert_eq!(printed.lines().count(), kept.len(), "{printed}");
    assert!(printed.ends_with("4 errors, 2 warnings, 1 piece of advice in 2 objects of 1 file\n"), "{printed}");
    let output = kedge(&["lint", "shop.yaml", "--ignore", "no-fallbacks"], b"");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains("there is no such rule; write no-fallback"), "{printed}");
}

#[test]
fn a_former_rule_id_is_accepted_with_a_notice() {
    let (_, current) = lint(&["shop.yaml", "--ignore", "invalid-trigger,no-max-replicas"]);
    let output = kedge(&["lint", "shop.yaml", "--ignore", "trigger-wrong,no-max-replicas"], b"");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), current);
    let notice = "notice: the rule trigger-wrong is now called invalid-trigger; update --ignore\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), notice);
    let log: Value = serde_json::from_str(&lint(&["shop.yaml", "--format", "sarif"]).1).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["id"] == "invalid-trigger").unwrap();
    assert_eq!(rule["deprecatedIds"], serde_json::json!(["trigger-wrong"]));
}

#[test]
fn standard_input_and_folders_are_read() {
    let sample = fs::read(workspace("tests/golden/lint/shop.yaml")).unwrap();
    let output = kedge(&["lint", "-", "--format", "json"], &sample);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &printed["remarks"][0]["file"]), (Some(1), &"<stdin>".into()));
    let (code, printed) = lint(&["."]);
    assert_eq!((code, printed.contains("./shop.yaml:")), (Some(1), true), "{printed}");
    let empty = tempfile::tempdir().unwrap();
    let output = kedge(&["lint", empty.path().to_str().unwrap()], b"");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(printed.contains("no .yaml, .yml or .json manifests"), "{printed}");
}

#[test]
fn random_bytes_end_with_a_documented_exit_code() {
    let rows: [&[u8]; 5] = [b"\xff\xfe", b"{", b"- - - -", b"a: &a [*a]", &[b'['; 100_000]];
    for bytes in rows {
        let code = kedge(&["lint", "-"], bytes).status.code();
        assert!(matches!(code, Some(1 | 2)), "{code:?} {:?}", &bytes[..bytes.len().min(20)]);
    }
}

#[test]
fn the_rules_are_listed() {
    let (code, printed) = lint(&["--rules"]);
    assert_eq!(code, Some(0));
    for rule in ["yaml-syntax", "unknown-field", "min-above-max", "no-fallback"] {
        assert!(printed.lines().any(|line| line.starts_with(&format!("{rule} "))), "{rule}: {printed}");
    }
}

#[test]
fn the_reference_is_fresh() {
    let output = kedge(&["reference", "lint"], b"");
    let page = fs::read_to_string(workspace("docs/reference/lint.md")).unwrap_or_default();
    let is_fresh = page == String::from_utf8(output.stdout).unwrap();
    assert!(is_fresh, "docs/reference/lint.md is stale; run `cargo xtask generate`");
}

#[test]
fn the_page_for_users_shows_real_output() {
    let page = fs::read_to_string(workspace("docs/lint.md")).unwrap();
    let (_, block) = page.split_once("```text\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let printed = lint(&["shop.yaml"]).1;
    for line in block.lines() {
        assert!(printed.lines().any(|found| found == line), "docs/lint.md shows {line:?}, which is not printed");
    }
}
