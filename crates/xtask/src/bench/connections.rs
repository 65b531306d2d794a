//! The connections of a process.

use std::collections::BTreeSet;
use std::fs;

/// How many TCP connections a process has to a port of this machine.
pub(super) fn count_connections(process: u32, port: u16) -> anyhow::Result<usize> {
    let mut sockets = BTreeSet::new();
    for descriptor in fs::read_dir(format!("/proc/{process}/fd"))? {
        // One that was closed meanwhile is none.
        let Ok(target) = fs::read_link(descriptor?.path()) else { continue };
        let target = target.display().to_string();
        sockets.extend(target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned));
    }
    let is_counted = |line: &&str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let remote = columns.get(2).and_then(|address| address.rsplit_once(':'));
        let remote = remote.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        remote == Some(port) && columns.get(9).is_some_and(|inode| sockets.contains(*inode))
    };
    let count = |table: &str| -> anyhow::Result<usize> {
        Ok(fs::read_to_string(format!("/proc/{process}/net/{table}"))?.lines().filter(is_counted).count())
    };
    Ok(count("tcp")? + count("tcp6")?)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_connections_of_this_process_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _both = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        assert_eq!(count_connections(std::process::id(), address.port()).unwrap(), 2);
    }
}
