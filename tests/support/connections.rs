//! The TCP connections of a process.

use std::collections::BTreeSet;
use std::{fs, io};

/// The state of an established connection in the kernel's table.
const ESTABLISHED: &str = "01";

/// How many connections a process has to a port of this machine.
pub fn connections_to(process: u32, port: u16) -> io::Result<usize> {
    let files = fs::read_dir(format!("/proc/{process}/fd"))?;
    // A file that was closed meanwhile has no link any more.
    let sockets: BTreeSet<String> = files
        .filter_map(|file| Some(fs::read_link(file.ok()?.path()).ok()?.to_str()?.to_owned()))
        .filter(|link| link.starts_with("socket:"))
        .collect();
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp"))?;
    let remote_port = format!(":{port:04X}");
    let is_one = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [_, _, remote, ESTABLISHED, _, _, _, _, _, inode, ..]
            if remote.ends_with(&remote_port) && sockets.contains(&format!("socket:[{inode}]")))
    };
    Ok(table.lines().filter(is_one).count())
}
