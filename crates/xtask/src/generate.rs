//! `cargo xtask generate`: what is generated and committed. A test fails while any of it is stale.

use crate::cargo;

pub(crate) fn run() -> anyhow::Result<()> {
    cargo(&["run", "--quiet", "--package", "kedge", "--", "crds", "--out-dir", "crds"])?;
    let registration = "webhooks/registration.yaml";
    cargo(&["run", "--quiet", "--package", "kedge", "--", "registration", "--out-file", registration])?;
    cargo(&["run", "--quiet", "--package", "kedge", "--", "reference", "--out-file", "docs/reference/operator.md"])
}
