//! Real sockets. The outbound policy is applied to what a name resolves to, at each connection: a name may resolve to another
//! address each time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use kedge_core::outbound_policy::OutboundPolicy;
use tower_service::Service;

use super::{BoxStream, denied};
use crate::scaler::BoxFuture;

/// A connection that is silent for so long is probed, so often, so many times.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

/// Opens a connection. The caller has checked the host.
pub(super) async fn connect(uri: Uri, policy: Arc<OutboundPolicy>) -> io::Result<BoxStream> {
    let mut tcp = HttpConnector::new_with_resolver(PermittedAddresses(policy));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // Without these, a peer that vanished is noticed only when an answer does not come.
    tcp.set_keepalive(Some(KEEPALIVE_AFTER));
    tcp.set_keepalive_interval(Some(KEEPALIVE_EVERY));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    let stream = tcp.call(uri).await.map_err(io::Error::other)?;
    Ok(Box::new(stream.into_inner()))
}

/// Resolves names to the addresses that the policy permits.
#[derive(Clone)]
struct PermittedAddresses(Arc<OutboundPolicy>);

impl Service<Name> for PermittedAddresses {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (policy, lookup) = (Arc::clone(&self.0), GaiResolver::new().call(name.clone()));
        Box::pin(async move {
            let mut denial = None;
            let is_permitted = |address: &SocketAddr| {
                let checked = policy.check_address(name.as_str(), address.ip());
                checked.map_err(|found| denial = Some(found)).is_ok()
            };
            let permitted: Vec<SocketAddr> = lookup.await?.filter(is_permitted).collect();
            match denial.filter(|_| permitted.is_empty()) {
                Some(denial) => Err(denied(denial)),
                None => Ok(permitted.into_iter()),
            }
        })
    }
}
