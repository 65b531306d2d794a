//! The proxies of scalers. A proxy's address may hold credentials, so it is never repeated.

use kedge_scalers::Secret;
use kedge_scalers::metadata::convert::{Converted, Flaw};

use super::reader::Reader;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Proxies {
    pub(crate) http: Option<Proxy>,
    pub(crate) https: Option<Proxy>,
    /// The hosts that are asked directly, as `NO_PROXY` has them.
    pub(crate) direct: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Proxy {
    /// Scheme, host and port.
    pub(crate) address: String,
    /// What stands before the `@`.
    pub(crate) credentials: Option<Secret>,
}

pub(super) fn settle(read: &mut Reader<'_>) -> Proxies {
    let direct = either(read, ["NO_PROXY", "no_proxy"], |read, name| read.text(name)).unwrap_or_default();
    Proxies {
        http: either(read, ["HTTP_PROXY", "http_proxy"], |read, name| read.hidden(name, parse)),
        https: either(read, ["HTTPS_PROXY", "https_proxy"], |read, name| read.hidden(name, parse)),
        direct: direct.split(',').map(str::trim).filter(|host| !host.is_empty()).map(str::to_owned).collect(),
    }
}

/// KEDA: upper case first.
fn either<T>(read: &mut Reader<'_>, names: [&str; 2], take: impl Fn(&mut Reader<'_>, &str) -> Option<T>) -> Option<T> {
    let name = names.into_iter().find(|name| read.text(name).is_some())?;
    take(read, name)
}

/// Reads a URL, or `host:port`, which is plain HTTP.
fn parse(text: &str) -> Converted<Proxy> {
    let flaw = |problem| Flaw::new(problem, "write it as in http://proxy.example:3128");
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    if !["http", "https", "socks5", "socks5h"].contains(&scheme) {
        return Err(flaw("has an unknown scheme"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The last `@` ends the credentials: a password may hold another one.
    let (credentials, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if host.is_empty() || host.starts_with(':') || !host.bytes().all(valid) {
        return Err(flaw("has no usable host"));
    }
    Ok(Proxy { address: format!("{scheme}://{host}"), credentials: credentials.map(Secret::new) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_as_go_does_and_never_shown() {
        let rows = [
            ("http://proxy:3128", Some("http://proxy:3128")),
            ("proxy:3128", Some("http://proxy:3128")),
            ("https://me:hunter2@proxy.example/", Some("https://proxy.example")),
            ("http://me:hunter2@x@[::1]:80", Some("http://[::1]:80")),
            ("socks5://proxy:1080", Some("socks5://proxy:1080")),
            ("ftp://me:hunter2@proxy", None),
            ("http://me:hunter2@", None),
            ("http://me:hunter2@a b", None),
            (":3128", None),
        ];
        for (text, expected) in rows {
            let found = parse(text);
            assert!(!format!("{found:?}").contains("hunter2"), "{text}");
            assert_eq!(found.ok().map(|proxy| proxy.address).as_deref(), expected, "{text}");
        }
    }
}
