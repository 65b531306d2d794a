//! The servers behind the plane, as objects name them: API services and webhooks. A service is found where its Service says,
//! if that is of the type `ExternalName`; an address is taken as it is. A server of an API counts as there while it tells
//! which resources it serves.

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

use super::dial::{self, Place};
use super::tls::KeyedCertificate;
use crate::aggregate::set_user;
use crate::backend::{Backend, service_host};
use crate::controllers::hand::Attention;
use crate::plane::Plane;
use crate::resource::Gvr;

static APIS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("apiregistration.k8s.io", "v1", "apiservices"));
static SERVICES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "services"));
static WEBHOOKS: LazyLock<Gvr> =
    LazyLock::new(|| Gvr::new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"));

/// How long a server may take to tell what it serves.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// How soon it is asked again, by whether it answered.
const AVAILABLE_PAUSE: Duration = Duration::from_secs(30);
const UNAVAILABLE_PAUSE: Duration = Duration::from_millis(500);

/// Keeps the plane told of who is behind it.
#[derive(Debug)]
pub struct Behind {
    plane: Plane,
    /// What the plane shows to servers of APIs, so that they believe whom it calls for.
    front_proxy: Option<KeyedCertificate>,
    known: BTreeMap<String, Known>,
}

/// A server, by its host.
#[derive(Debug)]
struct Known {
    place: Place,
    backend: Backend,
    is_registered: bool,
    /// The path that tells what it serves, if it serves an API.
    path: Option<String>,
}

/// A server that objects name.
#[derive(Debug)]
struct Named {
    place: Place,
    /// The path that tells what it serves, if it serves an API.
    path: Option<String>,
}

impl Behind {
    pub fn new(plane: &Plane, front_proxy: Option<KeyedCertificate>) -> Self {
        Self { plane: plane.clone(), front_proxy, known: BTreeMap::new() }
    }

    /// Acts until it is dropped.
    pub async fn run(mut self) -> Infallible {
        let mut attention = Attention::new(&self.plane, &[&APIS, &SERVICES, &WEBHOOKS]);
        loop {
            attention.wait().await;
            self.compare();
            let pause = self.probe().await;
            attention.look_again_at(Instant::now() + pause);
        }
    }

    /// Takes up what objects name now, and lets go what they do not name any more.
    fn compare(&mut self) {
        let named = named(&self.plane);
        for host in self.known.keys().filter(|host| !named.contains_key(*host)) {
            self.plane.remove_backend(host);
        }
        self.known.retain(|host, _| named.contains_key(host));
        for (host, Named { place, path }) in named {
            if self.known.get(&host).is_none_or(|known| known.place != place || known.path != path) {
                self.take_up(host, place, path);
            }
        }
    }

    fn take_up(&mut self, host: String, place: Place, path: Option<String>) {
        let shown = self.front_proxy.clone().filter(|_| path.is_some());
        let backend = match dial::backend(&place, shown) {
            Ok(backend) => backend,
            Err(error) => return tracing::warn!(%error, host, "a server cannot be called"),
        };
        let was_registered = self.known.remove(&host).is_some_and(|known| known.is_registered);
        // Nobody asks a webhook whether it is there; and a server that moves counts as there until it is asked.
        let is_registered = path.is_none() || was_registered;
        if is_registered {
            self.plane.register_backend(&host, backend.clone());
        }
        self.known.insert(host, Known { place, backend, is_registered, path });
    }

    /// Asks all that serve an API whether they do, and answers for how long that is enough.
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
    let (host, place) = service_place(plane, &spec["service"], &spec["caBundle"])?;
    let path = format!("/apis/{}/{}", spec["group"].as_str()?, spec["version"].as_str()?);
    Some((host, Named { place, path: Some(path) }))
}

fn webhook_server(plane: &Plane, client: &Value) -> Option<(String, Named)> {
    if let Some((host, place)) = service_place(plane, &client["service"], &client["caBundle"]) {
        return Some((host, Named { place, path: None }));
    }
    let uri: Uri = client["url"].as_str()?.parse().ok()?;
    let authority = uri.authority()?;
    let server_name = authority.host().to_owned();
    let place = Place { authority: authority.to_string(), server_name, signed_by: signed_by(&client["caBundle"])? };
    Some((authority.to_string(), Named { place, path: None }))
}

/// The host of a reference to a Service, and where that leads; none if there is no such Service, or one with addresses of its own.
fn service_place(plane: &Plane, reference: &Value, bundle: &Value) -> Option<(String, Place)> {
    let service = plane.object(&SERVICES, Some(reference["namespace"].as_str()?), reference["name"].as_str()?)?;
    let address = service["spec"]["externalName"].as_str().filter(|_| service["spec"]["type"] == "ExternalName")?;
    let port = reference["port"].as_u64().unwrap_or(443);
    let host = service_host(reference);
    let place =
        Place { authority: format!("{address}:{port}"), server_name: host.clone(), signed_by: signed_by(bundle)? };
    Some((host, place))
}

fn signed_by(bundle: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(bundle.as_str()?).ok()
}
