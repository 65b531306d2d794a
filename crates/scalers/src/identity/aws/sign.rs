//! Signature Version 4, as AWS describes it: pure, from a request to the headers that sign it.

use chrono::{DateTime, Utc};
use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};

use super::Credentials;

/// Everything but the letters, digits and marks that never need escaping.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What of a request is signed. Host, time and session token are added.
pub(super) struct Signable<'a> {
    pub(super) method: &'a str,
    pub(super) uri: &'a Uri,
    /// Further headers, named in lower case.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// The headers that sign the request, beside those it has.
pub(super) fn sign(
    request: &Signable<'_>,
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: DateTime<Utc>,
) -> Vec<(&'static str, String)> {
    let (moment, day) = (now.format("%Y%m%dT%H%M%SZ").to_string(), now.format("%Y%m%d").to_string());
    let mut added = vec![("x-amz-date", moment.clone())];
    if let Some(token) = &credentials.session_token {
        added.push(("x-amz-security-token", token.reveal().to_owned()));
    }
    let (canonical, signed_headers) = canonical_request(request, &added);
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let text = format!("{ALGORITHM}\n{moment}\n{scope}\n{}", hash(canonical.as_bytes()));
    let signature = signature(&text, credentials, &day, region, service);
    let key_id = credentials.access_key.reveal();
    let authorization =
        format!("{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={signed_headers}, Signature={signature}");
    added.push(("authorization", authorization));
    added
}

/// The query of a URL that carries its signature: a GET of the root of a host with these parameters.
pub(super) fn presign(
    host: &str,
    parameters: &[(&str, &str)],
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: DateTime<Utc>,
) -> String {
    let (moment, day) = (now.format("%Y%m%dT%H%M%SZ").to_string(), now.format("%Y%m%d").to_string());
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let credential = format!("{}/{scope}", credentials.access_key.reveal());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    query.extend_pairs([("X-Amz-Algorithm", ALGORITHM), ("X-Amz-Credential", credential.as_str())]);
    query.extend_pairs([("X-Amz-Date", moment.as_str()), ("X-Amz-SignedHeaders", "host")]);
    if let Some(token) = &credentials.session_token {
        query.append_pair("X-Amz-Security-Token", token.reveal());
    }
    let query = canonical_query(&query.finish());
    let canonical = format!("GET\n/\n{query}\nhost:{host}\n\nhost\n{}", hash(b""));
    let text = format!("{ALGORITHM}\n{moment}\n{scope}\n{}", hash(canonical.as_bytes()));
    format!("{query}&X-Amz-Signature={}", signature(&text, credentials, &day, region, service))
}

fn signature(text: &str, credentials: &Credentials, day: &str, region: &str, service: &str) -> String {
    hex(mac(&signing_key(credentials, day, region, service), text.as_bytes()).as_ref())
}

/// The request in the form of which the signature is made, and the names of the headers in it.
fn canonical_request(request: &Signable<'_>, added: &[(&'static str, String)]) -> (String, String) {
    let host = host(request.uri);
    let mut headers: Vec<(&str, &str)> = vec![("host", &host)];
    headers.extend(request.headers);
    headers.extend(added.iter().map(|(name, value)| (*name, value.as_str())));
    headers.sort_by_key(|(name, _)| *name);
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let (path, query) = (canonical_path(request.uri.path()), canonical_query(request.uri.query().unwrap_or_default()));
    let canonical = format!("{}\n{path}\n{query}\n{lines}\n{names}\n{}", request.method, hash(request.body));
    (canonical, names)
}

/// The `Host` that is sent: the default port is left out.
fn host(uri: &Uri) -> String {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let name = uri.host().unwrap_or_default();
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// The path without `//`, `.` and `..`, escaped once more than it is sent.
fn canonical_path(path: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(utf8_percent_encode(other, ESCAPED).to_string()),
        }
    }
    let is_folder = path.ends_with('/') && !kept.is_empty();
    format!("/{}{}", kept.join("/"), if is_folder { "/" } else { "" })
}

/// The parameters in order, each escaped in the one way that AWS knows.
pub(super) fn canonical_query(query: &str) -> String {
    let escape = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let mut pairs: Vec<_> =
        form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (escape(&name), escape(&value))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn signing_key(credentials: &Credentials, day: &str, region: &str, service: &str) -> Vec<u8> {
    let first = format!("AWS4{}", credentials.secret_key.reveal()).into_bytes();
    [day, region, service, "aws4_request"].iter().fold(first, |key, part| mac(&key, part.as_bytes()).as_ref().to_vec())
}

fn mac(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::Secret;

    fn example(session_token: Option<&str>) -> Credentials {
        Credentials {
            access_key: Secret::new("AKIDEXAMPLE"),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: session_token.map(Secret::new),
        }
    }

    fn signed(request: &Signable<'_>, credentials: &Credentials) -> String {
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let headers = sign(request, credentials, "us-east-1", "service", now);
        assert_eq!(headers[0], ("x-amz-date", "20150830T123600Z".to_owned()));
        headers.last().unwrap().1.clone()
    }

    type Headers = &'static [(&'static str, &'static str)];

    /// AWS's own test suite for this signature, by the names of its cases.
    #[test]
    fn signatures_are_those_that_aws_publishes() {
        let form: Headers = &[("content-type", "application/x-www-form-urlencoded")];
        let vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        let unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let rows: [(&str, &str, String, Headers, &str, &str); 9] = [
            ("get-vanilla", "GET", "/".to_owned(), &[], "", vanilla),
            ("get-slash", "GET", "//".to_owned(), &[], "", vanilla),
            ("get-relative", "GET", "/example/..".to_owned(), &[], "", vanilla),
            ("get-slash-dot-slash", "GET", "/./".to_owned(), &[], "", vanilla),
            (
                "get-vanilla-query-order-key-case",
                "GET",
                "/?Param2=value2&Param1=value1".to_owned(),
                &[],
                "",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "get-vanilla-query-unreserved",
                "GET",
                format!("/?{unreserved}={unreserved}"),
                &[],
                "",
                "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
            ),
            (
                "get-unreserved",
                "GET",
                format!("/{unreserved}"),
                &[],
                "",
                "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
            ),
            (
                "post-vanilla",
                "POST",
                "/".to_owned(),
                &[],
                "",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                "post-x-www-form-urlencoded",
                "POST",
                "/".to_owned(),
                form,
                "Param1=value1",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
        ];
        for (name, method, path, headers, body, expected) in rows {
            let uri: Uri = format!("https://example.amazonaws.com{path}").parse().unwrap();
            let request = Signable { method, uri: &uri, headers, body: body.as_bytes() };
            let authorization = signed(&request, &example(None));
            assert!(authorization.ends_with(&format!("Signature={expected}")), "{name}: {authorization}");
        }
    }

    #[test]
    fn the_header_names_what_was_signed() {
        let uri: Uri = "https://example.amazonaws.com/".parse().unwrap();
        let request = Signable { method: "GET", uri: &uri, headers: &[], body: b"" };
        let expected = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                        SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=";
        assert!(signed(&request, &example(Some("token"))).starts_with(expected));
    }

    /// The signatures are those that botocore makes of the same.
    #[test]
    fn a_url_can_carry_its_signature() {
        let rows = [
            (None, "c413a83bc64a339e31a5e5e9ed99d778ff843206b427540cafa5122c01e3e993"),
            (Some("tok/en+1"), "d09c32589229d5ba51fa9ac2bfe1ebf52a6ee8e972ecf961e42abaabb2ad3f85"),
        ];
        let parameters = [("Action", "kafka-cluster:Connect"), ("X-Amz-Expires", "900")];
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        for (token, signature) in rows {
            let host = "kafka.us-east-1.amazonaws.com";
            let query = presign(host, &parameters, &example(token), "us-east-1", "kafka-cluster", now);
            let start = "Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
                         X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fkafka-cluster%2Faws4_request&\
                         X-Amz-Date=20150830T123600Z&X-Amz-Expires=900&X-Amz-S";
            assert!(query.starts_with(start), "{query}");
            assert!(query.ends_with(&format!("&X-Amz-SignedHeaders=host&X-Amz-Signature={signature}")), "{query}");
            assert_eq!(query.contains("X-Amz-Security-Token=tok%2Fen%2B1"), token.is_some());
        }
    }

    #[test]
    fn queries_have_one_form() {
        let rows = [
            (
                "query=sum%28up%29+%2B+1&time=2026-08-20T10:11:12Z",
                "query=sum%28up%29%20%2B%201&time=2026-08-20T10%3A11%3A12Z",
            ),
            ("b=2&a=2&a=1", "a=1&a=2&b=2"),
            ("x", "x="),
            ("", ""),
            ("%E1%88%B4=bar", "%E1%88%B4=bar"),
        ];
        for (query, expected) in rows {
            assert_eq!(canonical_query(query), expected, "{query}");
            assert_eq!(canonical_query(&canonical_query(query)), expected, "{query}, a second time");
        }
    }

    #[test]
    fn paths_are_escaped_twice_and_straightened() {
        let rows = [
            ("/workspaces/ws-1//api/v1/query", "/workspaces/ws-1/api/v1/query"),
            ("/a%20b/", "/a%2520b/"),
            ("/example1/example2/../..", "/"),
            ("", "/"),
        ];
        for (path, expected) in rows {
            assert_eq!(canonical_path(path), expected, "{path}");
        }
    }
}
