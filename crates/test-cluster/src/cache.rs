//! Where things are kept between runs: built programs and port reservations, shared by all checkouts of one user.

use std::env;
use std::path::PathBuf;

use anyhow::Context;

/// `$KEDGE_CACHE_DIR`, else `$XDG_CACHE_HOME/kedge`, else `~/.cache/kedge`.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = env::var_os("KEDGE_CACHE_DIR") {
        return Ok(folder.into());
    }
    if let Some(folder) = env::var_os("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(folder).join("kedge"));
    }
    let home =
        env::var_os("HOME").context("neither KEDGE_CACHE_DIR nor HOME is set: no place to keep built programs")?;
    Ok(PathBuf::from(home).join(".cache/kedge"))
}
