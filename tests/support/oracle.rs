//! Cases that KEDA's own scalers were asked about (`tests/golden/oracle`), built and read by Kedge.
//!
//! `differences` lists where the two may differ. Every other difference fails a test, and so does a listed one that is not there.

mod differences;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use kedge_api::authentication::PodIdentity;
use kedge_core::credentials::{Reference, ReferenceContent, ReferenceKind};
use kedge_core::quantity::{Quantity, format_float};
use kedge_core::secret::Secret;
use kedge_scalers::{
    Activity, AuthParams, BoxFuture, BuildError, ClusterReads, Connector, Environment, NoCluster, PodCount, ReadError,
    Registry, Resolution, Role, Scaler, ServiceEndpoint, Settings, TriggerConfig,
};
use kedge_test_cluster::oracle::Family;
use kedge_test_cluster::oracle::case::{Case, Object, Reading, Recorded};
use serde_json::json;

pub use self::differences::{DIFFERENCES, Difference, Kind};
use crate::files;
use crate::pattern::fits;

/// The limit of a reading; a busy machine is slow.
const LIMIT: Duration = Duration::from_secs(20);

/// The answers of KEDA's scalers to the cases of a family.
pub fn recorded(family: Family) -> Vec<Recorded> {
    let text = files::golden(&format!("oracle/{}.jsonl", family.name()));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

/// What builds the scalers of cases with these objects in their cluster.
pub fn registry(objects: &[Object]) -> Registry {
    let settings = Settings { http_timeout: LIMIT, ..Settings::default() };
    Registry::new(settings, Connector::tcp(), Arc::new(Objects(objects.to_vec())))
}

/// The scaler of a case.
pub fn build(registry: &Registry, case: &Case) -> Result<Arc<dyn Scaler>, BuildError> {
    let auth: AuthParams = case.auth.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let environment: Environment = case.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let pod_identity: Option<PodIdentity> = (!case.pod_identity.is_empty()).then(|| {
        serde_json::from_value(json!({ "provider": case.pod_identity })).expect("cases name providers that there are")
    });
    registry.build(&TriggerConfig {
        index: case.trigger_index,
        trigger_type: &case.r#type,
        name: None,
        metadata: &case.metadata,
        auth: &auth,
        environment: &environment,
        metric_type: Some(case.metric_type.as_str()).filter(|metric_type| !metric_type.is_empty()),
        namespace: "default",
        object: "web",
        pod_identity: pod_identity.as_ref(),
        role: if case.as_metric_source { Role::FormulaInput } else { Role::Metric },
        resolution: Resolution::Complete,
    })
}

/// A difference that was found: what kind it is, and both answers.
#[derive(Debug)]
pub struct Found {
    pub kind: Kind,
    pub answers: String,
}

impl Found {
    fn new(kind: Kind, keda: &str, kedge: &str) -> Option<Self> {
        Some(Self { kind, answers: format!("KEDA {keda:?}, Kedge {kedge:?}") })
    }
}

/// Compares what is built: the verdict, and then the metric and its target.
pub async fn compare_built(recorded: &Recorded, built: &Result<Arc<dyn Scaler>, BuildError>) -> Option<Found> {
    let keda = &recorded.keda;
    let scaler = match (keda.build_error.as_str(), built) {
        ("", Ok(scaler)) => scaler,
        ("", Err(error)) => return Found::new(Kind::KedgeRefuses, &keda.metric, &error.to_string()),
        (error, Ok(_)) => return Found::new(Kind::KedgeBuilds, error, "is built"),
        (_, Err(_)) => return None,
    };
    let specs = scaler.describe().await.unwrap_or_else(|error| panic!("{}: {error}", recorded.case.name));
    let external = specs[0].external.as_ref().expect("an External metric");
    if external.metric.name != keda.metric {
        return Found::new(Kind::Metric, &keda.metric, &external.metric.name);
    }
    // A formula has a target of its own.
    if recorded.case.as_metric_source {
        return None;
    }
    let amount = external.target.average_value.as_ref().or(external.target.value.as_ref());
    let amount = amount.map(|quantity| canonical(&quantity.0)).unwrap_or_default();
    let theirs = format!("{} {}", keda.target_type, canonical(&keda.target));
    let ours = format!("{} {amount}", external.target.type_);
    (theirs != ours).then(|| Found::new(Kind::Target, &theirs, &ours)).flatten()
}

/// Compares the last reading of a scaler with KEDA's. Where KEDA did not build it, as it connects before, there is none.
pub async fn compare_reading(recorded: &Recorded, scaler: &dyn Scaler) -> Option<Found> {
    let mut ours = Reading::default();
    for _ in 0..recorded.case.reads {
        ours = read(scaler).await;
    }
    let not_built = Reading { error: recorded.keda.build_error.clone(), ..Reading::default() };
    let theirs = recorded.keda.reading.as_ref().unwrap_or(&not_built);
    let is_same = match (theirs.error.is_empty(), ours.error.is_empty()) {
        (true, true) => values(theirs) == values(&ours) && theirs.active == ours.active,
        (theirs, ours) => theirs == ours,
    };
    (!is_same).then(|| Found::new(Kind::Reading, &shown(theirs), &shown(&ours))).flatten()
}

async fn read(scaler: &dyn Scaler) -> Reading {
    match scaler.read("", Utc::now()).await {
        Err(error) => Reading { error: error.to_string(), ..Reading::default() },
        Ok(known) => Reading {
            error: String::new(),
            values: known.values.iter().map(|value| format_float(*value)).collect(),
            active: known.activity == Activity::Active,
        },
    }
}

fn values(reading: &Reading) -> Vec<String> {
    reading.values.iter().map(|value| canonical(value)).collect()
}

fn shown(reading: &Reading) -> String {
    match reading.error.as_str() {
        "" => format!("{} {}", values(reading).join(" "), if reading.active { "active" } else { "inactive" }),
        error => error.to_owned(),
    }
}

fn canonical(quantity: &str) -> String {
    Quantity::parse(quantity).map_or_else(|_| quantity.to_owned(), |quantity| quantity.canonical())
}

/// What is wrong with the differences that were found: they are not listed, or others are. `kinds` are those that were compared.
pub fn verify(family: Family, cases: &[Recorded], found: &BTreeMap<&str, Found>, kinds: &[Kind]) -> Vec<String> {
    let listed = |name: &str, kind: Kind| {
        let fitting = DIFFERENCES.iter().filter(|difference| difference.family == family && difference.kind == kind);
        fitting.flat_map(|difference| difference.cases).any(|pattern| fits(name, pattern))
    };
    let mut problems: Vec<String> = found
        .iter()
        .filter(|(name, found)| !listed(name, found.kind))
        .map(|(name, found)| format!("{name}: {:?} is not listed: {}", found.kind, found.answers))
        .collect();
    let compared =
        DIFFERENCES.iter().filter(|difference| difference.family == family && kinds.contains(&difference.kind));
    for difference in compared {
        for pattern in difference.cases {
            let fitting = cases.iter().map(|recorded| recorded.case.name.as_str()).filter(|name| fits(name, pattern));
            let fitting: Vec<&str> = fitting.collect();
            if fitting.is_empty() {
                problems.push(format!("no case fits {pattern:?}"));
            }
            let gone =
                fitting.into_iter().filter(|name| found.get(name).is_none_or(|found| found.kind != difference.kind));
            problems.extend(gone.map(|name| format!("{name}: {:?} is listed, and is not there", difference.kind)));
        }
    }
    problems
}

/// The cluster of a case.
#[derive(Debug)]
struct Objects(Vec<Object>);

impl ClusterReads for Objects {
    fn pods<'a>(&'a self, namespace: &'a str, selector: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        NoCluster.pods(namespace, selector)
    }

    fn endpoints<'a>(
        &'a self,
        namespace: &'a str,
        service: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        NoCluster.endpoints(namespace, service)
    }

    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        let kind = if reference.kind == ReferenceKind::Secret { "Secret" } else { "ConfigMap" };
        let object = self.0.iter().find(|object| object.kind == kind && object.name == reference.name);
        let content = object.map_or(ReferenceContent::Missing, |object| {
            let data = object.data.iter().map(|(key, text)| (key.clone(), Some(Secret::new(text.clone()))));
            ReferenceContent::Data(data.collect())
        });
        Box::pin(std::future::ready(Ok(content)))
    }
}
