//! Backends over the network, as objects name them: APIServices and webhooks. A service is resolved by its Service,
//! if that is of the type `ExternalName`; a URL is taken as it is. An aggregated API server is available while it returns
//! its resource list.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Uri};
use kube::client::Body;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::dial::{self, BackendAddress};
use super::tls::KeyedCertificate;
use crate::api::resource::{Gvr, service_host};
use crate::controllers::client::ChangeWaiter;
use crate::plane::{Backend, Plane};
use crate::server::aggregation::set_user;

static APIS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("apiregistration.k8s.io", "v1", "apiservices"));
static SERVICES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "services"));
static WEBHOOKS: LazyLock<Gvr> =
    LazyLock::new(|| Gvr::new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"));

/// The timeout of the request for the resource list.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// The interval of availability checks, after success and after failure.
const AVAILABLE_PAUSE: Duration = Duration::from_secs(30);
const UNAVAILABLE_PAUSE: Duration = Duration::from_millis(500);

/// Keeps the backends of the plane up to date.
#[derive(Debug)]
pub struct NetworkBackends {
    plane: Plane,
    /// The front-proxy certificate that the plane presents to aggregated API servers.
    front_proxy: Option<KeyedCertificate>,
    known: BTreeMap<String, Known>,
}

/// A server, by its host.
#[derive(Debug)]
struct Known {
    address: BackendAddress,
    backend: Backend,
    is_registered: bool,
    /// The path of its resource list, if it serves an API.
    path: Option<String>,
}

/// A server that objects name.
#[derive(Debug)]
struct Named {
    address: BackendAddress,
    /// The path of its resource list, if it serves an API.
    path: Option<String>,
}

impl NetworkBackends {
    pub fn new(plane: &Plane, front_proxy: Option<KeyedCertificate>) -> Self {
        Self { plane: plane.clone(), front_proxy, known: BTreeMap::new() }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) -> Infallible {
        let mut changes = ChangeWaiter::new(&self.plane, &[&APIS, &SERVICES, &WEBHOOKS]);
        loop {
            changes.wait().await;
            self.compare();
            let pause = self.probe().await;
            changes.wake_at(Instant::now() + pause);
        }
    }

    /// Adds the backends that objects name now, and removes the others.
    fn compare(&mut self) {
        let named = named(&self.plane);
        for host in self.known.keys().filter(|host| !named.contains_key(*host)) {
            self.plane.remove_backend(host);
        }
        self.known.retain(|host, _| named.contains_key(host));
        for (host, Named { address, path }) in named {
            if self.known.get(&host).is_none_or(|known| known.address != address || known.path != path) {
                self.take_up(host, address, path);
            }
        }
    }

    fn take_up(&mut self, host: String, address: BackendAddress, path: Option<String>) {
        let shown = self.front_proxy.clone().filter(|_| path.is_some());
        let backend = match dial::backend(&address, shown) {
            Ok(backend) => backend,
            Err(error) => return tracing::warn!(%error, host, "a server cannot be called"),
        };
        let was_registered = self.known.remove(&host).is_some_and(|known| known.is_registered);
        // Webhooks have no availability check; a server that moves counts as available until the next check.
        let is_registered = path.is_none() || was_registered;
        if is_registered {
            self.plane.register_backend(&host, backend.clone());
        }
        self.known.insert(host, Known { address, backend, is_registered, path });
    }

    /// Checks the availability of all aggregated API servers, and returns the time until the next check.
    async fn probe(&mut self) -> Duration {
        let mut pause = AVAILABLE_PAUSE;
        for (host, known) in &mut self.known {
            let Some(path) = &known.path else { continue };
            let found = is_available(&known.backend, path).await;
            if let Err(why) = &found {
                tracing::info!(host, why, "a server does not tell what it serves");
                pause = UNAVAILABLE_PAUSE;
            }
            match (found.is_ok(), known.is_registered) {
                (true, false) => self.plane.register_backend(host, known.backend.clone()),
                (false, true) => self.plane.remove_backend(host),
                _ => {}
            }
            known.is_registered = found.is_ok();
        }
        pause
    }
}

async fn is_available(backend: &Backend, path: &str) -> Result<(), String> {
    let mut request = Request::get(path)
        .header("accept", "application/json")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    set_user(&mut request, "system:kube-aggregator");
    match timeout(PROBE_LIMIT, backend.call(request)).await {
        Ok(Ok(answer)) if answer.status().is_success() => Ok(()),
        Ok(Ok(answer)) => Err(answer.status().to_string()),
        Ok(Err(why)) => Err(why),
        Err(_) => Err(format!("no answer within {PROBE_LIMIT:?}")),
    }
}

/// All servers that objects name, by their hosts.
fn named(plane: &Plane) -> BTreeMap<String, Named> {
    let webhooks = plane.objects(&WEBHOOKS, None);
    let webhooks = webhooks.iter().flat_map(|object| object["webhooks"].as_array().into_iter().flatten());
    let clients = webhooks.filter_map(|webhook| webhook_server(plane, &webhook["clientConfig"]));
    let apis = plane.objects(&APIS, None);
    clients.chain(apis.iter().filter_map(|api| api_server(plane, &api["spec"]))).collect()
}

fn api_server(plane: &Plane, spec: &Value) -> Option<(String, Named)> {
    let (host, address) = service_address(plane, &spec["service"], &spec["caBundle"])?;
    let path = format!("/apis/{}/{}", spec["group"].as_str()?, spec["version"].as_str()?);
    Some((host, Named { address, path: Some(path) }))
}

fn webhook_server(plane: &Plane, client: &Value) -> Option<(String, Named)> {
    if let Some((host, address)) = service_address(plane, &client["service"], &client["caBundle"]) {
        return Some((host, Named { address, path: None }));
    }
    let uri: Uri = client["url"].as_str()?.parse().ok()?;
    let authority = uri.authority()?;
    let server_name = authority.host().to_owned();
    let address =
        BackendAddress { authority: authority.to_string(), server_name, signed_by: signed_by(&client["caBundle"])? };
    Some((authority.to_string(), Named { address, path: None }))
}

/// The host of a service reference, and its address; none if there is no such Service, or it is not of the type `ExternalName`.
fn service_address(plane: &Plane, reference: &Value, bundle: &Value) -> Option<(String, BackendAddress)> {
    let service = plane.object(&SERVICES, Some(reference["namespace"].as_str()?), reference["name"].as_str()?)?;
    let external_name =
        service["spec"]["externalName"].as_str().filter(|_| service["spec"]["type"] == "ExternalName")?;
    let port = reference["port"].as_u64().unwrap_or(443);
    let host = service_host(reference);
    let address = BackendAddress {
        authority: format!("{external_name}:{port}"),
        server_name: host.clone(),
        signed_by: signed_by(bundle)?,
    };
    Some((host, address))
}

fn signed_by(bundle: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(bundle.as_str()?).ok()
}
