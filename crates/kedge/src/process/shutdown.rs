//! The end of a long-running command: on a signal, or when one of its tasks ends, all tasks stop together.

use std::convert::Infallible;
use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// Stops all tasks of a process together.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown {
    stopped: watch::Sender<bool>,
}

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self { stopped: watch::Sender::new(false) }
    }

    /// Stops every task.
    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Waits for the stop.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.subscribe();
        async move { drop(stopped.wait_for(|stopped| *stopped).await) }
    }

    /// Runs a task that does not end by itself.
    pub(crate) async fn run_until_stopped(&self, task: impl Future<Output = Infallible>) {
        tokio::select! {
            never = task => match never {},
            () = self.stopped() => {}
        }
    }

    /// Stops every task on SIGINT or SIGTERM. Returns once the process stops, for whatever reason.
    pub(crate) async fn stop_on_signal(&self) -> anyhow::Result<()> {
        let signalled = tokio::select! {
            signalled = wait_for_signal() => signalled,
            () = self.stopped() => return Ok(()),
        };
        info!("stopping");
        self.stop();
        signalled
    }
}

async fn wait_for_signal() -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_stop_ends_every_task() {
        let shutdown = Shutdown::new();
        let early = shutdown.stopped();
        shutdown.stop();
        early.await;
        shutdown.stopped().await;
        shutdown.run_until_stopped(pending()).await;
        shutdown.stop_on_signal().await.unwrap();
    }
}
