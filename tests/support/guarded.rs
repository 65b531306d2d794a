//! A source that speaks as Prometheus does, and only to those who show the right `Authorization`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The source. It ends when this value is dropped.
#[derive(Debug)]
pub struct Guarded {
    address: SocketAddr,
    password: Arc<Mutex<String>>,
    server: JoinHandle<()>,
}

impl Guarded {
    /// Starts on a free port of the loopback address. Every query is answered with this value.
    pub async fn start(value: f64, authorization: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let password = Arc::new(Mutex::new(authorization.to_owned()));
        let wanted = password.clone();
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let wanted = wanted.lock().expect("nobody panics holding it").clone();
                // A caller that goes away in the middle is its own loss.
                let _ = answer(connection, value, &wanted).await;
            }
        });
        Ok(Self { address, password, server })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks for another `Authorization` from now on.
    pub fn ask_for(&self, authorization: &str) {
        authorization.clone_into(&mut self.password.lock().expect("nobody panics holding it"));
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(mut connection: TcpStream, value: f64, wanted: &str) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).await?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let given = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then(|| value.trim().to_owned())
    });
    let (status, body) = match given.as_deref() == Some(wanted) {
        true => (
            "200 OK",
            format!(
                r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":[0,"{value}"]}}]}}}}"#
            ),
        ),
        false => ("401 Unauthorized", String::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.write_all(format!("{head}{body}").as_bytes()).await?;
    connection.shutdown().await
}
