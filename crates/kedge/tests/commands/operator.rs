//! `kedge operator`, as a user starts it, as far as it goes without a cluster; and the page that describes it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A run with these variables and no others.
fn kedge(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let variables = variables.iter().copied();
    Command::new(env!("CARGO_BIN_EXE_kedge")).args(arguments).env_clear().envs(variables).output().unwrap()
}

fn error(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = kedge(arguments, variables);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_reference_is_fresh() {
    for name in ["operator", "triggers", "metrics"] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reference/{name}.md"));
        let output = kedge(&["reference", name], &[]);
        assert!(output.status.success());
        let fresh = fs::read_to_string(page).unwrap_or_default() == String::from_utf8(output.stdout).unwrap();
        assert!(fresh, "docs/reference/{name}.md is stale; run `cargo xtask generate`");
    }
}

#[test]
fn all_invalid_settings_are_reported_at_once_before_start() {
    let said = error(&["operator", "--http-max-idle-conns-per-host=0"], &[("KEDA_HTTP_DEFAULT_TIMEOUT", "soon")]);
    let expected = "error: the operator cannot start:\n\
                    \x20 KEDA_HTTP_DEFAULT_TIMEOUT `soon` is not an integer; write plain digits, as in 5 or -3\n\
                    \x20 --http-max-idle-conns-per-host `0` is not above zero; give 1 or more\n";
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&said), lines(expected));
}

#[test]
fn what_has_no_effect_is_named_at_start_as_the_logging_flags_say() {
    let arguments = [
        "operator",
        "--zap-encoder=json",
        "--zap-time-encoding=epoch",
        "--kube-api-qps=20",
        "--enable-opentelemetry-metrics",
        // It gets no further than this.
        "--kubeconfig=/dev/null/kubeconfig",
    ];
    let said = error(&arguments, &[]);
    let (lines, end): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with('{'));
    assert!(end[0].starts_with("error: cannot read the kubeconfig /dev/null/kubeconfig"), "{said}");
    let lines: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |level: &str| lines.iter().find(|line| line["level"] == level).unwrap_or_else(|| panic!("{said}"));
    assert!(of("INFO")["fields"]["flags"].as_str().unwrap().contains("--kube-api-qps (requests to the API server"));
    assert!(of("WARN")["fields"]["warning"].as_str().unwrap().starts_with("--enable-opentelemetry-metrics=true: "));
    assert!(of("INFO")["timestamp"].as_str().unwrap().parse::<f64>().unwrap() > 1.7e9, "{said}");
}

#[test]
fn nothing_secret_is_logged() {
    let arguments = ["operator", "--log-level=trace", "--kubeconfig=/dev/null/kubeconfig"];
    let said = error(&arguments, &[("HTTPS_PROXY", "http://me:hunter2@proxy:3128")]);
    assert!(said.contains("http://proxy:3128"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
