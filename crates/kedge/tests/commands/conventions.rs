//! The conventions of `docs/reference/cli.md`, over every command that reads manifests: input forms, exit codes, errors, closed pipes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The commands, with what else they need.
const COMMANDS: [&[&str]; 4] =
    [&["lint"], &["rbac"], &["simulate", "--load", "constant:0", "--duration", "5m"], &["scaler", "check", "-f"]];

const OBJECT: &str = "\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: web
spec:
  scaleTargetRef:
    name: web
  maxReplicaCount: 5
  triggers:
  - type: cron
    metadata:
      timezone: UTC
      start: 0 8 * * *
      end: 0 9 * * *
      desiredReplicas: \"2\"
";

fn start(command: &[&str], file: &str) -> Command {
    let mut started = Command::new(env!("CARGO_BIN_EXE_kedge"));
    started.args(command).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    started
}

fn run(command: &[&str], file: &str, input: &str) -> Output {
    let mut child = start(command, file).spawn().unwrap();
    // A command that does not read it may be over before.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The exit code, and what is on standard error.
fn ended(command: &[&str], file: &str, input: &str) -> (i32, String) {
    let output = run(command, file, input);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The object in each form that files have.
fn forms() -> Vec<(&'static str, String)> {
    let indented: String = OBJECT.lines().map(|line| format!("  {line}\n")).collect();
    let json: Value = serde_json::json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
        "spec": {
            "scaleTargetRef": { "name": "web" }, "maxReplicaCount": 5,
            "triggers": [{ "type": "cron", "metadata": {
                "timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "2",
            }}],
        },
    });
    vec![
        ("one.yaml", OBJECT.to_owned()),
        ("one.yml", format!("# a comment\n---\n{OBJECT}")),
        ("one.json", json.to_string()),
        ("list.yaml", format!("apiVersion: v1\nkind: List\nitems:\n-{}", &indented[1..])),
        ("others.yaml", format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n---\n{OBJECT}")),
        ("empty-value.yaml", OBJECT.replace("      timezone: UTC\n", "      timezone: UTC\n      comment:\n")),
    ]
}

#[test]
fn every_command_reads_every_form() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in forms() {
        let alone = folder.path().join(name.replace('.', "-"));
        fs::create_dir(&alone).unwrap();
        let file = alone.join(name);
        fs::write(&file, &text).unwrap();
        for command in COMMANDS {
            for (place, input) in [(file.to_str().unwrap(), ""), (alone.to_str().unwrap(), ""), ("-", text.as_str())] {
                let (code, error) = ended(command, place, input);
                assert_eq!(code, 0, "{command:?} {place} {name}: {error}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_named_and_exits_with_two() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let nothing = file("nothing.yaml", "");
    let others = file("others.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n");
    let missing = folder.path().join("missing.yaml");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let rows = [
        (&nothing, "there is no"),
        (&others, "there is no"),
        (&missing, "cannot read"),
        (&empty, "there are no .yaml, .yml or .json manifests in"),
    ];
    for command in COMMANDS {
        for (path, expected) in rows {
            let (code, error) = ended(command, path.to_str().unwrap(), "");
            assert_eq!(code, 2, "{command:?} {}: {error}", path.display());
            assert!(error.starts_with("error: ") && error.contains(expected), "{command:?}: {error}");
        }
        let (code, error) = ended(command, "-", "");
        assert_eq!(code, 2, "{command:?}, as after a command that failed: {error}");
        let (code, _) = ended(command, "--no-such-flag", "");
        assert_eq!(code, 2, "{command:?}");
    }
    assert_eq!(ended(&["lint", "--allow-empty"], others.to_str().unwrap(), "").0, 0);
}

#[test]
fn a_wrong_field_is_named_with_its_place_and_the_remedy() {
    let text = OBJECT.replace("\"2\"", "010");
    for command in COMMANDS {
        let output = run(command, "-", &text);
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let code = if command == ["lint"] { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{printed}");
        let (place, field) = ("<stdin>:15:7: ", "spec.triggers[0].metadata.desiredReplicas: ");
        let line = printed.lines().find(|line| line.contains(place) && line.contains(field)).unwrap_or_default();
        assert!(line.ends_with("put it in quotes: \"010\""), "{command:?}: {printed}");
    }
}

#[test]
fn a_reader_may_stop_early() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<String> =
        (0..2000).map(|number| OBJECT.replace("name: web", &format!("name: web-{number}"))).collect();
    let path = folder.path().join("many.yaml");
    fs::write(&path, many.join("---\n").replace("  maxReplicaCount: 5\n", "")).unwrap();
    let path = path.to_str().unwrap();
    for command in [&["lint"][..], &["rbac"], &["simulate", "--name", "web-7"]] {
        let mut child = start(command, path).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("error") && output.status.code() == Some(0), "{command:?}: {error}");
    }
}

#[test]
fn a_report_for_programs_says_what_was_not_read() {
    let sarif = run(&["lint", "--format", "sarif"], "missing.yaml", "");
    let log: Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let text = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(text.contains("cannot read missing.yaml"), "{text}");
    let json = run(&["lint", "--format", "json"], "missing.yaml", "");
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(report["failures"][0].as_str().unwrap().contains("cannot read missing.yaml"), "{report}");
    let github = String::from_utf8(run(&["lint", "--format", "github"], "missing.yaml", "").stdout).unwrap();
    assert!(github.starts_with("::error::cannot read missing.yaml"), "{github}");
}

#[test]
fn patches_and_placeholders_get_a_hint() {
    let patch = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {maxReplicaCount: 9}\n";
    let printed = String::from_utf8(run(&["lint"], "-", patch).stdout).unwrap();
    assert!(printed.contains("kustomize build . | kedge lint -"), "{printed}");
    let placeholder = OBJECT.replace("maxReplicaCount: 5", "maxReplicaCount: ${MAX_REPLICAS}");
    let printed = String::from_utf8(run(&["lint"], "-", &placeholder).stdout).unwrap();
    assert!(printed.contains("replace it first, as in `envsubst < web.yaml | kedge lint -`"), "{printed}");
}

#[test]
fn what_kedge_does_not_run_yet_is_named() {
    let source = "apiVersion: eventing.keda.sh/v1alpha1\nkind: CloudEventSource\nmetadata: {name: a}\nspec: {}\n";
    let store = "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a}\n\
                 spec: {gcpSecretManager: {secrets: [{parameter: p, id: i}]}}\n";
    let job = "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\nspec:\n  triggers: \
               [{type: cron, metadata: {timezone: UTC, start: 0 8 * * *, end: 0 9 * * *, desiredReplicas: \"2\"}}]\n  \
               jobTargetRef: {template: {spec: {containers: [{name: a, image: a}]}}}\n";
    for (text, rule) in [(source, "unsupported-kind"), (store, "unsupported-store"), (job, "unsupported-kind")] {
        let printed = String::from_utf8(run(&["lint"], "-", text).stdout).unwrap();
        assert!(printed.contains(&format!("warning[{rule}]")), "{printed}");
    }
}

#[test]
fn the_page_is_fresh() {
    let printed = Command::new(env!("CARGO_BIN_EXE_kedge")).args(["reference", "cli"]).output().unwrap().stdout;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let is_fresh = fs::read(page).unwrap_or_default() == printed;
    assert!(is_fresh, "docs/reference/cli.md is stale; run `cargo xtask generate`");
}
