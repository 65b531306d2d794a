//! Listening at an address, before anything else is begun: a port that is taken is told at start.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::Context;
use tokio::net::TcpListener;

use super::settings::addresses::{Address, Host};

pub(super) async fn listen(address: &Address) -> anyhow::Result<TcpListener> {
    bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

async fn bind(address: &Address) -> io::Result<TcpListener> {
    let port = address.port;
    match &address.host {
        Host::Ip(ip) => TcpListener::bind((*ip, port)).await,
        Host::Name(name) => TcpListener::bind((name.as_str(), port)).await,
        // On Linux a socket for every IPv6 address takes IPv4 too.
        Host::Every => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
            Err(error) if !matters_for_ipv4_too(&error) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            outcome => outcome,
        },
    }
}

/// Whether a failure has nothing to do with a machine without IPv6.
fn matters_for_ipv4_too(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn every_interface_is_heard_and_a_taken_port_is_named() {
        let listener = listen(&Address { host: Host::Every, port: 0 }).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.expect("IPv4 is heard");
        if listener.local_addr().unwrap().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.expect("IPv6 is heard");
        }
        let taken = listen(&Address { host: Host::Every, port }).await.unwrap_err();
        assert!(taken.to_string().contains(&format!("cannot listen on :{port}")), "{taken:#}");
    }

    #[tokio::test]
    async fn names_are_looked_up() {
        let address = Address { host: Host::Name("localhost".to_owned()), port: 0 };
        assert!(listen(&address).await.unwrap().local_addr().unwrap().ip().is_loopback());
    }
}
