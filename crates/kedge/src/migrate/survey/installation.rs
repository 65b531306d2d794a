//! How KEDA was installed, and whether it could go: releases, owners, registrations.

use serde_json::Value;

use super::super::plan::{Live, Object, Owner, Service, Sort, shared, theirs};
use super::super::report::{Finding, Verdict};
use super::super::{contents, manifest};
use super::{About, Seen, Stored};

/// Everything that is to be said of it.
pub(super) fn judge(seen: &Seen, to: &Owner) -> Vec<Finding> {
    let registered = registered(seen, to);
    let releases = seen.releases.iter().flat_map(|(owner, stored)| judge_release(owner, stored.as_ref(), to));
    releases.chain(seen.live.iter().filter_map(|live| judge_live(live, registered.as_ref(), to))).collect()
}

/// The Service that the release which takes over registers, if it is installed.
fn registered(seen: &Seen, to: &Owner) -> Option<Service> {
    let (_, stored) = seen.releases.iter().find(|(owner, _)| owner == to)?;
    contents::registered(&stored.as_ref()?.manifest)
}

/// The command that helps, with the flags that it needs.
fn prepare(to: &Owner) -> String {
    match (to.release.as_str(), to.namespace.as_str()) {
        ("kedge", "kedge") => "run `kedge migrate prepare`".to_owned(),
        (release, namespace) => format!("run `kedge migrate prepare --release {release} --namespace {namespace}`"),
    }
}

/// What there is, in sentences.
pub(super) fn facts(seen: &Seen) -> Vec<String> {
    let crds: Vec<&Live> = seen.live.iter().filter(|live| live.object.sort == Sort::Crd).collect();
    let mut facts: Vec<String> = seen
        .releases
        .iter()
        .map(|(owner, stored)| match stored {
            Some(stored) => format!("{owner}: revision {}, {}", stored.revision, stored.status),
            None => format!("{owner}: Helm has not stored it in a Secret, or it is gone"),
        })
        .collect();
    if crds.is_empty() {
        facts.push("there are no CRDs of KEDA".to_owned());
    } else if crds.iter().all(|live| live.owner.is_none()) {
        facts.push("KEDA was not installed by Helm: its CRDs have no owner".to_owned());
    }
    let owned = seen.objects.iter().filter(|object| is_hpa_of_keda(object)).count();
    facts.push(format!("{owned} HPAs belong to ScaledObjects, and stay as they are"));
    facts
}

fn is_hpa_of_keda(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    object["kind"] == "HorizontalPodAutoscaler"
        && owners.into_iter().flatten().any(|owner| owner["kind"] == "ScaledObject")
}

/// Webhooks that keep objects from being written while nobody answers.
pub(super) fn strict_webhooks(object: &Value) -> Option<Finding> {
    let webhooks = object["webhooks"].as_array()?;
    let strict = webhooks.iter().position(|webhook| webhook["failurePolicy"] == "Fail")?;
    let problem = "is Fail: between the two releases no ScaledObject can be written";
    let remedy = "set webhooks.failurePolicy to Ignore in KEDA's release before it is stopped";
    let field = format!("webhooks[{strict}].failurePolicy");
    Some(About { verdict: Verdict::ToDo, object }.finding(&field, problem, remedy))
}

fn judge_release(owner: &Owner, stored: Option<&Stored>, to: &Owner) -> Vec<Finding> {
    let finding = |verdict, field: &str, problem: String, remedy: &str| Finding {
        verdict,
        object: owner.to_string(),
        field: field.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    };
    let Some(stored) = stored else { return Vec::new() };
    let mut findings = Vec::new();
    if stored.status.starts_with("pending") {
        let remedy = "wait until Helm is done; if it was interrupted, `helm rollback` first";
        findings.push(finding(Verdict::WouldNotWork, "status", format!("is {}", stored.status), remedy));
    }
    match manifest::keep(&stored.manifest, &protected(owner, to)) {
        Ok(kept) if kept.changed.is_empty() => {}
        Ok(kept) => {
            let names: Vec<&str> = kept.changed.iter().map(|object| object.name.as_str()).collect();
            let problem = format!("`helm uninstall` deletes {}; with a CRD goes every object of it", names.join(", "));
            findings.push(finding(Verdict::ToDo, "manifest", problem, &prepare(to)));
        }
        Err(error) => findings.push(finding(
            Verdict::WouldNotWork,
            "manifest",
            error.to_string(),
            "repair the release with `helm upgrade`",
        )),
    }
    findings
}

/// What must not go with a release.
fn protected(owner: &Owner, to: &Owner) -> Vec<Object> {
    let all = shared().into_iter().chain(theirs());
    all.filter(|object| owner != to || object.sort == Sort::Crd).collect()
}

fn judge_live(live: &Live, registered: Option<&Service>, to: &Owner) -> Option<Finding> {
    let owner = live.owner.as_ref().map_or_else(|| "nobody that Helm knows".to_owned(), ToString::to_string);
    let finding = |field: &str, problem: String, remedy: &str| Finding {
        verdict: Verdict::ToDo,
        object: live.object.to_string(),
        field: field.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    };
    if !live.is_of_keda() {
        let remedy = "remove that adapter, or set metricsServer.enabled to false when you install Kedge";
        let problem = format!("belongs to {owner}, and not to KEDA: HPAs read metrics from there");
        return Some(finding("metadata.annotations", problem, remedy));
    }
    if shared().contains(&live.object) && live.owner.as_ref() != Some(to) {
        let problem = format!("belongs to {owner}: Helm refuses to install {to} over it");
        return Some(finding("metadata.annotations", problem, &prepare(to)));
    }
    let (leads, registered) = (live.service.as_ref()?, registered?);
    (leads != registered).then(|| {
        let problem = format!("leads to the Service {}/{}, and not to that of {to}", leads.namespace, leads.name);
        finding("spec.service", problem, &prepare(to))
    })
}
