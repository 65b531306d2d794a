//! gRPC for every trigger type that speaks it: channels, shared by all triggers with the same address and TLS profile.
//! `address` parses addresses, `connector` opens connections, `channel` makes calls, `streaming` reads streams, `explain`
//! turns failures into errors, `observed` reports calls for telemetry.

mod address;
mod channel;
mod connector;
mod explain;
mod observed;
mod streaming;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::host_port::HostPort;
use crate::http::{HttpClients, TlsProfile};
use crate::trigger::FieldError;
pub(crate) use address::parse_address;
pub(crate) use channel::{Channel, request};
use connector::GrpcConnector;

/// The server of a channel, and how the connection is protected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    pub(crate) address: HostPort,
    pub(crate) security: Security,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Security {
    Plaintext,
    Tls(TlsProfile),
}

/// The channels of this process, one for each peer in use.
#[derive(Debug, Default)]
pub(crate) struct Channels(Mutex<HashMap<Peer, Arc<Channel>>>);

impl Channels {
    /// The channel to a peer: the one in use, or a new one. Nothing is connected yet.
    pub(crate) fn channel(&self, peer: &Peer, clients: &HttpClients) -> Result<Arc<Channel>, FieldError> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(peer) {
            return Ok(Arc::clone(channel));
        }
        // Channels that no scaler holds any more are dropped when a new one is added.
        channels.retain(|_, channel| Arc::strong_count(channel) > 1);
        let tls = match &peer.security {
            Security::Plaintext => None,
            Security::Tls(profile) => Some(clients.tls(profile)?),
        };
        let limit = clients.settings().limit(None);
        let connector = GrpcConnector::new(clients.connector(), &peer.address, tls, limit);
        let channel = Arc::new(Channel::new(&peer.address, connector, limit));
        channels.insert(peer.clone(), Arc::clone(&channel));
        Ok(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Settings;
    use crate::http::connector::Connector;

    #[test]
    fn peers_share_channels_and_unused_ones_are_dropped() {
        let clients = HttpClients::new(Settings::default(), Connector::tcp());
        let channels = Channels::default();
        let peer = |address: &str, security| Peer { address: parse_address(address).unwrap(), security };
        let (plain, other) = (peer("a:1", Security::Plaintext), peer("b:1", Security::Plaintext));
        let tls = peer("a:1", Security::Tls(TlsProfile::default()));
        let held = channels.channel(&plain, &clients).unwrap();
        assert!(Arc::ptr_eq(&held, &channels.channel(&plain, &clients).unwrap()));
        assert!(!Arc::ptr_eq(&held, &channels.channel(&tls, &clients).unwrap()), "TLS is another channel");
        channels.channel(&other, &clients).unwrap();
        let kept = channels.0.lock().unwrap();
        assert!(kept.contains_key(&plain) && kept.contains_key(&other) && !kept.contains_key(&tls));
    }
}
