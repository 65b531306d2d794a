//! The issues of the objects in a cluster, found by the code that would run them. `installation` finds those of KEDA's installation.

mod installation;

use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_object::ScaleTargetRef;
use kedge_operator::credentials::resolve;
use kedge_webhooks::rules::trigger_types;
use kedge_webhooks::violation::Severity;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::plan::Owner;
use super::report::{Issue, Report, Subject, Verdict};
use super::snapshot::Snapshot;
use crate::validation::{ValidationContext, Validator};

pub(super) fn assess(snapshot: &Snapshot, to: &Owner) -> Report {
    let mut report = Report { facts: installation::facts(snapshot), ..Report::default() };
    let context = ValidationContext::new();
    let validator = Validator::with_objects(&context, snapshot.objects.iter());
    for object in &snapshot.objects {
        let is_kedas = object["apiVersion"].as_str().is_some_and(|version| version.contains("keda.sh/"));
        report.objects += usize::from(is_kedas);
        report.issues.extend(assess_object(&validator, object, snapshot, to));
    }
    report.issues.extend(installation::assess(snapshot, to));
    report.issues.sort();
    report
}

fn assess_object(validator: &Validator<'_>, object: &Value, snapshot: &Snapshot, to: &Owner) -> Vec<Issue> {
    let about = Subject { verdict: Verdict::WouldNotWork, object };
    let mut issues: Vec<Issue> = validator
        .validate(object)
        .unwrap_or_default()
        .into_iter()
        .filter(is_blocking)
        .map(|found| about.issue(&found.path.to_string(), found.problem, found.remedy))
        .collect();
    match object["kind"].as_str().unwrap_or_default() {
        "ScaledObject" => issues.extend(custom_target(object, snapshot)),
        "ScaledJob" => {
            let (problem, remedy) =
                kedge_operator::scaled_job::unsupported::MESSAGE.split_once("; ").unwrap_or_default();
            issues.push(about.issue("", problem, remedy));
        }
        "CloudEventSource" | "ClusterCloudEventSource" => {
            issues.push(about.issue("", "Kedge sends no CloudEvents", "watch Kubernetes events or metrics instead"));
        }
        "TriggerAuthentication" => issues.extend(authentication(object)),
        "ClusterTriggerAuthentication" => {
            issues.extend(authentication(object));
            issues.extend(namespace_changes(object, snapshot, to));
        }
        "ValidatingWebhookConfiguration" if object["metadata"]["name"] == "keda-admission" => {
            issues.extend(installation::strict_webhooks(object));
        }
        _ => {}
    }
    issues
}

/// Whether a violation keeps an object from working; `kedge lint` reports the others.
fn is_blocking(issue: &kedge_webhooks::violation::Violation) -> bool {
    let lacking = [trigger_types::UNSUPPORTED_TRIGGER_TYPE.id, trigger_types::UNKNOWN_TRIGGER_TYPE.id];
    issue.rule.severity == Severity::Error || lacking.contains(&issue.rule.id)
}

/// The targets of all ScaledObjects.
pub(super) fn targets(objects: &[Value]) -> impl Iterator<Item = ScaleTargetRef> {
    let scaled = objects.iter().filter(|object| object["kind"] == "ScaledObject");
    scaled.filter_map(decode::<ScaledObject>).map(|object| object.spec.scale_target_ref)
}

/// Target kinds for which the chart has no RBAC rules by default.
fn custom_target(object: &Value, snapshot: &Snapshot) -> Option<Issue> {
    let target = decode::<ScaledObject>(object)?.spec.scale_target_ref;
    let (version, kind) = target.api_version_and_kind();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if group == "apps" && (kind == "Deployment" || kind == "StatefulSet") {
        return None;
    }
    let guess = || format!("{}s", kind.to_lowercase());
    let plural = snapshot.resources.get(&(version.to_owned(), kind.to_owned())).cloned().unwrap_or_else(guess);
    let remedy = format!("add {{apiGroup: {group:?}, kind: {plural}}} to rbac.scaledRefKinds when you install Kedge");
    let problem = format!("scales a {kind} of {version}, for which the chart of Kedge has no RBAC rule");
    Some(Subject { verdict: Verdict::ToDo, object }.issue("spec.scaleTargetRef", problem, remedy))
}

fn authentication(object: &Value) -> Vec<Issue> {
    let Some(spec) = decode::<TriggerAuthenticationSpec>(&object["spec"]) else { return Vec::new() };
    let lacking = Subject { verdict: Verdict::WouldNotWork, object };
    let lacking = resolve::unsupported(&spec)
        .map(|field| lacking.issue(&format!("spec.{field}"), "is not supported yet", resolve::UNSUPPORTED_REMEDY));
    let mut issues: Vec<Issue> = lacking.collect();
    let tokens = spec.bound_service_account_token.iter().flatten();
    let tokens = tokens.map(|token| ("boundServiceAccountToken", &token.service_account_name));
    let vault = spec.hashi_corp_vault.as_ref().and_then(|vault| vault.credential.as_ref());
    let vault = vault.and_then(|credential| credential.service_account_name.as_ref());
    for (field, account) in tokens.chain(vault.map(|account| ("hashiCorpVault.credential.serviceAccountName", account)))
    {
        let problem = format!("needs the permission to create tokens of the service account {account}");
        let remedy = "name it in permissions.operator.restrict.serviceAccountTokenCreationRoles, and with its audience in \
                      serviceAccountTokens.audiences, when you install Kedge";
        let about = Subject { verdict: Verdict::ToDo, object };
        issues.push(about.issue(&format!("spec.{field}"), problem, remedy));
    }
    issues
}

/// The Secrets and ConfigMaps of a ClusterTriggerAuthentication are in the namespace of the operator, which changes.
fn namespace_changes(object: &Value, snapshot: &Snapshot, to: &Owner) -> Option<Issue> {
    let spec = decode::<TriggerAuthenticationSpec>(&object["spec"])?;
    let here = &snapshot.releases.iter().find(|(owner, _)| owner != to)?.0.namespace;
    let secrets = spec.secret_target_ref.iter().flatten().map(|one| ("secretTargetRef", "Secret", &one.name));
    let maps = spec.config_map_target_ref.iter().flatten().map(|one| ("configMapTargetRef", "ConfigMap", &one.name));
    let (field, kind, name) = secrets.chain(maps).next()?;
    (*here != to.namespace).then(|| {
        let problem = format!("the {kind} {name} is read from the namespace of the operator, which will be {}", to.namespace);
        let remedy = format!(
            "copy it from {here}, or set env to [{{name: KEDA_CLUSTER_OBJECT_NAMESPACE, value: {here}}}] when you install Kedge"
        );
        Subject { verdict: Verdict::ToDo, object }.issue(&format!("spec.{field}"), problem, remedy)
    })
}

fn decode<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[cfg(test)]
#[path = "survey/tests.rs"]
mod tests;
