//! `cluster status`: a line for each cluster there is, or was.

use kedge_test_cluster::StateFolder;

use super::ready_file;

pub(crate) fn run() -> anyhow::Result<()> {
    let all = StateFolder::all()?;
    if all.is_empty() {
        println!("no clusters; start one with `cargo xtask cluster up`");
    }
    for (name, state) in all {
        let condition = match state.owner()? {
            Some(owner) if ready_file(&state).exists() => format!("ready, owned by process {}", owner.pid),
            Some(owner) => format!("running, owned by process {}", owner.pid),
            None if state.processes()?.is_empty() => "stopped".to_owned(),
            None => "left behind by a killed owner; `down` or `up` clears it".to_owned(),
        };
        println!("{name}: {condition}; {}", state.path().display());
    }
    Ok(())
}
