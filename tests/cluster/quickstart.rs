//! The commands of `docs/quickstart.md`, run as they are written.

use std::path::Path;
use std::process::Command;

use kedge_test_cluster::StateFolder;
use kedge_test_cluster::tools::{self, Tool};
use kedge_tests::{files, programs};

/// The name that this test's cluster has, in place of the default one.
const NAME: &str = "quickstart";

/// Stops the cluster at the end, also after a failure.
struct CleanUp;

impl Drop for CleanUp {
    fn drop(&mut self) {
        programs::run_xtask(&["cluster", "down", "--name", NAME]);
    }
}

/// Runs a line of the page as it is written, but on a cluster of its own name.
fn run_line(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = match &words[..] {
        ["cargo", "xtask", "cluster", rest @ ..] => {
            let mut command = Command::new(programs::xtask());
            command.arg("cluster").args(rest).args(["--name", NAME]);
            command
        }
        ["kubectl", rest @ ..] => {
            let kubeconfig = StateFolder::for_cluster(NAME).unwrap().kubeconfig().unwrap_or_default();
            let mut command = Command::new(tools::path(Tool::Kubectl).unwrap());
            command.args(rest).env("KUBECONFIG", kubeconfig);
            command
        }
        _ => panic!("the page has a command other than `cargo xtask cluster` and `kubectl`: {line}"),
    };
    let output = command.current_dir(files::workspace()).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "$ {line}\n{text}");
    text
}

/// The commands of a page, each with the lines that the page shows.
fn commands(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command.to_owned(), Vec::new())),
                (None, Some((_, printed))) => printed.push(line.to_owned()),
                (None, None) => panic!("output before any command: {line}"),
            },
            _ => {}
        }
    }
    found
}

#[test]
fn the_commands_print_what_the_page_shows() {
    let page = files::read(Path::new(&files::workspace().join("docs/quickstart.md")));
    let commands = commands(&page);
    assert!(commands.len() >= 7, "only {} commands", commands.len());
    // Removes what an earlier run may have left.
    drop(CleanUp);
    let _clean_up = CleanUp;
    for (command, printed) in commands {
        let output = run_line(&command);
        for line in printed {
            assert!(output.contains(&line), "$ {command}\n{output}\ndoes not print: {line}");
        }
        if command.starts_with("kubectl describe") {
            for part in ["ScaledObjectReady", "KEDAScaleTargetActivated"] {
                assert!(output.contains(part), "$ {command}\n{output}\ndoes not show {part}");
            }
        }
    }
}
