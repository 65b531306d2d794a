//! The way to the sources of triggers: the real ones where they can be reached, and stand-ins where they cannot.

mod external;
mod http;
mod number;
mod tls;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kedge_dashboard::Health;
use kedge_plane::{Gvr, Plane};
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{BoxFuture, Connector, Substitute};
use tokio::io::DuplexStream;

use crate::dials::{Dials, Setting};
use number::NumberDials;
pub(crate) use tls::SourceCa;

/// The buffer of a connection to a stand-in, in bytes.
const PIPE: usize = 16 * 1024;

/// How long a source may take to accept the first connection; on the machine's clock, whatever the speed.
const REACHED_WITHIN: Duration = Duration::from_secs(1);

/// Names that exist in playgrounds only, and are looked up nowhere.
const OWN_DOMAIN: &str = ".playground";

/// Where the sources are.
#[derive(Clone)]
pub(crate) struct Sources {
    plane: Plane,
    dials: Arc<Dials>,
    pub(crate) ca: SourceCa,
    /// Whether each source could be reached, by its authority. That is found out once.
    reached: Arc<Mutex<BTreeMap<String, bool>>>,
    /// The targets of the triggers whose number a dial gives, by the dial.
    numbers: Arc<Mutex<BTreeMap<String, f64>>>,
}

/// The answer of a stand-in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Value(f64),
    Error,
    Nothing,
}

impl Sources {
    pub(crate) fn new(plane: Plane, dials: Arc<Dials>, ca: SourceCa) -> Self {
        Self { plane, dials, ca, reached: Arc::default(), numbers: Arc::default() }
    }

    /// Connects to the sources.
    pub(crate) fn connector(&self) -> Connector {
        let sources = self.clone();
        Connector::new(move |uri: ::http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let sources = sources.clone();
            Box::pin(async move { sources.connect(uri).await })
        })
    }

    /// Whether a stand-in answers for this source.
    pub(crate) fn is_stood_in(&self, authority: &str) -> bool {
        self.known(authority).is_some_and(|reached| !reached)
    }

    /// Dials in the place of triggers whose sources cannot be reached.
    pub(crate) fn substitute(&self) -> Arc<dyn Substitute> {
        Arc::new(NumberDials { sources: self.clone() })
    }

    /// The target of the trigger whose number this dial gives. None while its source is asked.
    pub(crate) fn target_of_stand_in(&self, dial: &str) -> Option<f64> {
        self.numbers.lock().expect("no holder panics").get(dial).copied()
    }

    async fn connect(self, uri: ::http::Uri) -> io::Result<BoxStream> {
        let authority = authority(&uri);
        match self.known(&authority) {
            // A real source that fails is an outage, and shown as one.
            Some(true) => return Connector::tcp().connect(uri).await,
            Some(false) => {}
            None => {
                if let Some(stream) = self.find_out(&uri, &authority).await {
                    return Ok(stream);
                }
            }
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        tokio::spawn(self.stand_in(uri, authority, theirs));
        Ok(Box::new(ours))
    }

    /// Tries to reach a source for the first time, and remembers whether it could be.
    async fn find_out(&self, uri: &::http::Uri, authority: &str) -> Option<BoxStream> {
        let first = try_to_reach(uri).await;
        self.reached.lock().expect("no holder panics").insert(authority.to_owned(), first.is_some());
        if first.is_none() {
            tracing::info!(source = authority, "cannot be reached; a dial stands in for it");
        }
        first
    }

    /// Whether the source at a host, with or without a port, can be reached.
    async fn reaches(&self, host: &str) -> bool {
        // Only services of clouds are named without a port.
        let Ok(uri) = format!("https://{host}").parse() else { return false };
        let authority = authority(&uri);
        match self.known(&authority) {
            Some(reached) => reached,
            None => self.find_out(&uri, &authority).await.is_some(),
        }
    }

    /// Serves one connection to a stand-in.
    async fn stand_in(self, uri: ::http::Uri, authority: String, stream: DuplexStream) {
        let is_external = self.is_external_scaler(&authority);
        let protocol: &[u8] = if is_external { b"h2" } else { b"http/1.1" };
        let stream: BoxStream = match uri.scheme_str() {
            Some("https") => {
                let accepted = self.ca.accept(uri.host().unwrap_or_default(), protocol, stream).await;
                let Some(accepted) = accepted else { return };
                Box::new(accepted)
            }
            _ => Box::new(stream),
        };
        if is_external {
            external::serve(self.dials, stream).await;
        } else {
            http::serve(self, authority, stream).await;
        }
    }

    fn known(&self, authority: &str) -> Option<bool> {
        self.reached.lock().expect("no holder panics").get(authority).copied()
    }

    /// Whether a trigger takes this for the address of an external scaler.
    fn is_external_scaler(&self, authority: &str) -> bool {
        self.triggers(|trigger| trigger["metadata"]["scalerAddress"] == authority).is_some()
    }

    /// The first trigger of this kind in the cluster.
    fn triggers(&self, is_wanted: impl Fn(&serde_json::Value) -> bool) -> Option<serde_json::Value> {
        let objects = self.plane.objects(&scaled_objects(), None);
        let triggers = objects.iter().flat_map(|object| object["spec"]["triggers"].as_array().into_iter().flatten());
        triggers.into_iter().find(|trigger| is_wanted(trigger)).cloned()
    }
}

pub(crate) fn scaled_objects() -> Gvr {
    Gvr::new("keda.sh", "v1alpha1", "scaledobjects")
}

fn answer(setting: Setting) -> Answer {
    match setting.health {
        Health::Works => Answer::Value(setting.value),
        Health::Broken => Answer::Error,
        Health::Hangs => Answer::Nothing,
    }
}

/// Host and port.
fn authority(uri: &::http::Uri) -> String {
    let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(default))
}

/// The connection, if there is a server.
async fn try_to_reach(uri: &::http::Uri) -> Option<BoxStream> {
    if uri.host().is_none_or(|host| host.ends_with(OWN_DOMAIN)) {
        return None;
    }
    // Time stands still while a blocking task runs, so that the limit is one of the machine's clock.
    let limit = tokio::task::spawn_blocking(|| std::thread::sleep(REACHED_WITHIN));
    tokio::select! {
        biased;
        connected = Connector::tcp().connect(uri.clone()) => connected.ok(),
        _ = limit => None,
    }
}
