//! `kedge simulate`, as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge")).arg("simulate").args(arguments).output().expect("kedge starts")
}

/// The output of a successful run.
fn stdout_of(arguments: &[&str]) -> String {
    let output = simulate(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The error of a failing run.
fn error(arguments: &[&str]) -> String {
    let output = simulate(arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn run(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout_of(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

/// The replicas after each change.
fn replicas(run: &Value) -> Vec<i64> {
    run["happenings"].as_array().expect("a list").iter().filter_map(|happening| happening["to"].as_i64()).collect()
}

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn without_a_file_it_shows_a_day_of_the_sample() {
    let text = stdout_of(&[]);
    for part in ["ScaledObject order-worker (the sample)", "office-hours is active", "cooldown passed", "longest wait"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text, stdout_of(&[]), "the same again");
    assert_ne!(text, stdout_of(&["--seed", "2"]), "another day");
}

#[test]
fn the_page_for_users_shows_real_output() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulate.md")).unwrap();
    let (_, block) = page.split_once("```text\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let text = stdout_of(&[]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    for line in block.lines().filter(|line| *line != "…") {
        assert!(lines.contains(&line), "docs/simulate.md shows {line:?}, which is not printed");
    }
}

#[test]
fn the_sample_sleeps_wakes_and_sleeps_again() {
    let run = run(&[]);
    let replicas = replicas(&run);
    let sleeps = replicas.iter().filter(|replicas| **replicas == 0).count();
    assert_eq!((replicas.first(), replicas.last(), sleeps), (Some(&1), Some(&0), 2), "{replicas:?}");
    let summary = &run["summary"];
    assert_eq!(summary["replicasMax"], 8);
    assert_eq!(summary["scaleChanges"].as_u64().unwrap() as usize, replicas.len());
    assert!(summary["asleepSeconds"].as_f64().unwrap() > 3600.0);
    assert!(summary["longestWaitSeconds"].as_f64().unwrap() >= 5.0);
}

#[test]
fn a_file_is_simulated_under_the_load_that_is_given() {
    let file = sample("prometheus-queue.yaml");
    let rows: [(&str, &str, &[i64]); 4] = [
        ("nothing to do", "constant:0", &[]),
        ("two replicas for forty", "constant:40", &[1, 2]),
        ("a spike comes and goes", "spike:40@10m+5m", &[1, 2, 0]),
        ("a wave does, too", "wave:0..40/2h", &[1, 2, 1]),
    ];
    for (name, load, expected) in rows {
        assert_eq!(replicas(&run(&[&file, "--duration", "110m", "--load", load])), expected, "{name}");
    }
}

#[test]
fn a_source_that_does_not_answer_is_held_by_its_fallback() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("outage.csv");
    fs::write(&csv, "time,value\n0s,40\n10m,error\n").unwrap();
    let csv = csv.to_str().unwrap();
    let run = run(&[&sample("prometheus-queue.yaml"), "--hours", "0.5", "--load", csv]);
    assert_eq!(replicas(&run), [1, 2, 4, 5], "the fallback of the sample is five, or more where there are more");
    assert!(run["load"].as_str().unwrap().contains("outage.csv"));
}

#[test]
fn cron_alone_needs_no_load() {
    let run = run(&[&sample("cron-window.yaml"), "--start", "2026-01-09T00:00:00Z", "--hours", "72"]);
    assert_eq!(replicas(&run), [1, 3, 1, 0], "a Friday, and then nothing until Monday");
}

#[test]
fn mistakes_are_named_with_their_place_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let queue = fs::read_to_string(sample("prometheus-queue.yaml")).unwrap();
    let no_yaml = file("no-yaml.yaml", "a: [");
    let no_object = file("no-object.yaml", "kind: Secret\napiVersion: v1\n");
    let no_query = file("no-query.yaml", &queue.replace("query: sum(orders_waiting)", "qeury: sum(orders_waiting)"));
    let only_cpu = file(
        "cpu.yaml",
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a}\nspec:\n  scaleTargetRef: {name: a}\n  \
         triggers:\n  - {type: cpu, metricType: Utilization, metadata: {value: \"50\"}}\n",
    );
    let external =
        queue.replace("type: prometheus", "type: external").replace("serverAddress: http://", "scalerAddress: ");
    let external = file("external.yaml", &external);
    let rows: [(&[&str], &[&str]); 9] = [
        (&["no-such-file.yaml"], &["cannot read no-such-file.yaml"]),
        (&[&no_yaml], &["no-yaml.yaml"]),
        (&[&no_object], &["no-object.yaml", "there is no ScaledObject in it", "give a file that has one"]),
        (&[&no_query], &["no-query.yaml", "trigger 0 (prometheus): `query` is missing; give it in"]),
        (
            &[&external],
            &["trigger 0 (external): its scaler alone knows the metrics and targets", "put a prometheus trigger"],
        ),
        (&[&only_cpu], &["cpu.yaml", "`triggers` has only cpu and memory"]),
        (&["--load", "wavy:1"], &["--load", "wavy:1", "wave:MIN..MAX/PERIOD"]),
        (&["--start", "today"], &["--start", "2026-01-05T08:00:00Z"]),
        (&["--hours", "1", "--duration", "1h"], &["--duration"]),
    ];
    for (arguments, expected) in rows {
        let error = error(arguments);
        for part in expected {
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}
