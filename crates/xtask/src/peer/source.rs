//! A source of values that speaks as Prometheus does, and answers plain JSON for `metrics-api` triggers. What it says is set at any
//! time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a query is answered with.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Value(f64),
    /// The value, to those who show this `Authorization`.
    Guarded(f64, &'static str),
    Broken,
}

type Table = Arc<Mutex<BTreeMap<String, Answer>>>;

/// The source. It ends when this value is dropped.
pub(crate) struct Source {
    address: SocketAddr,
    table: Table,
    server: JoinHandle<()>,
}

impl Source {
    /// Starts on a free port of the loopback address.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let table = Table::default();
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

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers a query so from now on.
    pub(crate) fn set(&self, query: &str, answer: Answer) {
        lock(&self.table).insert(query.to_owned(), answer);
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

async fn serve(mut connection: TcpStream, table: &Table) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (status, body) = answer(&head, table);
    let length = body.len();
    let headers = format!("connection: close\r\ncontent-type: application/json\r\ncontent-length: {length}");
    connection.write_all(format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n{body}").as_bytes()).await?;
    connection.shutdown().await
}

/// The status and the body of the answer to a request.
fn answer(head: &str, table: &Table) -> (&'static str, String) {
    let Some(target) = head.split_whitespace().nth(1) else { return ("400 Bad Request", String::new()) };
    let (path, parameters) = target.split_once('?').unwrap_or((target, ""));
    let json = path.strip_prefix("/json/").map(str::to_owned);
    let query = || {
        form_urlencoded::parse(parameters.as_bytes()).find(|(name, _)| name == "query").map(|(_, value)| value.into())
    };
    let body = |value: f64| match json {
        Some(_) => format!(r#"{{"value":{value}}}"#),
        None => vector(value),
    };
    let key: Option<String> = json.clone().or_else(query);
    match key.and_then(|key| lock(table).get(&key).cloned()) {
        Some(Answer::Value(value)) => ("200 OK", body(value)),
        Some(Answer::Guarded(value, wanted)) if shows(head, wanted) => ("200 OK", body(value)),
        Some(Answer::Guarded(..)) => ("401 Unauthorized", String::new()),
        Some(Answer::Broken) => ("500 Internal Server Error", String::new()),
        None => ("404 Not Found", String::new()),
    }
}

fn vector(value: f64) -> String {
    let element = format!(r#"{{"metric":{{}},"value":[0,"{value}"]}}"#);
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{element}]}}}}"#)
}

fn shows(head: &str, wanted: &str) -> bool {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    headers.any(|(name, value)| name.eq_ignore_ascii_case("authorization") && value.trim() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_answered_as_it_was_set() {
        let table = Table::default();
        lock(&table).extend([
            ("a".to_owned(), Answer::Value(3.0)),
            ("b".to_owned(), Answer::Broken),
            ("c".to_owned(), Answer::Guarded(5.0, "Bearer x")),
        ]);
        let rows = [
            ("a query of Prometheus", "GET /api/v1/query?query=a&time=1 HTTP/1.1\r\n", "200 OK", "\"value\":[0,\"3\"]"),
            ("plain JSON", "GET /json/a HTTP/1.1\r\n", "200 OK", "{\"value\":3}"),
            ("broken", "GET /api/v1/query?query=b HTTP/1.1\r\n", "500 Internal Server Error", ""),
            ("without credentials", "GET /json/c HTTP/1.1\r\n", "401 Unauthorized", ""),
            ("with credentials", "GET /json/c HTTP/1.1\r\nAuthorization: Bearer x\r\n", "200 OK", "5"),
            ("unknown", "GET /json/d HTTP/1.1\r\n", "404 Not Found", ""),
        ];
        for (name, head, status, part) in rows {
            let (found, body) = answer(head, &table);
            assert!(found == status && body.contains(part), "{name}: {found} {body}");
        }
    }
}
