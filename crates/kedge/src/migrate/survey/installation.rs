//! The issues of KEDA's installation: releases, owners, the APIService and the webhook configuration.

use serde_json::Value;

use crate::migrate::contents;
use crate::migrate::manifest;
use crate::migrate::plan::{LiveObject, Object, Owner, Service, SharedKind, keda_only, shared};
use crate::migrate::report::{Issue, Subject, Verdict};
use crate::migrate::snapshot::{Snapshot, StoredRelease};

/// All issues of the installation.
pub(super) fn assess(snapshot: &Snapshot, to: &Owner) -> Vec<Issue> {
    let registered = registered(snapshot, to);
    let releases = snapshot.releases.iter().flat_map(|(owner, stored)| assess_release(owner, stored.as_ref(), to));
    releases.chain(snapshot.live.iter().filter_map(|live| assess_live(live, registered.as_ref(), to))).collect()
}

/// The Service in the APIService of the release that takes over, if it is installed.
fn registered(snapshot: &Snapshot, to: &Owner) -> Option<Service> {
    let (_, stored) = snapshot.releases.iter().find(|(owner, _)| owner == to)?;
    contents::registered(&stored.as_ref()?.manifest)
}

/// The command that prepares the migration, with its flags.
fn prepare(to: &Owner) -> String {
    match (to.release.as_str(), to.namespace.as_str()) {
        ("kedge", "kedge") => "run `kedge migrate prepare`".to_owned(),
        (release, namespace) => format!("run `kedge migrate prepare --release {release} --namespace {namespace}`"),
    }
}

/// The facts about the installation, as sentences.
pub(super) fn facts(snapshot: &Snapshot) -> Vec<String> {
    let crds: Vec<&LiveObject> = snapshot.live.iter().filter(|live| live.object.kind == SharedKind::Crd).collect();
    let mut facts: Vec<String> = snapshot
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
    let owned = snapshot.objects.iter().filter(|object| is_hpa_of_keda(object)).count();
    facts.push(format!("{owned} HPAs belong to ScaledObjects, and stay as they are"));
    facts
}

fn is_hpa_of_keda(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    object["kind"] == "HorizontalPodAutoscaler"
        && owners.into_iter().flatten().any(|owner| owner["kind"] == "ScaledObject")
}

/// Webhooks that reject all writes while no server responds.
pub(super) fn strict_webhooks(object: &Value) -> Option<Issue> {
    let webhooks = object["webhooks"].as_array()?;
    let strict = webhooks.iter().position(|webhook| webhook["failurePolicy"] == "Fail")?;
    let problem = "is Fail: between the two releases no ScaledObject can be written";
    let remedy = "set webhooks.failurePolicy to Ignore in KEDA's release before it is stopped";
    let field = format!("webhooks[{strict}].failurePolicy");
    Some(Subject { verdict: Verdict::ToDo, object }.issue(&field, problem, remedy))
}

fn assess_release(owner: &Owner, stored: Option<&StoredRelease>, to: &Owner) -> Vec<Issue> {
    let issue = |verdict, field: &str, problem: String, remedy: &str| Issue {
        verdict,
        object: owner.to_string(),
        field: field.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    };
    let Some(stored) = stored else { return Vec::new() };
    let mut issues = Vec::new();
    if stored.status.starts_with("pending") {
        let remedy = "wait until Helm is done; if it was interrupted, `helm rollback` first";
        issues.push(issue(Verdict::WouldNotWork, "status", format!("is {}", stored.status), remedy));
    }
    match manifest::keep(&stored.manifest, &protected(owner, to)) {
        Ok(kept) if kept.changed.is_empty() => {}
        Ok(kept) => {
            let names: Vec<&str> = kept.changed.iter().map(|object| object.name.as_str()).collect();
            let problem = format!("`helm uninstall` deletes {}, and with a CRD all of its objects", names.join(", "));
            issues.push(issue(Verdict::ToDo, "manifest", problem, &prepare(to)));
        }
        Err(error) => issues.push(issue(
            Verdict::WouldNotWork,
            "manifest",
            error.to_string(),
            "repair the release with `helm upgrade`",
        )),
    }
    issues
}

/// The objects that must outlive a release.
fn protected(owner: &Owner, to: &Owner) -> Vec<Object> {
    let all = shared().into_iter().chain(keda_only());
    all.filter(|object| owner != to || object.kind == SharedKind::Crd).collect()
}

fn assess_live(live: &LiveObject, registered: Option<&Service>, to: &Owner) -> Option<Issue> {
    let owner = live.owner.as_ref().map_or_else(|| "no Helm release".to_owned(), ToString::to_string);
    let issue = |field: &str, problem: String, remedy: &str| Issue {
        verdict: Verdict::ToDo,
        object: live.object.to_string(),
        field: field.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    };
    if !live.is_of_keda() {
        let remedy = "remove that adapter, or set metricsServer.enabled to false when you install Kedge";
        let problem = format!("belongs to {owner}, and not to KEDA: HPAs read metrics from there");
        return Some(issue("metadata.annotations", problem, remedy));
    }
    if shared().contains(&live.object) && live.owner.as_ref() != Some(to) {
        let problem = format!("belongs to {owner}: Helm refuses to install {to} over it");
        return Some(issue("metadata.annotations", problem, &prepare(to)));
    }
    let (leads, registered) = (live.service.as_ref()?, registered?);
    (leads != registered).then(|| {
        let problem = format!("leads to the Service {}/{}, and not to that of {to}", leads.namespace, leads.name);
        issue("spec.service", problem, &prepare(to))
    })
}
