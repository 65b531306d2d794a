//! One address for several replicas, as a Service has: each new connection goes to the next that takes it.

use std::net::{Ipv4Addr, TcpListener as BoundListener};
use std::thread;

use anyhow::Context;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A running balancer, in a thread of its own: a test that waits for kubectl does not hold it up. It ends when this value is dropped.
#[derive(Debug)]
pub struct Balancer {
    port: u16,
    _stop: oneshot::Sender<()>,
}

impl Balancer {
    /// Begins to listen for connections to any of these ports.
    pub fn start(backends: Vec<u16>) -> anyhow::Result<Self> {
        let listener = BoundListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (stop, stopped) = oneshot::channel();
        thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = balance(listener, &backends) => {}
                    // The other end was dropped.
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { port, _stop: stop })
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

async fn balance(listener: BoundListener, backends: &[u16]) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    for turn in 0.. {
        let Ok((mut caller, _)) = listener.accept().await else { return };
        let mut order = backends.to_vec();
        order.rotate_left(turn % backends.len().max(1));
        tokio::spawn(async move {
            if let Some(mut backend) = first_that_takes(&order).await {
                // Either side may end it; no client needs the error.
                let _ = copy_bidirectional(&mut caller, &mut backend).await;
            }
        });
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
