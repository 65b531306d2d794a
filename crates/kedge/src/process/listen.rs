//! Listeners. They are bound before any other work: a port in use is an error at start.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::Context;
use tokio::net::TcpListener;

use crate::settings::addresses::{Address, Host};

pub(crate) async fn listen(address: &Address) -> anyhow::Result<TcpListener> {
    bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Binds an address that is optional.
pub(crate) async fn listen_if(address: Option<&Address>) -> anyhow::Result<Option<TcpListener>> {
    match address {
        Some(address) => listen(address).await.map(Some),
        None => Ok(None),
    }
}

async fn bind(address: &Address) -> io::Result<TcpListener> {
    let port = address.port;
    match &address.host {
        Host::Ip(ip) => TcpListener::bind((*ip, port)).await,
        Host::Name(name) => TcpListener::bind((name.as_str(), port)).await,
        // On Linux a socket of every IPv6 address accepts IPv4 too.
        Host::Every => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
            Err(error) if !concerns_ipv4_too(&error) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            outcome => outcome,
        },
    }
}

/// Whether a failure would occur with IPv4 too.
fn concerns_ipv4_too(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn every_interface_is_served_and_a_port_in_use_is_named() {
        let listener = listen(&Address { host: Host::Every, port: 0 }).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.expect("IPv4 is served");
        if listener.local_addr().unwrap().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.expect("IPv6 is served");
        }
        let taken = listen(&Address { host: Host::Every, port }).await.unwrap_err();
        assert!(taken.to_string().contains(&format!("cannot listen on :{port}")), "{taken:#}");
    }

    #[tokio::test]
    async fn host_names_are_resolved() {
        let address = Address { host: Host::Name("localhost".to_owned()), port: 0 };
        assert!(listen(&address).await.unwrap().local_addr().unwrap().ip().is_loopback());
    }
}
