//! Reads of the API server from synchronous code. A kubectl costs a tenth of a second of processor time for each read, and tests read
//! again and again while they wait.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, anyhow};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::cluster::connect;

/// A path, and where the response goes. `None`: there is no such object.
type Request = (String, SyncSender<Result<Option<Value>, kube::Error>>);

/// A client in a thread of its own, so that callers may block. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    requests: UnboundedSender<Request>,
}

impl Reader {
    pub(crate) fn start(kubeconfig: PathBuf) -> Self {
        let (requests, received) = unbounded_channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime without threads can be built").block_on(serve(kubeconfig, received));
        });
        Self { requests }
    }

    /// The object or list at a path of the API; `None` if there is none.
    pub(crate) fn read(&self, path: &str) -> anyhow::Result<Option<Value>> {
        let (response, received) = sync_channel(1);
        self.requests.send((path.to_owned(), response)).map_err(|_| anyhow!("the reader has ended"))?;
        received.recv().context("the reader has ended")?.with_context(|| format!("cannot read {path}"))
    }
}

async fn serve(kubeconfig: PathBuf, mut requests: UnboundedReceiver<Request>) {
    let client = match connect(&kubeconfig).await {
        Ok(client) => client,
        Err(error) => return eprintln!("cannot read {}: {error:#}", kubeconfig.display()),
    };
    while let Some((path, response)) = requests.recv().await {
        let client = client.clone();
        tokio::spawn(async move {
            // A caller that is gone needs no response.
            let _ = response.send(fetch(&client, &path).await);
        });
    }
}

async fn fetch(client: &kube::Client, path: &str) -> Result<Option<Value>, kube::Error> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
