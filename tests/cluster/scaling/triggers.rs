//! Scalers of single triggers, built as the operator builds them, against real sources.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use kedge_scalers::{
    Activity, AuthParams, Connector, Environment, Known, NoCluster, ReadError, Registry, Resolution, Role, Scaler,
    Settings, TriggerConfig,
};

/// The limit of a reading; a busy machine is slow.
const LIMIT: Duration = Duration::from_secs(20);

pub(super) fn settings() -> Settings {
    Settings { http_timeout: LIMIT, ..Settings::default() }
}

pub(super) fn registry() -> Registry {
    Registry::new(settings(), Connector::tcp(), Arc::new(NoCluster))
}

pub(super) fn build(
    registry: &Registry,
    trigger_type: &str,
    metadata: &[(&str, &str)],
    auth: &[(&str, &str)],
) -> Arc<dyn Scaler> {
    let metadata: BTreeMap<String, String> =
        metadata.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let auth: AuthParams = auth.iter().copied().collect();
    let environment = Environment::default();
    let trigger = TriggerConfig {
        index: 0,
        trigger_type,
        name: None,
        metadata: &metadata,
        auth: &auth,
        environment: &environment,
        metric_type: None,
        namespace: "shop",
        object: "web",
        pod_identity: None,
        role: Role::Metric,
        resolution: Resolution::Complete,
    };
    registry.build(&trigger).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) async fn read(scaler: &dyn Scaler) -> Result<Known, ReadError> {
    scaler.read("", Utc::now()).await
}

pub(super) async fn value(scaler: &dyn Scaler) -> (f64, bool) {
    let known = read(scaler).await.unwrap_or_else(|error| panic!("{error}"));
    (known.values[0], known.activity == Activity::Active)
}
