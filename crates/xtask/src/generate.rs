//! `cargo xtask generate`: what is generated and committed. A test fails while any of it is stale.

use crate::cargo;

pub(crate) fn run() -> anyhow::Result<()> {
    cargo(&["run", "--quiet", "--package", "kedge", "--", "crds", "--out-dir", "crds"])?;
    cargo(&["run", "--quiet", "--package", "kedge", "--", "reference", "--out-file", "docs/reference/operator.md"])
}
