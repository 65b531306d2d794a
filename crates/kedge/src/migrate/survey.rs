//! What there is in a cluster, judged: by the code that would run it, wherever there is such code. How KEDA was installed is looked at in
//! `installation`.

mod installation;

use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_operator::credentials::resolve;
use kedge_webhooks::finding::Severity;
use kedge_webhooks::rules::kinds;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::plan::{Live, Owner};
use super::release::{Release, ReleaseError};
use super::report::{Finding, Report, Verdict};
use crate::lint::judge::{Judge, Tools};
use crate::lint::name_of;

/// Where objects of a kind are listed.
pub(super) struct Path {
    pub(super) api: &'static str,
    pub(super) plural: &'static str,
}

/// All that is listed: KEDA's kinds, and the neighbours that its rules look at.
pub(super) const PATHS: &[Path] = &[
    Path { api: "apis/keda.sh/v1alpha1", plural: "scaledobjects" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "scaledjobs" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "triggerauthentications" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "clustertriggerauthentications" },
    Path { api: "apis/eventing.keda.sh/v1alpha1", plural: "cloudeventsources" },
    Path { api: "apis/eventing.keda.sh/v1alpha1", plural: "clustercloudeventsources" },
    Path { api: "apis/autoscaling/v2", plural: "horizontalpodautoscalers" },
    Path { api: "apis/apps/v1", plural: "deployments" },
    Path { api: "apis/apps/v1", plural: "statefulsets" },
    Path { api: "api/v1", plural: "limitranges" },
    Path { api: "apis/admissionregistration.k8s.io/v1", plural: "validatingwebhookconfigurations" },
];

/// The newest revision of a release.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    revision: u32,
    status: String,
    manifest: String,
}

impl Stored {
    pub(super) fn read(revision: u32, release: &Release) -> Result<Self, ReleaseError> {
        Ok(Self { revision, status: release.status()?, manifest: release.manifest()? })
    }
}

/// What was seen of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) live: Vec<Live>,
    /// The releases that own any of it; without what Helm stored where it is gone, or stored elsewhere.
    pub(super) releases: Vec<(Owner, Option<Stored>)>,
    pub(super) objects: Vec<Value>,
}

pub(super) fn judge(seen: &Seen, to: &Owner) -> Report {
    let mut report = Report { facts: installation::facts(seen), ..Report::default() };
    let tools = Tools::new();
    let judge = Judge::knowing(&tools, seen.objects.iter());
    for object in &seen.objects {
        let is_kedas = object["apiVersion"].as_str().is_some_and(|version| version.contains("keda.sh/"));
        report.objects += usize::from(is_kedas);
        report.findings.extend(judge_object(&judge, object, seen, to));
    }
    report.findings.extend(installation::judge(seen, to));
    report.findings.sort();
    report
}

fn judge_object(judge: &Judge<'_>, object: &Value, seen: &Seen, to: &Owner) -> Vec<Finding> {
    let about = About { verdict: Verdict::WouldNotWork, object };
    let mut findings: Vec<Finding> = judge
        .judge(object)
        .unwrap_or_default()
        .into_iter()
        .filter(is_refused)
        .map(|found| about.finding(&found.path.to_string(), found.problem, found.remedy))
        .collect();
    match object["kind"].as_str().unwrap_or_default() {
        "ScaledObject" => findings.extend(custom_target(object)),
        "ScaledJob" => {
            let (problem, remedy) = kedge_operator::jobs::MESSAGE.split_once("; ").unwrap_or_default();
            findings.push(about.finding("", problem, remedy));
        }
        "CloudEventSource" | "ClusterCloudEventSource" => {
            findings.push(about.finding(
                "",
                "Kedge sends no CloudEvents",
                "watch Kubernetes events or metrics instead",
            ));
        }
        "TriggerAuthentication" => findings.extend(authentication(object)),
        "ClusterTriggerAuthentication" => {
            findings.extend(authentication(object));
            findings.extend(elsewhere(object, seen, to));
        }
        "ValidatingWebhookConfiguration" if object["metadata"]["name"] == "keda-admission" => {
            findings.extend(installation::strict_webhooks(object));
        }
        _ => {}
    }
    findings
}

/// What keeps an object from working; the rest is for `kedge lint` to say.
fn is_refused(finding: &kedge_webhooks::finding::Finding) -> bool {
    let lacking = [kinds::TYPE_UNSUPPORTED.id, kinds::TYPE_UNKNOWN.id];
    finding.rule.severity == Severity::Error || lacking.contains(&finding.rule.id)
}

/// Kinds that the chart gives no rights on by itself.
fn custom_target(object: &Value) -> Option<Finding> {
    let target = read::<ScaledObject>(object)?.spec.scale_target_ref;
    let kind = target.kind.filter(|kind| !kind.is_empty()).unwrap_or_else(|| "Deployment".to_owned());
    let version = target.api_version.filter(|version| !version.is_empty()).unwrap_or_else(|| "apps/v1".to_owned());
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if group == "apps" && (kind == "Deployment" || kind == "StatefulSet") {
        return None;
    }
    let plural = format!("{}s", kind.to_lowercase());
    let remedy = format!("set rbac.scaledRefKinds to [{{apiGroup: {group:?}, kind: {plural}}}] when you install Kedge");
    let problem = format!("scales a {kind} of {version}, which the chart of Kedge gives no right to");
    Some(About { verdict: Verdict::ToDo, object }.finding("spec.scaleTargetRef", problem, remedy))
}

fn authentication(object: &Value) -> Vec<Finding> {
    let Some(spec) = read::<TriggerAuthenticationSpec>(&object["spec"]) else { return Vec::new() };
    let lacking = About { verdict: Verdict::WouldNotWork, object };
    let lacking = resolve::unsupported(&spec)
        .map(|field| lacking.finding(&format!("spec.{field}"), "is not supported yet", resolve::UNSUPPORTED_REMEDY));
    let mut findings: Vec<Finding> = lacking.collect();
    for token in spec.bound_service_account_token.iter().flatten() {
        let problem = format!("needs the right to make tokens of the service account {}", token.service_account_name);
        let remedy = "name it in permissions.operator.restrict.serviceAccountTokenCreationRoles when you install Kedge";
        let about = About { verdict: Verdict::ToDo, object };
        findings.push(about.finding("spec.boundServiceAccountToken", problem, remedy));
    }
    findings
}

/// What a ClusterTriggerAuthentication refers to lies beside the operator. Another namespace does not have it.
fn elsewhere(object: &Value, seen: &Seen, to: &Owner) -> Option<Finding> {
    let spec = read::<TriggerAuthenticationSpec>(&object["spec"])?;
    let here = &seen.releases.iter().find(|(owner, _)| owner != to)?.0.namespace;
    let secrets = spec.secret_target_ref.iter().flatten().map(|one| ("secretTargetRef", "Secret", &one.name));
    let maps = spec.config_map_target_ref.iter().flatten().map(|one| ("configMapTargetRef", "ConfigMap", &one.name));
    let (field, kind, name) = secrets.chain(maps).next()?;
    (*here != to.namespace).then(|| {
        let problem = format!("the {kind} {name} is looked for in the namespace of the operator, which will be {}", to.namespace);
        let remedy = format!(
            "copy it from {here}, or set env to [{{name: KEDA_CLUSTER_OBJECT_NAMESPACE, value: {here}}}] when you install Kedge"
        );
        About { verdict: Verdict::ToDo, object }.finding(&format!("spec.{field}"), problem, remedy)
    })
}

/// An object that is spoken of.
struct About<'a> {
    verdict: Verdict,
    object: &'a Value,
}

impl About<'_> {
    fn finding(&self, field: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            verdict: self.verdict,
            object: name_of(self.object),
            field: field.to_owned(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[cfg(test)]
#[path = "survey/tests.rs"]
mod tests;
