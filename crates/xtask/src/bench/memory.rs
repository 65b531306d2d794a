//! The memory of a process.

use std::fs;

use anyhow::Context;

const PAGE_BYTES: u64 = 4096;

/// What a process has in use, in bytes.
pub(super) fn resident_bytes(process: u32) -> anyhow::Result<u64> {
    let pages = fs::read_to_string(format!("/proc/{process}/statm"))?;
    Ok(pages.split_whitespace().nth(1).context("no resident pages")?.parse::<u64>()? * PAGE_BYTES)
}
