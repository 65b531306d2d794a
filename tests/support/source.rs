//! A source that speaks as Prometheus does: what each query is answered with is set by a test, at any time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a query is answered with.
#[derive(Clone, Debug)]
pub enum Answer {
    Value(f64),
    /// Whatever HTTP can say: the status line's end, headers, a body.
    Raw {
        status: &'static str,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
}

impl Answer {
    /// A server that is broken.
    pub fn broken() -> Self {
        Self::raw("500 Internal Server Error", "")
    }

    /// A status and a body.
    pub fn raw(status: &'static str, body: impl Into<String>) -> Self {
        Self::Raw { status, headers: Vec::new(), body: body.into() }
    }
}

/// The source. It ends when this value is dropped.
#[derive(Debug)]
pub struct Source {
    address: SocketAddr,
    table: Arc<Mutex<BTreeMap<String, Entry>>>,
    server: JoinHandle<()>,
}

#[derive(Clone, Debug)]
struct Entry {
    answer: Answer,
    /// The `Authorization` that is asked for.
    authorization: Option<String>,
}

impl Source {
    /// Starts on a free port of the loopback address. A query that is not set is answered with nothing.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let table = Arc::<Mutex<BTreeMap<String, Entry>>>::default();
        let shared = table.clone();
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let table = shared.clone();
                // A caller that goes away in the middle is its own loss.
                tokio::spawn(async move { drop(serve(connection, &table).await) });
            }
        });
        Ok(Self { address, table, server })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers a query so from now on.
    pub fn set(&self, query: &str, answer: Answer) {
        let mut table = lock(&self.table);
        let entry = table.entry(query.to_owned()).or_insert(Entry { answer: answer.clone(), authorization: None });
        entry.answer = answer;
    }

    /// Answers a query to those only who show this from now on.
    pub fn ask_for(&self, query: &str, authorization: &str) {
        let mut table = lock(&self.table);
        let entry = table.entry(query.to_owned()).or_insert(Entry { answer: Answer::Value(0.0), authorization: None });
        entry.authorization = Some(authorization.to_owned());
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("nobody panics holding it")
}

async fn serve(mut connection: TcpStream, table: &Mutex<BTreeMap<String, Entry>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let entry = query_of(&head).and_then(|query| lock(table).get(&query).cloned());
    let (status, headers, body) = match entry {
        None => ("200 OK", Vec::new(), vector("")),
        Some(Entry { authorization: Some(wanted), .. }) if header(&head, "authorization") != Some(&wanted) => {
            ("401 Unauthorized", Vec::new(), String::new())
        }
        Some(Entry { answer: Answer::Value(value), .. }) => {
            ("200 OK", Vec::new(), vector(&format!(r#"{{"metric":{{}},"value":[0,"{value}"]}}"#)))
        }
        Some(Entry { answer: Answer::Raw { status, headers, body }, .. }) => (status, headers, body),
    };
    let headers: String = headers.into_iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}");
    connection.write_all(answer.as_bytes()).await?;
    connection.shutdown().await
}

fn vector(elements: &str) -> String {
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{elements}]}}}}"#)
}

/// The parameter `query` of a request.
fn query_of(head: &str) -> Option<String> {
    let target = head.split_whitespace().nth(1)?;
    let (_, parameters) = target.split_once('?')?;
    let mut pairs = form_urlencoded::parse(parameters.as_bytes());
    pairs.find(|(name, _)| name == "query").map(|(_, value)| value.into_owned())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
