//! One trigger: its credentials resolved, its scaler built, and its source asked, each as the operator does it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::future::join_all;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_api::trigger::Trigger;
use kedge_cluster::target::{ScaleTarget, ScaleTargets};
use kedge_cluster::{NamespacedName, TargetKind};
use kedge_core::credentials::{CredentialError, Reference, ReferenceContent};
use kedge_core::fallback::{Failures, MetricType};
use kedge_core::formula::settings::has_modifiers;
use kedge_operator::KubeReads;
use kedge_operator::credentials::{CredentialSources, Resolved};
use kedge_operator::scalers_builder::target_problem;
use kedge_operator::scalers_cache::ExternalMetric;
use kedge_scalers::metadata::convert;
use kedge_scalers::{
    AuthParams, BoxFuture, ClusterReads, Connector, Owner, PodCount, ReadError, Registry, Role, Scaler,
    ServiceEndpoint, TriggerConfig, UnexpectedParameters, registry,
};
use kube::Client;

use super::files::assumed_kind;
use super::objects::CheckedObject;
use super::remedy;
use super::report::{MetricReport, Problem, TriggerReport, TriggerResult};
use crate::settings::Settings;

/// What the client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    FilesAlone,
    Cluster,
}

/// Asks the sources of triggers.
pub(super) struct Asker {
    registry: Registry,
    sources: CredentialSources,
    /// Where kinds of targets are looked up, if there is a cluster.
    targets: Option<ScaleTargets>,
    /// The parameters of the command line.
    given: AuthParams,
}

impl Asker {
    pub(super) fn new(
        settings: &Settings,
        timeout: Option<Duration>,
        client: Client,
        reach: Reach,
        given: AuthParams,
    ) -> Self {
        let (mut scalers, warnings) = settings.scalers();
        for warning in warnings.iter().chain(&settings.notices.warnings) {
            eprintln!("warning: {warning}");
        }
        scalers.http_timeout = timeout.unwrap_or(scalers.http_timeout);
        let credentials = settings.operator().credentials;
        let reads = KubeReads::new(client.clone(), credentials.clone());
        let reads: Arc<dyn ClusterReads> = match reach {
            Reach::Cluster => Arc::new(reads),
            Reach::FilesAlone => Arc::new(FilesAlone(reads)),
        };
        let registry =
            Registry::new(scalers, Connector::tcp(), reads).with_unexpected_parameters(UnexpectedParameters::Reported);
        let targets = (reach == Reach::Cluster).then(|| ScaleTargets::new(client.clone()));
        let sources = CredentialSources::new(client, credentials, registry.exchange());
        Self { registry, sources, targets, given }
    }

    /// Asks the sources of these triggers of an object, all at once.
    pub(super) async fn ask(&self, object: &CheckedObject, indices: &[usize], at: DateTime<Utc>) -> Vec<TriggerReport> {
        let target = ScaleTarget {
            kind: self.target_kind(object).await,
            key: NamespacedName::new(&object.namespace, object.target().name),
        };
        let mut resolution = self.sources.begin(&object.namespace, object.env_source_container(), &target);
        let mut asked = Vec::new();
        for (index, trigger) in object.triggers().iter().enumerate().filter(|(index, _)| indices.contains(index)) {
            let resolved = resolution.resolve(trigger).await;
            asked.push(self.ask_one(object, index, trigger, resolved, at));
        }
        join_all(asked).await
    }

    /// The kind of the target. One that the cluster does not know is reported where its variables are needed.
    async fn target_kind(&self, object: &CheckedObject) -> Arc<TargetKind> {
        let reference = object.target();
        let known = match (&self.targets, object.scaled_object()) {
            (Some(targets), Some(_)) => targets.resolve_kind(&reference).await.ok(),
            _ => None,
        };
        known.unwrap_or_else(|| Arc::new(assumed_kind(&reference)))
    }

    async fn ask_one(
        &self,
        object: &CheckedObject,
        index: usize,
        trigger: &Trigger,
        resolved: Result<Resolved, Vec<CredentialError>>,
        at: DateTime<Utc>,
    ) -> TriggerReport {
        let started_at = Instant::now();
        let (mut warnings, resolved) = (self.registry.report_unexpected_parameters(trigger), self.complete(resolved));
        warnings.extend(resolved.as_ref().ok().into_iter().flat_map(|(_, unresolved)| unresolved.clone()));
        let result = match resolved {
            Ok((resolved, _)) => self.query(object, index, trigger, &resolved, at).await,
            Err(problems) => Err(problems),
        };
        TriggerReport {
            index,
            trigger_type: trigger.r#type.clone(),
            name: trigger.name.clone().filter(|name| !name.is_empty()),
            activation: activation(trigger),
            result: result.unwrap_or_else(TriggerResult::NotAsked),
            warnings,
            took: started_at.elapsed(),
        }
    }

    /// The credentials with those of the command line, and warnings about what these must replace.
    fn complete(
        &self,
        resolved: Result<Resolved, Vec<CredentialError>>,
    ) -> Result<(Resolved, Vec<String>), Vec<Problem>> {
        match resolved {
            Ok(resolved) => Ok((Resolved { auth: resolved.auth.overridden_by(&self.given), ..resolved }, Vec::new())),
            Err(problems) if self.given.is_empty() => Err(problems.iter().map(remedy::of_credentials).collect()),
            Err(problems) => {
                let only = |problem: &CredentialError| format!("only what --auth gives is used: {problem}");
                let resolved = Resolved { auth: self.given.clone(), ..Resolved::default() };
                Ok((resolved, problems.iter().map(only).collect()))
            }
        }
    }

    async fn query(
        &self,
        object: &CheckedObject,
        index: usize,
        trigger: &Trigger,
        resolved: &Resolved,
        at: DateTime<Utc>,
    ) -> Result<TriggerResult, Vec<Problem>> {
        let has_formula = object.scaled_object().is_some_and(|scaled| has_modifiers(&scaled.spec));
        let role = if has_formula { Role::FormulaInput } else { Role::Metric };
        let owner = Owner { namespace: &object.namespace, name: &object.name, role };
        let config = TriggerConfig::new(owner, index, trigger);
        let config = config.resolved(&resolved.auth, &resolved.environment, resolved.identity.as_ref());
        let built = self.registry.build(&config).map_err(|error| {
            // What is missing may be what could not be found.
            let absent = resolved.absent.iter().map(remedy::of_credentials);
            absent.chain(error.errors.into_iter().map(remedy::of_field)).collect::<Vec<_>>()
        });
        let scaler = built?;
        if let Some(resource) = registry::class_of(&trigger.r#type).and_then(|class| class.resource()) {
            return Ok(TriggerResult::LeftToHpa { resource: resource.name() });
        }
        let specs = scaler.describe().await.map_err(|error| vec![remedy::of_reading(&error)])?;
        if let Some(problem) = target_problem(&specs).filter(|_| !has_formula) {
            return Err(vec![remedy::of_text(&problem)]);
        }
        let metrics = specs.iter().map(|spec| read_metric(scaler.as_ref(), spec, at));
        Ok(TriggerResult::Asked(join_all(metrics).await.into_iter().flatten().collect()))
    }
}

async fn read_metric(scaler: &dyn Scaler, spec: &MetricSpec, at: DateTime<Utc>) -> Option<MetricReport> {
    let metric = ExternalMetric::from_spec(spec, |_| Failures::default())?;
    let answer = scaler.read(&metric.name, at).await.map_err(|error| remedy::of_reading(&error));
    let (metric_type, target): (MetricType, _) = (metric.metric_type, metric.target);
    Some(MetricReport { name: metric.name, metric_type, target, spec: spec.clone(), answer })
}

/// The value above which a trigger is active. Types whose sources decide about that have none.
fn activation(trigger: &Trigger) -> Option<f64> {
    let field = registry::find(&trigger.r#type)?.activation?;
    let given = trigger.metadata.get(field).and_then(|text| convert::float(text.trim()).ok());
    Some(given.unwrap_or(0.0))
}

/// For triggers that read the cluster, where there are only single objects of it.
#[derive(Debug)]
struct FilesAlone(KubeReads);

impl ClusterReads for FilesAlone {
    fn pods<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        Box::pin(std::future::ready(Err(no_cluster("pods"))))
    }

    fn endpoints<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        Box::pin(std::future::ready(Err(no_cluster("EndpointSlices"))))
    }

    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        self.0.content(reference)
    }
}

fn no_cluster(what: &'static str) -> ReadError {
    ReadError::Cluster { what, problem: "none is chosen; add --from-cluster".to_owned() }
}
