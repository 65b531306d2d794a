//! `cargo xtask generate`: what is generated and committed. A test fails while any of it is stale.

use std::fs;

use anyhow::Context;
use kedge_api::crd;

use crate::workspace;

pub(crate) fn run() -> anyhow::Result<()> {
    for definition in crd::all() {
        let path = workspace().join("crds").join(crd::file_name(&definition));
        fs::write(&path, crd::render_yaml(&definition)).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
