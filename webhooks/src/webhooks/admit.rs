//! Admission of one request: by its kind, by what the update changes, with its neighbours.

use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::{ScaledJob, ScaledJobSpec};
use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_api::trigger::Trigger;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{INDEX_LIMIT, Webhooks};
use crate::change::{Change, ComparedObject};
use crate::lookups::{Failure, Served};
use crate::neighbours::{Neighbours, Workload};
use crate::review::{Request, Verdict};
use crate::routes::{Resource, Route};
use crate::rules::authentication::Scope;
use crate::rules::{self, Run, resource_requests};
use crate::telemetry::Action;
use crate::violation::Violation;

/// An object without its status, which is not validated.
#[derive(Debug, Deserialize)]
struct WithoutStatus<S> {
    #[serde(default)]
    metadata: ObjectMeta,
    spec: S,
}

/// The compared part of the stored object. One that cannot be decoded counts as one without triggers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredObject {
    spec: StoredSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredSpec {
    triggers: Vec<Trigger>,
}

impl Webhooks {
    pub(super) async fn admit(&self, route: &Route, request: &Request) -> Verdict {
        let action = match request.operation.as_str() {
            "CREATE" => Action::Create,
            "UPDATE" => Action::Update,
            "DELETE" | "CONNECT" => return Verdict::allow(),
            other => return Verdict::unreadable(format!("unknown operation request {other:?}")),
        };
        // The object is outside of the watched namespaces.
        if !request.namespace.is_empty() && !self.index.covers(&request.namespace) {
            return Verdict::allow();
        }
        let Some(object) = request.object.as_deref() else {
            return Verdict::unreadable("there is no object to decode");
        };
        let change = change(action, object, request.old_object.as_deref());
        // An update that changes nothing that a rule reads is not decoded.
        if change != Change::NeedsValidation {
            if change == Change::NothingToValidate && route.resource == Resource::ScaledObjects {
                self.telemetry.count_validation(&request.namespace, action);
            }
            return Verdict::allow();
        }
        let admitted = match route.resource {
            Resource::ScaledObjects => self.admit_scaled_object(request, object, action).await,
            Resource::ScaledJobs => self.admit_scaled_job(request, object, action),
            Resource::TriggerAuthentications => admit_authentication(object, Scope::Namespace),
            Resource::ClusterTriggerAuthentications => admit_authentication(object, Scope::Cluster),
        };
        admitted.unwrap_or_else(|verdict| verdict)
    }

    async fn admit_scaled_object(
        &self,
        request: &Request,
        object: &RawValue,
        action: Action,
    ) -> Result<Verdict, Verdict> {
        let WithoutStatus { metadata, spec } = decode::<ScaledObjectSpec>(object)?;
        let object = ScaledObject { metadata: with_request_name(metadata, request), spec, status: None };
        let run = if request.dry_run == Some(true) { Run::DryRun } else { Run::Real };
        self.telemetry.count_validation(&request.namespace, action);
        let neighbours = self.fetch_neighbours(&object, run).await.map_err(Verdict::failed)?;
        let violations = rules::scaled_object(&self.registry, &object, &stored_triggers(request), &neighbours, run);
        Ok(self.conclude(&request.namespace, action, &violations))
    }

    fn admit_scaled_job(&self, request: &Request, object: &RawValue, action: Action) -> Result<Verdict, Verdict> {
        let WithoutStatus { metadata, spec } = decode::<ScaledJobSpec>(object)?;
        let job = ScaledJob { metadata: with_request_name(metadata, request), spec, status: None };
        let violations = rules::scaled_job(&self.registry, &job, &stored_triggers(request));
        Ok(self.conclude(&request.namespace, action, &violations))
    }

    fn conclude(&self, namespace: &str, action: Action, violations: &[Violation]) -> Verdict {
        let verdict = Verdict::from_violations(violations);
        if matches!(verdict, Verdict::Deny { .. }) {
            self.telemetry.count_denial(namespace, action, violations);
        }
        verdict
    }

    /// Fetches what the rules need to know: from the index, and live where the index cannot have it.
    async fn fetch_neighbours(&self, object: &ScaledObject, run: Run) -> Result<Neighbours, Failure> {
        if !self.index.wait_until_synced_within(INDEX_LIMIT).await {
            return Err(Failure::internal("the admission webhooks have not synced with the cluster yet; retry"));
        }
        let mut neighbours = self.index.neighbours(object);
        neighbours.unserved = self.unserved(&object.spec, neighbours.hpas.iter().map(|hpa| &*hpa.kind.0)).await?;
        neighbours.workload = match (run, neighbours.workload) {
            (Run::DryRun, _) => Workload::Unknown,
            (Run::Real, Workload::Unknown) => self.fetch_workload(object).await?,
            (Run::Real, indexed) => indexed,
        };
        Ok(neighbours)
    }

    /// The requests of a target that the index does not have: it may have been created a moment ago.
    async fn fetch_workload(&self, object: &ScaledObject) -> Result<Workload, Failure> {
        let Some(kind) = resource_requests::workload_to_check(&object.spec) else { return Ok(Workload::Unknown) };
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let found = self.lookups.pod_resources(kind, namespace, &object.spec.scale_target_ref.name).await?;
        Ok(found.map_or(Workload::Missing, Workload::Found))
    }

    /// The kinds that the cluster does not serve: of the target, and of HPAs for targets of that name.
    async fn unserved(
        &self,
        spec: &ScaledObjectSpec,
        hpa_kinds: impl Iterator<Item = &str>,
    ) -> Result<Vec<(String, String)>, Failure> {
        fn parse(name: &str) -> (&str, &str) {
            let (version, kind) = name.rsplit_once('.').unwrap_or(("", name));
            (version.trim_start_matches('/'), kind)
        }
        let mut kinds = vec![spec.scale_target_ref.api_version_and_kind()];
        for kind in hpa_kinds.map(parse) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut unserved = Vec::new();
        for (api_version, kind) in kinds {
            // KEDA: assumes that these two are served, whatever their version.
            let is_assumed = matches!(kind, "Deployment" | "StatefulSet");
            if !is_assumed && self.lookups.serves(api_version, kind).await? == Served::No {
                unserved.push((api_version.to_owned(), kind.to_owned()));
            }
        }
        Ok(unserved)
    }
}

// KEDA: counts neither denials nor admissions of these.
fn admit_authentication(object: &RawValue, scope: Scope) -> Result<Verdict, Verdict> {
    let WithoutStatus { spec, .. } = decode::<TriggerAuthenticationSpec>(object)?;
    Ok(Verdict::from_violations(&rules::authentication::check(&spec, scope)))
}

fn decode<S: DeserializeOwned>(object: &RawValue) -> Result<WithoutStatus<S>, Verdict> {
    serde_json::from_str(object.get())
        .map_err(|error| Verdict::unreadable(format!("the object cannot be read: {error}")))
}

/// What the update changes. Objects that cannot be compared are validated.
fn change(action: Action, object: &RawValue, old: Option<&RawValue>) -> Change {
    let decode = |raw: &RawValue| serde_json::from_str::<ComparedObject>(raw.get()).ok();
    match (action, old.and_then(decode), decode(object)) {
        (Action::Update, Some(before), Some(after)) => Change::between(&before, &after),
        _ => Change::NeedsValidation,
    }
}

fn stored_triggers(request: &Request) -> Vec<Trigger> {
    let stored = request.old_object.as_deref().and_then(|old| serde_json::from_str::<StoredObject>(old.get()).ok());
    stored.unwrap_or_default().spec.triggers
}

/// The metadata, with the name and namespace of the request where the object has none.
fn with_request_name(mut metadata: ObjectMeta, request: &Request) -> ObjectMeta {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    metadata.namespace = metadata.namespace.or_else(|| given(&request.namespace));
    metadata.name = metadata.name.or_else(|| given(&request.name));
    metadata
}
