//! One question, judged: by its kind, by what the update changes, with its neighbours.

use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::{ScaledJob, ScaledJobSpec};
use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_api::trigger::Trigger;
use kedge_core::hpa::render::hpa_name;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{INDEX_LIMIT, Webhooks};
use crate::change::{Change, Draft};
use crate::finding::Finding;
use crate::lookups::{Failure, Served};
use crate::neighbours::{Neighbours, Workload};
use crate::review::{Request, Verdict};
use crate::routes::{Resource, Route};
use crate::rules::authentication::Reach;
use crate::rules::{self, Run, requests};
use crate::telemetry::Action;

/// An object without its status, which is not ours to judge.
#[derive(Debug, Deserialize)]
struct Written<S> {
    #[serde(default)]
    metadata: ObjectMeta,
    spec: S,
}

/// As much of an old object as is compared. An old one that cannot be read counts as one without triggers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Before {
    spec: BeforeSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BeforeSpec {
    triggers: Vec<Trigger>,
}

impl Webhooks {
    pub(super) async fn judge(&self, route: &Route, question: &Request) -> Verdict {
        let action = match question.operation.as_str() {
            "CREATE" => Action::Create,
            "UPDATE" => Action::Update,
            "DELETE" | "CONNECT" => return Verdict::allow(),
            other => return Verdict::unreadable(format!("unknown operation request {other:?}")),
        };
        // Others look after it, if anybody does.
        if !question.namespace.is_empty() && !self.index.covers(&question.namespace) {
            return Verdict::allow();
        }
        let Some(object) = question.object.as_deref() else {
            return Verdict::unreadable("there is no object to decode");
        };
        let change = change(action, object, question.old_object.as_deref());
        // What changes nothing that could be wrong is not even read.
        if change != Change::ToBeJudged {
            if change == Change::NothingToJudge && route.resource == Resource::ScaledObjects {
                self.telemetry.judged(&question.namespace, action);
            }
            return Verdict::allow();
        }
        let judged = match route.resource {
            Resource::ScaledObjects => self.judge_scaled_object(question, object, action).await,
            Resource::ScaledJobs => self.judge_scaled_job(question, object, action),
            Resource::TriggerAuthentications => judge_authentication(object, Reach::Namespace),
            Resource::ClusterTriggerAuthentications => judge_authentication(object, Reach::Cluster),
        };
        judged.unwrap_or_else(|verdict| verdict)
    }

    async fn judge_scaled_object(
        &self,
        question: &Request,
        object: &RawValue,
        action: Action,
    ) -> Result<Verdict, Verdict> {
        let Written { metadata, spec } = decode::<ScaledObjectSpec>(object)?;
        let object = ScaledObject { metadata: placed(metadata, question), spec, status: None };
        let run = if question.dry_run == Some(true) { Run::Dry } else { Run::Real };
        self.telemetry.judged(&question.namespace, action);
        let neighbours = self.look_around(&object, run).await.map_err(Verdict::failed)?;
        let findings = rules::scaled_object(&self.registry, &object, &triggers_before(question), &neighbours, run);
        Ok(self.conclude(&question.namespace, action, &findings))
    }

    fn judge_scaled_job(&self, question: &Request, object: &RawValue, action: Action) -> Result<Verdict, Verdict> {
        let Written { metadata, spec } = decode::<ScaledJobSpec>(object)?;
        let job = ScaledJob { metadata: placed(metadata, question), spec, status: None };
        let findings = rules::scaled_job(&self.registry, &job, &triggers_before(question));
        Ok(self.conclude(&question.namespace, action, &findings))
    }

    fn conclude(&self, namespace: &str, action: Action, findings: &[Finding]) -> Verdict {
        let verdict = Verdict::of(findings);
        if matches!(verdict, Verdict::Deny { .. }) {
            self.telemetry.refused(namespace, action, findings);
        }
        verdict
    }

    /// Looks up what the rules need to know.
    async fn look_around(&self, object: &ScaledObject, run: Run) -> Result<Neighbours, Failure> {
        if !self.index.wait_until_complete(INDEX_LIMIT).await {
            return Err(Failure::internal("the admission webhooks do not know the cluster yet; try again"));
        }
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let target = object.spec.scale_target_ref.name.as_str();
        let hpas = self.index.hpas(namespace, target);
        Ok(Neighbours {
            unserved: self.unserved(&object.spec, hpas.iter().map(|hpa| &*hpa.kind.0)).await?,
            same_target: self.index.same_target(namespace, target, name),
            same_hpa: self.index.same_hpa(namespace, &hpa_name(object), name),
            hpas,
            workload: if run == Run::Real { self.workload(&object.spec, namespace).await? } else { Workload::Unknown },
            defaults: self.index.defaults(namespace),
        })
    }

    /// The target's containers, if rules ask for them: from the index, else live.
    async fn workload(&self, spec: &ScaledObjectSpec, namespace: &str) -> Result<Workload, Failure> {
        let Some(kind) = requests::wanted(spec) else { return Ok(Workload::Unknown) };
        let name = spec.scale_target_ref.name.as_str();
        let known = self.index.containers(kind, namespace, name);
        let found = match known {
            Some(containers) => Some(containers),
            // It may have been applied a moment before.
            None => self.lookups.containers(kind, namespace, name).await?,
        };
        Ok(found.map_or(Workload::Missing, Workload::Containers))
    }

    /// The kinds that the cluster does not serve: of the target, and of HPAs for targets of that name.
    async fn unserved(
        &self,
        spec: &ScaledObjectSpec,
        words: impl Iterator<Item = &str>,
    ) -> Result<Vec<(String, String)>, Failure> {
        let parse = |word: &str| {
            let (version, kind) = word.rsplit_once('.').unwrap_or(("", word));
            (version.trim_start_matches('/').to_owned(), kind.to_owned())
        };
        let mut kinds = vec![spec.scale_target_ref.api_version_and_kind()];
        for kind in words.map(parse) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut unserved = Vec::new();
        for (api_version, kind) in kinds {
            // KEDA: these two are taken for granted, whatever their version.
            let is_granted = matches!(kind.as_str(), "Deployment" | "StatefulSet");
            if !is_granted && self.lookups.serves(&api_version, &kind).await? == Served::No {
                unserved.push((api_version, kind));
            }
        }
        Ok(unserved)
    }
}

// KEDA: counts neither denials nor admissions of these.
fn judge_authentication(object: &RawValue, reach: Reach) -> Result<Verdict, Verdict> {
    let Written { spec, .. } = decode::<TriggerAuthenticationSpec>(object)?;
    Ok(Verdict::of(&rules::authentication::check(&spec, reach)))
}

fn decode<S: DeserializeOwned>(object: &RawValue) -> Result<Written<S>, Verdict> {
    serde_json::from_str(object.get())
        .map_err(|error| Verdict::unreadable(format!("the object cannot be read: {error}")))
}

/// What the update changes. What cannot be compared is judged.
fn change(action: Action, object: &RawValue, old: Option<&RawValue>) -> Change {
    let draft = |raw: &RawValue| serde_json::from_str::<Draft>(raw.get()).ok();
    match (action, old.and_then(draft), draft(object)) {
        (Action::Update, Some(before), Some(after)) => Change::of(&before, &after),
        _ => Change::ToBeJudged,
    }
}

fn triggers_before(question: &Request) -> Vec<Trigger> {
    let before = question.old_object.as_deref().and_then(|old| serde_json::from_str::<Before>(old.get()).ok());
    before.unwrap_or_default().spec.triggers
}

/// The metadata with the name and namespace that the request gives, where the object leaves them out.
fn placed(mut metadata: ObjectMeta, question: &Request) -> ObjectMeta {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    metadata.namespace = metadata.namespace.or_else(|| given(&question.namespace));
    metadata.name = metadata.name.or_else(|| given(&question.name));
    metadata
}
