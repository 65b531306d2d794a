//! Ports that no other cluster on this machine gets.
//!
//! Asking the kernel for a free port and giving it to a program leaves a gap in which another process may take it. So ports
//! come from a range below the kernel's ephemeral ones, and each is reserved by a file lock for as long as it is used.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use anyhow::{Context, bail};

use crate::cache;

const RANGE: Range<u16> = 20_000..30_000;

/// A port of the loopback address, reserved until it is dropped.
#[derive(Debug)]
pub struct Port {
    pub number: u16,
    _reservation: File,
}

impl Port {
    /// Reserves a port that no process listens on.
    pub fn reserve() -> anyhow::Result<Self> {
        let folder = cache::folder()?.join("ports");
        fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        for number in RANGE {
            let path = folder.join(number.to_string());
            let reservation = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            let reserved = reservation.try_lock().is_ok();
            if reserved && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _reservation: reservation });
            }
        }
        bail!("all ports from {} to {} are taken", RANGE.start, RANGE.end - 1)
    }
}
