//! `cluster up`: starts a cluster that outlives this command.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kedge_test_cluster::StateFolder;
use kedge_test_cluster::cargo;
use kedge_test_cluster::tools::{self, Tool};

use super::{Choices, print_usage, ready_file};

pub(crate) fn run(choices: &Choices) -> anyhow::Result<()> {
    let state = StateFolder::for_cluster(&choices.name)?;
    if let Some(owner) = state.owner()? {
        if !ready_file(&state).exists() {
            bail!("cluster `{}` is being started by process {}; try again in a moment", choices.name, owner.pid);
        }
        return print_usage(&choices.name, &state);
    }
    // Here rather than in the background, so that progress is seen.
    tools::build(&Tool::CLUSTER)?;
    if choices.with_operator {
        eprintln!("building the operator");
        cargo::build("kedge", cargo::DEV)?;
    }
    let started = Instant::now();
    eprintln!("starting cluster `{}`", choices.name);

    let log_path = state.path().with_extension("log");
    fs::create_dir_all(log_path.parent().context("a cluster lies in a folder")?)?;
    // A file of an earlier cluster must not be taken for this one's.
    let _ = fs::remove_file(ready_file(&state));
    let log = File::create(&log_path).with_context(|| format!("cannot write {}", log_path.display()))?;
    let mut owner = Command::new(std::env::current_exe()?)
        .args(["cluster", "run", "--detached"])
        .args(choices.to_arguments())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start the owner of the cluster")?;
    while !ready_file(&state).exists() {
        if let Some(status) = owner.try_wait()? {
            let said = fs::read_to_string(&log_path).unwrap_or_default();
            bail!("the cluster did not start ({status}):\n{}", said.trim());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    eprintln!("started in {:.1} s", started.elapsed().as_secs_f32());
    print_usage(&choices.name, &state)
}
