//! Connections to sources, direct or through a proxy. Requests by https go through a tunnel that `CONNECT` opens, requests by
//! http to the proxy itself.

use std::error::Error;
use std::io;
use std::sync::Arc;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::HttpsConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower_service::Service;

use super::connector::{BoxStream, Connector, HttpStream, HyperConnector, OpenStream};
use super::error_chain::innermost;
use super::proxy::{Proxies, Proxy};
use super::tls;

/// The longest answer of a proxy before its tunnel is open.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// A [`Connector`] that uses the proxies of this process.
#[derive(Clone)]
pub(super) struct ProxyConnector {
    direct: Connector,
    to_proxy: HttpsConnector<HyperConnector<Connector>>,
    proxies: Arc<Proxies>,
}

impl ProxyConnector {
    pub(super) fn new(connector: Connector, proxies: Arc<Proxies>, tls: Arc<rustls::ClientConfig>) -> Self {
        let to_proxy = HttpsConnector::from((HyperConnector(connector.clone().unrestricted()), tls));
        Self { to_proxy, direct: connector, proxies }
    }
}

impl OpenStream for ProxyConnector {
    async fn open(self, uri: Uri) -> io::Result<HttpStream> {
        let Some(proxy) = self.proxies.for_uri(&uri) else {
            return self.direct.open(uri).await;
        };
        self.direct.check_proxied(&uri)?;
        let stream = reach(self.to_proxy.clone(), proxy).await?;
        match uri.scheme() == Some(&Scheme::HTTPS) {
            true => Ok(HttpStream::direct(open_tunnel(stream, &uri, proxy).await?)),
            false => Ok(HttpStream::to_proxy(stream)),
        }
    }
}

async fn reach(mut connector: HttpsConnector<HyperConnector<Connector>>, proxy: &Proxy) -> io::Result<BoxStream> {
    match connector.call(proxy.uri().clone()).await {
        Ok(stream) => Ok(Box::new(TokioIo::new(stream))),
        Err(error) => Err(failure(proxy, format!("cannot be reached: {}", explain(error.as_ref())))),
    }
}

fn explain(error: &(dyn Error + 'static)) -> String {
    match tls::failure::find(error) {
        Some(problem) => problem,
        None => innermost(error),
    }
}

async fn open_tunnel(mut stream: BoxStream, uri: &Uri, proxy: &Proxy) -> io::Result<BoxStream> {
    let lost = |error: io::Error| failure(proxy, format!("broke off: {error}"));
    stream.write_all(&render_connect(uri, proxy)).await.map_err(lost)?;
    stream.flush().await.map_err(lost)?;
    let mut head = Vec::new();
    // A TLS server sends nothing before the client does: what is read here is the answer of the proxy and no more.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            return Err(failure(proxy, "gives no end to its answer".to_owned()));
        }
        if stream.read_buf(&mut head).await.map_err(lost)? == 0 {
            return Err(failure(proxy, "closed the connection".to_owned()));
        }
    }
    match parse_status(&head) {
        Some(200..=299) => Ok(stream),
        Some(code) => Err(failure(proxy, format!("answered CONNECT with status {code}"))),
        None => Err(failure(proxy, "does not speak HTTP".to_owned())),
    }
}

fn render_connect(uri: &Uri, proxy: &Proxy) -> Vec<u8> {
    let target = format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(443));
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(credentials) = proxy.credentials() {
        head.extend_from_slice(&[b"Proxy-Authorization: ", credentials.as_bytes(), b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn parse_status(head: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(head).ok()?.lines().next()?;
    line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

fn failure(proxy: &Proxy, problem: String) -> io::Error {
    io::Error::other(format!("the proxy {} {problem}", proxy.name()))
}
