//! One address for several replicas, as a Service has: each new connection goes to the next that takes it.

use std::net::Ipv4Addr;

use anyhow::Context;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running balancer. It ends when this value is dropped.
#[derive(Debug)]
pub struct Balancer {
    port: u16,
    task: JoinHandle<()>,
}

impl Balancer {
    /// Begins to listen for connections to any of these ports.
    pub async fn start(backends: Vec<u16>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(async move {
            for turn in 0.. {
                let Ok((mut caller, _)) = listener.accept().await else { return };
                let mut order = backends.clone();
                order.rotate_left(turn % backends.len().max(1));
                tokio::spawn(async move {
                    if let Some(mut backend) = first_that_takes(&order).await {
                        // Either side may end it; there is nobody to tell.
                        let _ = copy_bidirectional(&mut caller, &mut backend).await;
                    }
                });
            }
        });
        Ok(Self { port, task })
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn first_that_takes(ports: &[u16]) -> Option<TcpStream> {
    for port in ports {
        if let Ok(connection) = TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await {
            return Some(connection);
        }
    }
    None
}
