//! A metric source over HTTP for tests: it speaks Prometheus' query API, and plain JSON below `/json/` for `metrics-api` triggers.
//! A test sets the response to each query at any time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// The response to a query.
#[derive(Clone, Debug)]
pub enum SourceResponse {
    /// A vector of one element; in plain JSON, the field `value`.
    Value(f64),
    /// A vector without elements.
    Empty,
    /// Any HTTP response: the end of the status line, headers, a body.
    Raw { status: &'static str, headers: Vec<(&'static str, String)>, body: String },
}

impl SourceResponse {
    /// The response of a broken server.
    pub fn broken() -> Self {
        Self::raw("500 Internal Server Error", "")
    }

    /// A status and a body.
    pub fn raw(status: &'static str, body: impl Into<String>) -> Self {
        Self::Raw { status, headers: Vec::new(), body: body.into() }
    }
}

/// A running source. It ends when this value is dropped.
#[derive(Debug)]
pub struct HttpSource {
    address: SocketAddr,
    table: Arc<Mutex<Table>>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Table {
    by_query: BTreeMap<String, Entry>,
    /// For queries that are not in the table.
    otherwise: Entry,
    /// Each query that was received, and when.
    received: Vec<(String, Instant)>,
}

#[derive(Clone, Debug)]
struct Entry {
    response: SourceResponse,
    /// The `Authorization` header that a request must carry.
    authorization: Option<String>,
}

impl Entry {
    fn open(response: SourceResponse) -> Self {
        Self { response, authorization: None }
    }
}

impl HttpSource {
    /// Starts on a free port of the loopback address. A query that is not set gets an empty vector.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let otherwise = Entry::open(SourceResponse::Empty);
        let table = Table { by_query: BTreeMap::new(), otherwise, received: Vec::new() };
        let table = Arc::new(Mutex::new(table));
        let shared = table.clone();
        let server = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let table = shared.clone();
                // Ends with an error when the client closes the connection.
                connections.spawn(async move { drop(serve(connection, &table).await) });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, table, server })
    }

    /// Starts a source that returns this value to every query with this `Authorization`, and 401 to others.
    pub async fn start_protected(value: f64, authorization: &str) -> anyhow::Result<Self> {
        let source = Self::start().await?;
        lock(&source.table).otherwise = Entry::open(SourceResponse::Value(value));
        source.protect_all(authorization);
        Ok(source)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the response to a query.
    pub fn set(&self, query: &str, response: SourceResponse) {
        self.change(query, |entry| entry.response = response);
    }

    /// Requires this `Authorization` for a query.
    pub fn protect(&self, query: &str, authorization: &str) {
        self.change(query, |entry| entry.authorization = Some(authorization.to_owned()));
    }

    /// Requires this `Authorization` for every query that is not set.
    pub fn protect_all(&self, authorization: &str) {
        lock(&self.table).otherwise.authorization = Some(authorization.to_owned());
    }

    /// The queries that were received since the last call, in order.
    pub fn take_received(&self) -> Vec<(String, Instant)> {
        std::mem::take(&mut lock(&self.table).received)
    }

    fn change(&self, query: &str, change: impl FnOnce(&mut Entry)) {
        let mut table = lock(&self.table);
        change(table.by_query.entry(query.to_owned()).or_insert(Entry::open(SourceResponse::Value(0.0))));
    }
}

impl Drop for HttpSource {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().expect("no holder of the lock panics")
}

/// Serves the requests of a connection, one after the other.
async fn serve(connection: TcpStream, table: &Mutex<Table>) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = BufReader::new(connection);
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(connection.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head);
        let response = {
            let mut table = lock(table);
            if let Some(query) = Query::parse(&head) {
                table.received.push((query.name().to_owned(), Instant::now()));
            }
            respond(&head, &table)
        };
        connection.write_all(response.as_bytes()).await?;
    }
}

/// The complete response to a request.
fn respond(head: &str, table: &Table) -> String {
    let query = Query::parse(head);
    let entry = query.as_ref().and_then(|query| table.by_query.get(query.name())).unwrap_or(&table.otherwise);
    let is_allowed = |wanted: &String| header(head, "authorization") == Some(wanted);
    let ok = |body: String| ("200 OK", Vec::new(), body);
    let (status, headers, body) = match &entry.response {
        _ if !entry.authorization.as_ref().is_none_or(is_allowed) => ("401 Unauthorized", Vec::new(), String::new()),
        SourceResponse::Value(value) => match query {
            Some(Query::Json(_)) => ok(format!(r#"{{"value":{value}}}"#)),
            _ => ok(vector(&format!(r#"{{"metric":{{}},"value":[0,"{value}"]}}"#))),
        },
        SourceResponse::Empty => ok(vector("")),
        SourceResponse::Raw { status, headers, body } => (*status, headers.clone(), body.clone()),
    };
    let headers: String = headers.into_iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

fn vector(elements: &str) -> String {
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{elements}]}}}}"#)
}

/// The name by which a request chooses its response.
enum Query {
    /// The parameter `query` of Prometheus' API.
    Prometheus(String),
    /// The path below `/json/`.
    Json(String),
}

impl Query {
    fn parse(head: &str) -> Option<Self> {
        let target = head.split_whitespace().nth(1)?;
        let (path, parameters) = target.split_once('?').unwrap_or((target, ""));
        if let Some(name) = path.strip_prefix("/json/") {
            return Some(Self::Json(name.to_owned()));
        }
        let mut pairs = form_urlencoded::parse(parameters.as_bytes());
        pairs.find(|(name, _)| name == "query").map(|(_, value)| Self::Prometheus(value.into_owned()))
    }

    fn name(&self) -> &str {
        match self {
            Self::Prometheus(name) | Self::Json(name) => name,
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_gets_the_response_that_was_set() {
        let entry =
            |response, authorization: Option<&str>| Entry { response, authorization: authorization.map(str::to_owned) };
        let by_query = BTreeMap::from([
            ("a".to_owned(), entry(SourceResponse::Value(3.0), None)),
            ("b".to_owned(), entry(SourceResponse::broken(), None)),
            ("c".to_owned(), entry(SourceResponse::Value(5.0), Some("Bearer x"))),
        ]);
        let table = Table { by_query, otherwise: entry(SourceResponse::Empty, None), received: Vec::new() };
        let rows = [
            ("a query of Prometheus", "GET /api/v1/query?query=a&time=1 HTTP/1.1\r\n", "200 OK", "\"value\":[0,\"3\"]"),
            ("plain JSON", "GET /json/a HTTP/1.1\r\n", "200 OK", "{\"value\":3}"),
            ("broken", "GET /api/v1/query?query=b HTTP/1.1\r\n", "500 Internal Server Error", ""),
            ("without credentials", "GET /json/c HTTP/1.1\r\n", "401 Unauthorized", ""),
            ("with credentials", "GET /json/c HTTP/1.1\r\nAuthorization: Bearer x\r\n", "200 OK", "{\"value\":5}"),
            ("not set", "GET /api/v1/query?query=d HTTP/1.1\r\n", "200 OK", "\"result\":[]"),
        ];
        for (name, head, status, part) in rows {
            let response = respond(head, &table);
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status}\r\n")) && response.contains(part),
                "{name}: {response}"
            );
        }
    }
}
