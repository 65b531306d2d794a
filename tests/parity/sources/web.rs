//! Prometheus at `/p/NAMESPACE/NAME/api/v1/query`, and a JSON document at `/j/NAMESPACE/NAME`.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Source, Table};

/// Serves until it is aborted.
pub(super) async fn serve(listener: TcpListener, table: Table) {
    while let Ok((connection, _)) = listener.accept().await {
        let table = table.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let table = table.clone();
            async move {
                let (head, body) = request.into_parts();
                // A client that breaks off its request gets no response anyway.
                let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                let (status, body) = answer(&table, &Request::from_parts(head, body));
                let response = Response::builder().status(status).header("content-type", "application/json");
                let response = response.body(Full::new(Bytes::from(body))).expect("a status and a fixed header");
                Ok::<_, Infallible>(response)
            }
        });
        // A client that closes its connection is no error.
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service));
    }
}

fn answer(table: &Table, request: &Request<Bytes>) -> (u16, String) {
    let mut parts = request.uri().path().splitn(5, '/').skip(1);
    let [kind, namespace, name, rest] = [(); 4].map(|()| parts.next().unwrap_or_default());
    let form = |text: &[u8]| form_urlencoded::parse(text).into_owned().collect::<BTreeMap<_, _>>();
    let mut recorded = json!({
        "method": request.method().as_str(), "path": rest.trim_end_matches('/'),
        "query": form(request.uri().query().unwrap_or_default().as_bytes()), "headers": identifying(request.headers()),
    });
    if !request.body().is_empty() {
        recorded["form"] = json!(form(request.body()));
    }
    let Some(source) = table.record_request(namespace, name, recorded) else { return (404, "no such source".into()) };
    let has = |(name, value): (&String, &String)| request.headers().get(name).is_some_and(|found| found == value);
    if !source.require.iter().all(has) {
        return (401, "who are you?".into());
    }
    match (source.status, kind) {
        (Some(status), _) => (status, "broken".into()),
        (None, "j") => (200, source.json.unwrap_or_default().to_string()),
        (None, _) => (200, prometheus(&source).to_string()),
    }
}

/// The headers that identify a client, in the spelling of most clients: `X-Scope-Orgid`.
fn identifying(headers: &HeaderMap) -> BTreeMap<String, String> {
    let spelled = |name: &str| {
        let word = |word: &str| word[..1].to_uppercase() + &word[1..];
        name.split('-')
            .map(|part| if part.is_empty() { String::new() } else { word(part) })
            .collect::<Vec<_>>()
            .join("-")
    };
    let identifies = |name: &str| name == "authorization" || name.starts_with("x-");
    let headers = headers.iter().filter(|(name, _)| identifies(name.as_str()));
    headers
        .map(|(name, value)| (spelled(name.as_str()), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

fn prometheus(source: &Source) -> Value {
    let one = source.value.clone().into_iter().collect();
    let values = if source.empty {
        &Vec::new()
    } else if source.values.is_empty() {
        &one
    } else {
        &source.values
    };
    let element = |(index, value): (usize, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        json!({ "metric": { "i": index.to_string() }, "value": [1_700_000_000, text] })
    };
    let result: Vec<Value> = values.iter().enumerate().map(element).collect();
    json!({ "status": "success", "data": { "resultType": "vector", "result": result } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(source: Value) -> Table {
        let table = Table::default();
        let source = serde_json::from_value(source).unwrap();
        table.entries().sources.insert(("n".into(), "a".into()), source);
        table
    }

    fn get(path: &str) -> Request<Bytes> {
        Request::get(path)
            .header("authorization", "Bearer t")
            .header("x-scope-orgid", "o")
            .header("accept", "*")
            .body(Bytes::new())
            .unwrap()
    }

    #[test]
    fn a_source_responds_as_the_case_sets() {
        let element = |value: &str| {
            format!(
                r#"{{"data":{{"result":[{{"metric":{{"i":"0"}},"value":[1700000000,"{value}"]}}],"resultType":"vector"}},"status":"success"}}"#
            )
        };
        let rows = [
            (json!({ "value": 42 }), "/p/n/a/api/v1/query", 200, element("42")),
            (json!({ "value": 7.5 }), "/p/n/a/api/v1/query", 200, element("7.5")),
            (json!({ "value": "+Inf" }), "/p/n/a/api/v1/query", 200, element("+Inf")),
            (
                json!({ "empty": true }),
                "/p/n/a",
                200,
                r#"{"data":{"result":[],"resultType":"vector"},"status":"success"}"#.into(),
            ),
            (json!({ "json": { "n": 1 } }), "/j/n/a", 200, r#"{"n":1}"#.into()),
            (json!({ "status": 500 }), "/p/n/a/api/v1/query", 500, "broken".into()),
            (json!({ "require": { "Authorization": "Bearer t" }, "json": 1 }), "/j/n/a", 200, "1".into()),
            (json!({ "require": { "Authorization": "Bearer u" }, "json": 1 }), "/j/n/a", 401, "who are you?".into()),
            (json!({}), "/j/n/absent", 404, "no such source".into()),
        ];
        for (source, path, status, body) in rows {
            assert_eq!(answer(&table(source.clone()), &get(path)), (status, body), "{source} {path}");
        }
    }

    #[test]
    fn the_last_request_is_recorded() {
        let table = table(json!({ "value": 1 }));
        answer(&table, &get("/p/n/a/first"));
        answer(&table, &get("/p/n/a/api/v1/query?query=sum(x)%20%2B+1&time=t"));
        let expected = json!({
            "method": "GET", "path": "api/v1/query", "query": { "query": "sum(x) + 1", "time": "t" },
            "headers": { "Authorization": "Bearer t", "X-Scope-Orgid": "o" },
        });
        assert_eq!(table.entries().requests[&("n".into(), "a".into())].last, expected);
    }

    #[test]
    fn a_form_is_recorded() {
        let table = table(json!({ "json": {} }));
        let request = Request::post("/j/n/a").body(Bytes::from("grant_type=client_credentials&scope=a+b")).unwrap();
        answer(&table, &request);
        let recorded = &table.entries().requests[&("n".into(), "a".into())].last;
        assert_eq!(recorded["form"], json!({ "grant_type": "client_credentials", "scope": "a b" }));
    }
}
