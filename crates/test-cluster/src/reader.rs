//! Reads of the API server from synchronous code. A kubectl costs a tenth of a second of processor time for each read, and tests read
//! again and again while they wait.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, anyhow};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::kube_client::connect;

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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    /// An API server that knows one object, for this many requests.
    fn serve_one_object(requests: usize) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for _ in 0..requests {
                let (mut connection, _) = listener.accept().unwrap();
                let mut head = [0; 4096];
                let read = connection.read(&mut head).unwrap();
                let (status, body) = match String::from_utf8_lossy(&head[..read]).split_whitespace().nth(1) {
                    Some("/api/v1/known") => ("200 OK", json!({ "kind": "Known" })),
                    Some("/api/v1/unknown") => {
                        ("404 Not Found", json!({ "kind": "Status", "status": "Failure", "code": 404 }))
                    }
                    _ => (
                        "403 Forbidden",
                        json!({ "kind": "Status", "status": "Failure", "code": 403, "message": "no" }),
                    ),
                };
                let length = body.to_string().len();
                let head = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}"
                );
                connection.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn an_object_is_read_a_missing_one_is_none_and_a_refusal_is_an_error() {
        let folder = std::env::temp_dir().join(format!("kedge-reader-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let kubeconfig = folder.join("kubeconfig");
        let server = format!("http://127.0.0.1:{}", serve_one_object(3));
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{ "name": "test", "cluster": { "server": server } }],
            "users": [{ "name": "test", "user": {} }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let reader = Reader::start(kubeconfig);
        assert_eq!(reader.read("/api/v1/known").unwrap(), Some(json!({ "kind": "Known" })));
        assert_eq!(reader.read("/api/v1/unknown").unwrap(), None);
        assert!(reader.read("/api/v1/secret").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
