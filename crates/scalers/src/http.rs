//! HTTP for every trigger type that speaks it: clients, shared by all triggers with the same TLS profile, so that
//! connections and TLS sessions are shared too. `call` sends one request; `connector` opens
//! connections, and `proxy_connector` those through a proxy.

mod address;
mod ca_dirs;
mod call;
pub mod connector;
mod error_chain;
pub mod exchange;
mod proxy;
mod proxy_connector;
mod tls;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kedge_core::outbound_policy::OutboundPolicy;
use rustls::CipherSuite;
use rustls::pki_types::CertificateDer;

use crate::cloud_environment::CloudEnvironment;
use crate::trigger::FieldError;
pub(crate) use address::{Address, basic};
pub use ca_dirs::read_ca_dirs;
pub(crate) use call::Call;
use connector::{Connector, HyperConnector};
pub(crate) use error_chain::{find, innermost};
pub use proxy::Proxies;
use proxy_connector::ProxyConnector;
use tls::Roots;
pub(crate) use tls::failure::find as find_tls_failure;
pub(crate) use tls::{TlsProfile, Verification};
pub use tls::{TlsVersion, parse_ciphers, provider};

/// The name under which every server sees this program.
pub const USER_AGENT: &str = concat!("kedge/", env!("CARGO_PKG_VERSION"));

/// What holds for all connections of this process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a whole request may take, where its trigger sets no limit; zero counts as 300 ms.
    pub http_timeout: Duration,
    /// CAs that are trusted in addition to those of the machine.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub keep_alive: KeepAlive,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// How many unused connections to one host are kept.
    pub idle_per_host_max: usize,
    pub proxies: Proxies,
    pub tls_min: TlsVersion,
    /// The cipher suites that TLS 1.2 may use; none means all. TLS 1.3 always has all of its own.
    pub ciphers: Vec<CipherSuite>,
    /// The variables by which clouds identify this process, for triggers that use its identity.
    pub cloud_environment: CloudEnvironment,
    /// Where connections may lead to, and where the identities of this process may be used.
    pub outbound_policy: Arc<OutboundPolicy>,
}

/// Whether connections outlive their request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    On,
    Off,
}

impl Default for Settings {
    // KEDA: its defaults.
    fn default() -> Self {
        Self {
            http_timeout: Duration::from_secs(3),
            extra_roots: Vec::new(),
            keep_alive: KeepAlive::On,
            idle_timeout: Duration::from_secs(90),
            idle_per_host_max: 1000,
            proxies: Proxies::default(),
            tls_min: TlsVersion::default(),
            ciphers: Vec::new(),
            cloud_environment: CloudEnvironment::default(),
            outbound_policy: Arc::default(),
        }
    }
}

impl Settings {
    /// The limit of one request.
    pub(crate) fn limit(&self, own: Option<Duration>) -> Duration {
        // KEDA: where neither the trigger nor the operator gives a limit above zero.
        const LIMIT_OF_LAST_RESORT: Duration = Duration::from_millis(300);
        let given = own.filter(|own| !own.is_zero()).unwrap_or(self.http_timeout);
        if given.is_zero() { LIMIT_OF_LAST_RESORT } else { given }
    }
}

/// The clients of this process, one for each TLS profile in use.
#[derive(Debug)]
pub(crate) struct HttpClients {
    settings: Settings,
    connector: Connector,
    roots: OnceLock<Roots>,
    clients: Mutex<HashMap<TlsProfile, Arc<HttpClient>>>,
}

impl HttpClients {
    pub(crate) fn new(settings: Settings, connector: Connector) -> Self {
        let connector = connector.with_policy(Arc::clone(&settings.outbound_policy));
        Self { settings, connector, roots: OnceLock::new(), clients: Mutex::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The connector, for clients of another kind.
    pub(crate) fn connector(&self) -> Connector {
        self.connector.clone()
    }

    /// The TLS settings of a profile, for clients of another kind.
    pub(crate) fn tls(&self, profile: &TlsProfile) -> Result<rustls::ClientConfig, FieldError> {
        let roots = self.roots.get_or_init(|| Roots::load(&self.settings.extra_roots));
        tls::client_config(profile, roots, &self.settings)
    }

    /// The client for a profile: the one in use, or a new one.
    pub(crate) fn client(&self, profile: &TlsProfile) -> Result<Arc<HttpClient>, FieldError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(profile) {
            return Ok(Arc::clone(client));
        }
        // Credentials change: clients that no scaler holds any more are dropped when a new one is added.
        clients.retain(|profile, client| profile.is_ordinary() || Arc::strong_count(client) > 1);
        let client = Arc::new(HttpClient::new(&self.settings, self.connector.clone(), self.tls(profile)?));
        clients.insert(profile.clone(), Arc::clone(&client));
        Ok(client)
    }

    /// A client that uses no proxy, for services of this machine.
    pub(crate) fn direct_client(&self) -> Result<Arc<HttpClient>, FieldError> {
        let settings = Settings { proxies: Proxies::default(), ..self.settings.clone() };
        let tls = self.tls(&TlsProfile::default())?;
        Ok(Arc::new(HttpClient::new(&settings, self.connector.clone().unrestricted(), tls)))
    }
}

/// A client with its own pool of connections.
pub(crate) struct HttpClient {
    client: legacy::Client<HttpsConnector<HyperConnector<ProxyConnector>>, Full<Bytes>>,
    keep_alive: KeepAlive,
    proxies: Arc<Proxies>,
}

impl HttpClient {
    fn new(settings: &Settings, connector: Connector, tls: rustls::ClientConfig) -> Self {
        let (tls, proxies) = (Arc::new(tls), Arc::new(settings.proxies.clone()));
        let proxy_connector = ProxyConnector::new(connector, Arc::clone(&proxies), Arc::clone(&tls));
        let idle_max = match settings.keep_alive {
            KeepAlive::On => settings.idle_per_host_max,
            KeepAlive::Off => 0,
        };
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle_timeout)
            .pool_max_idle_per_host(idle_max)
            .build(HttpsConnector::from((HyperConnector(proxy_connector), tls)));
        Self { client, keep_alive: settings.keep_alive, proxies }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::Secret;

    #[test]
    fn the_limit_is_the_triggers_then_the_operators_then_the_last_resort() {
        let settings = |millis| Settings { http_timeout: Duration::from_millis(millis), ..Settings::default() };
        let rows = [
            ("its own", 3000, Some(500), 500),
            ("the operator's", 3000, None, 3000),
            ("zero is none", 3000, Some(0), 3000),
            ("none at all", 0, None, 300),
            ("its own, though the operator has none", 0, Some(7), 7),
        ];
        for (name, global, own, expected) in rows {
            let limit = settings(global).limit(own.map(Duration::from_millis));
            assert_eq!(limit, Duration::from_millis(expected), "{name}");
        }
    }

    #[test]
    fn profiles_share_clients_and_unused_ones_are_dropped() {
        let clients = HttpClients::new(Settings::default(), Connector::tcp());
        let ca = |name: &str| {
            let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            TlsProfile { ca: Some(Secret::new(certified.cert.pem())), ..TlsProfile::default() }
        };
        let ordinary = clients.client(&TlsProfile::default()).unwrap();
        assert!(Arc::ptr_eq(&ordinary, &clients.client(&TlsProfile::default()).unwrap()));
        let (first, second) = (ca("one"), ca("two"));
        let held = clients.client(&first).unwrap();
        assert!(Arc::ptr_eq(&held, &clients.client(&first).unwrap()));
        drop((held, ordinary));
        clients.client(&second).unwrap();
        let kept = clients.clients.lock().unwrap();
        assert!(kept.contains_key(&TlsProfile::default()) && kept.contains_key(&second) && !kept.contains_key(&first));
    }

    #[test]
    fn unusable_certificates_are_named_without_being_shown() {
        let clients = HttpClients::new(Settings::default(), Connector::tcp());
        let good = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let other = rcgen::generate_simple_self_signed(["b".to_owned()]).unwrap();
        let (cert, key, other) = (good.cert.pem(), good.signing_key.serialize_pem(), other.signing_key.serialize_pem());
        let profile = |ca: Option<&str>, identity: Option<(&str, &str)>| TlsProfile {
            ca: ca.map(Secret::new),
            identity: identity.map(|(cert, key)| (Secret::new(cert), Secret::new(key))),
            ..TlsProfile::default()
        };
        let rows = [
            ("not PEM", profile(Some("hunter2"), None), Some("ca")),
            ("a key as CA", profile(Some(&key), None), Some("ca")),
            ("not a certificate", profile(None, Some(("hunter2", &key))), Some("cert")),
            ("not a key", profile(None, Some((&cert, "hunter2"))), Some("key")),
            ("another's key", profile(None, Some((&cert, &other))), Some("key")),
            ("all in order", profile(Some(&cert), Some((&cert, &key))), None),
        ];
        for (name, profile, field) in rows {
            let problem = clients.client(&profile).err();
            assert_eq!(problem.as_ref().map(|problem| problem.field.as_str()), field, "{name}");
            assert!(!format!("{problem:?}{profile:?}").contains("hunter2"), "{name}");
        }
    }
}
