//! Which requests a browser may send. A page of another origin must neither read what is shown nor change anything, and a name that an
//! attacker points at this machine must not make this server one of the attacker's origin.

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, request};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this server is not called like that; open it under the address that it printed")]
    Host,
    #[error("requests from other sites are refused")]
    Origin,
    #[error("the request has no content type application/json")]
    ContentType,
}

/// The names under which the server may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Those of this machine.
    Loopback,
    /// Any: each request carries a credential that no browser adds by itself.
    Any,
}

/// Checks a request before anything of it is read.
pub fn check(head: &request::Parts, hosts: &Hosts) -> Result<(), Refusal> {
    let (method, headers) = (&head.method, &head.headers);
    // HTTP/2 has the name of the server in the URI.
    let host = text(headers, &HOST).or_else(|| head.uri.authority().map(|authority| authority.as_str()));
    if *hosts == Hosts::Loopback && !host.is_some_and(is_loopback) {
        return Err(Refusal::Host);
    }
    // Other sites may link to the page, but get nothing of it.
    let is_link = *method == Method::GET && text(headers, &FETCH_MODE) == Some("navigate");
    let is_foreign = text(headers, &FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none"));
    if is_foreign && !is_link {
        return Err(Refusal::Origin);
    }
    let is_own = |origin: &str| origin.split_once("://").map(|(_, authority)| authority) == host;
    if text(headers, &ORIGIN).is_some_and(|origin| !is_own(origin)) {
        return Err(Refusal::Origin);
    }
    // A form of another site can only send simple types.
    let is_json = text(headers, &http::header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if *method == Method::POST && !is_json {
        return Err(Refusal::ContentType);
    }
    Ok(())
}

/// Whether an authority names this machine, at whatever port.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(host, _)| host),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("not ASCII"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn only_the_page_itself_may_send_requests() {
        let (get, post) = (Method::GET, Method::POST);
        let json = ("content-type", "application/json");
        type Row<'a> = (&'a str, &'a Method, Vec<(&'static str, &'a str)>, Result<(), Refusal>);
        let rows: Vec<Row<'_>> = vec![
            ("a browser's first visit", &get, vec![("host", "localhost:8080"), ("sec-fetch-site", "none")], Ok(())),
            ("a tool", &get, vec![("host", "127.0.0.1:8080")], Ok(())),
            ("IPv6", &get, vec![("host", "[::1]:8080")], Ok(())),
            ("the page", &post, vec![("host", "localhost:8080"), ("origin", "http://localhost:8080"), json], Ok(())),
            ("a name that points here", &get, vec![("host", "evil.example:8080")], Err(Refusal::Host)),
            ("one that only begins like ours", &get, vec![("host", "localhost.evil.example")], Err(Refusal::Host)),
            ("no name", &get, vec![], Err(Refusal::Host)),
            (
                "another site",
                &get,
                vec![("host", "localhost:8080"), ("sec-fetch-site", "cross-site")],
                Err(Refusal::Origin),
            ),
            (
                "a link of another site",
                &get,
                vec![("host", "localhost:8080"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                Ok(()),
            ),
            (
                "a form of another site",
                &post,
                vec![
                    ("host", "localhost:8080"),
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    json,
                ],
                Err(Refusal::Origin),
            ),
            (
                "another port of this machine",
                &post,
                vec![("host", "localhost:8080"), ("origin", "http://localhost:9090"), json],
                Err(Refusal::Origin),
            ),
            (
                "a form",
                &post,
                vec![("host", "localhost:8080"), ("content-type", "text/plain")],
                Err(Refusal::ContentType),
            ),
            ("a sandboxed page", &get, vec![("host", "localhost:8080"), ("origin", "null")], Err(Refusal::Origin)),
        ];
        for (name, method, headers, expected) in rows {
            assert_eq!(check(&head(method, "/", headers), &Hosts::Loopback), expected, "{name}");
        }
        assert_eq!(check(&head(&get, "/", vec![("host", "kedge.example")]), &Hosts::Any), Ok(()));
        let http2 = |origin| head(&get, "https://kedge.example/api/objects", vec![("origin", origin)]);
        assert_eq!(check(&http2("https://kedge.example"), &Hosts::Any), Ok(()));
        assert_eq!(check(&http2("https://evil.example"), &Hosts::Any), Err(Refusal::Origin));
    }

    fn head(method: &Method, uri: &str, headers: Vec<(&'static str, &str)>) -> request::Parts {
        let request = Request::builder().method(method).uri(uri);
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        request.body(()).unwrap().into_parts().0
    }
}
