//! Dials for triggers whose sources speak a protocol that no stand-in speaks, as Redis does: while the source cannot be reached, the
//! scaler answers with the number of the dial.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::fallback::Failures;
use kedge_operator::scalers_cache::ExternalMetric;
use kedge_scalers::metadata::convert;
use kedge_scalers::{BoxFuture, Endpoint, Known, ReadError, Scaler, Substitute, TriggerConfig, registry};

use super::{Answer, Sources, answer};
use crate::dials::{has_number_dial, number_id};

/// How long a source that hangs is waited for, as by default.
const LIMIT: Duration = Duration::from_secs(3);

/// Puts dials in the place of scalers.
pub(super) struct NumberDials {
    pub(super) sources: Sources,
}

impl fmt::Debug for NumberDials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NumberDials")
    }
}

impl Substitute for NumberDials {
    fn substitute(&self, trigger: &TriggerConfig<'_>, built: Arc<dyn Scaler>) -> Arc<dyn Scaler> {
        if !has_number_dial(trigger.trigger_type) {
            return built;
        }
        Arc::new(DialScaler {
            dial: number_id(trigger.trigger_type, trigger.index, trigger.namespace, trigger.object),
            activation: activation(trigger),
            endpoint: endpoint(trigger.trigger_type, built.host().as_deref()),
            sources: self.sources.clone(),
            built,
        })
    }
}

/// A scaler, or the dial in its place.
struct DialScaler {
    built: Arc<dyn Scaler>,
    dial: String,
    activation: f64,
    endpoint: Endpoint,
    sources: Sources,
}

impl fmt::Debug for DialScaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DialScaler").field(&self.built).finish()
    }
}

impl Scaler for DialScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        self.built.describe()
    }

    fn read<'a>(&'a self, metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async move {
            match self.reaches_source().await {
                true => {
                    self.sources.numbers.lock().expect("no holder panics").remove(&self.dial);
                    self.built.read(metric, now).await
                }
                false => self.read_dial().await,
            }
        })
    }

    fn host(&self) -> Option<String> {
        self.built.host()
    }
}

impl DialScaler {
    async fn reaches_source(&self) -> bool {
        match self.built.host() {
            Some(host) => self.sources.reaches(&host).await,
            None => false,
        }
    }

    async fn read_dial(&self) -> Result<Known, ReadError> {
        let target = target(&self.built.describe().await?);
        self.sources.numbers.lock().expect("no holder panics").insert(self.dial.clone(), target);
        let endpoint = self.endpoint.clone();
        match answer(self.sources.dials.get(&self.dial)) {
            Answer::Value(value) => Ok(Known::above(self.activation, value)),
            Answer::Error => Err(ReadError::Refused { endpoint, message: "the source is broken".to_owned() }),
            Answer::Nothing => {
                tokio::time::sleep(LIMIT).await;
                Err(ReadError::Timeout { endpoint, limit: LIMIT })
            }
        }
    }
}

fn target(specs: &[MetricSpec]) -> f64 {
    let mut metrics = specs.iter().filter_map(|spec| ExternalMetric::from_spec(spec, |_| Failures::default()));
    metrics.next().map_or(1.0, |metric| metric.target.0 as f64 / 1000.0)
}

/// The value above which the trigger is active.
fn activation(trigger: &TriggerConfig<'_>) -> f64 {
    let field = registry::find(trigger.trigger_type).and_then(|known| known.activation);
    let text = field.and_then(|field| trigger.metadata.get(field));
    text.and_then(|text| convert::float(text.trim()).ok()).unwrap_or(0.0)
}

/// What the source is called in messages.
fn endpoint(trigger_type: &str, host: Option<&str>) -> Endpoint {
    let uri = format!("{trigger_type}://{}", host.unwrap_or("source")).parse();
    Endpoint::from_uri(&uri.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use kedge_api::trigger::Trigger;
    use kedge_dashboard::Health;
    use kedge_plane::{Options, Plane};
    use kedge_scalers::{Activity, AuthParams, Environment, NoCluster, Owner, Registry, Role, Settings};
    use serde_json::{Value, json};

    use super::super::SourceCa;
    use super::*;
    use crate::dials::Dials;

    const DIAL: &str = "redis of shop/web, trigger 0";

    fn sources() -> Sources {
        Sources::new(Plane::new(Options::default()), Arc::new(Dials::default()), SourceCa::new().unwrap())
    }

    fn build(sources: &Sources, trigger_type: &str, metadata: Value) -> Arc<dyn Scaler> {
        let registry = Registry::new(Settings::default(), sources.connector(), Arc::new(NoCluster));
        let trigger: Trigger = serde_json::from_value(json!({ "type": trigger_type, "metadata": metadata })).unwrap();
        let owner = Owner { namespace: "shop", name: "web", role: Role::Metric };
        let (auth, environment) = (AuthParams::default(), Environment::default());
        let config = TriggerConfig::new(owner, 0, &trigger).resolved(&auth, &environment, None);
        registry.with_substitute(sources.substitute()).build(&config).unwrap()
    }

    fn redis(address: &str) -> Value {
        json!({ "address": address, "listName": "jobs", "listLength": "20", "activationListLength": "5" })
    }

    #[tokio::test(start_paused = true)]
    async fn a_dial_gives_the_number_of_a_source_that_cannot_be_reached() {
        let sources = sources();
        let scaler = build(&sources, "redis", redis("redis.playground:6379"));
        let rows = [(5.0, Activity::Inactive), (70.0, Activity::Active)];
        for (value, activity) in rows {
            sources.dials.turn(DIAL, value);
            let read = scaler.read("s0-redis-jobs", Utc::now()).await;
            assert_eq!(read, Ok(Known { values: vec![value], activity }));
        }
        assert_eq!(sources.target_of_stand_in(DIAL), Some(20.0));
        for (health, reason) in [(Health::Broken, "SourceRefused"), (Health::Hangs, "SourceTimeout")] {
            sources.dials.set_health(DIAL, health);
            let error = scaler.read("s0-redis-jobs", Utc::now()).await.unwrap_err();
            assert_eq!(error.reason(), reason, "{error}");
        }
    }

    #[tokio::test]
    async fn a_source_that_can_be_reached_is_asked_and_its_outage_is_one() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // It accepts, and closes at once.
        tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        let sources = sources();
        let scaler = build(&sources, "redis", redis(&address));
        sources.dials.turn(DIAL, 70.0);
        assert!(scaler.read("s0-redis-jobs", Utc::now()).await.is_err());
        assert_eq!(sources.target_of_stand_in(DIAL), None, "there is no dial");
    }

    #[tokio::test(start_paused = true)]
    async fn sources_with_a_stand_in_of_their_protocol_keep_it() {
        let sources = sources();
        let metadata = json!({ "serverAddress": "http://prometheus.playground:9090", "query": "x", "threshold": "5" });
        let scaler = build(&sources, "prometheus", metadata);
        sources.dials.turn("prometheus.playground:9090 x", 12.0);
        assert_eq!(scaler.read("s0-prometheus", Utc::now()).await, Ok(Known::above(0.0, 12.0)));
        assert!(sources.is_stood_in("prometheus.playground:9090"));
    }
}
