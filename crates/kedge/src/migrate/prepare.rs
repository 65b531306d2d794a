//! `kedge migrate prepare`: protects what both releases have, and transfers its ownership.

use std::collections::BTreeSet;

use kube::Client;

use super::cluster::{self, Applied, Mode};
use super::contents::{self, Workloads};
use super::plan::{self, LiveObject, Owner, SharedKind};
use super::target::{ReleaseArgs, block_on};
use crate::connect;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Run it before the release that takes over is installed, and once more after that: Helm does not point the APIService to the new Service.
It is idempotent, and can be interrupted at any time.

Exit codes:
  0  prepared
  1  prepared, but the release that takes over is blocked
  2  an object could not be read or written

Examples:
  kedge migrate prepare --dry-run
  kedge migrate prepare                                    to the release kedge in the namespace kedge
  kedge migrate prepare --release keda --namespace keda    and back to KEDA";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Print the changes without making them
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let blocked = block_on(prepare(args))?;
    if let Some(problem) = &blocked {
        eprintln!("error: {problem}");
    }
    Ok(Outcome::from_findings(blocked.is_some()))
}

/// Prepares; returns what blocks the release that takes over, if something does.
async fn prepare(args: &Args) -> anyhow::Result<Option<String>> {
    let client = connect::connect_as_user(args.release.kubeconfig.as_deref()).await?;
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Write };
    let to = args.release.owner();
    let live = cluster::fetch_live(&client).await?;
    let new = cluster::fetch_manifest(&client, &to).await?;
    let registered = new.as_deref().and_then(contents::registered);
    let mut changed = 0;
    for change in plan::plan(&live, &to, registered.as_ref()) {
        if let Applied::Changed(what) = cluster::apply(&client, &change, mode).await? {
            changed += 1;
            println!("{}{what}", if mode == Mode::DryRun { "would change: " } else { "" });
        }
    }
    if changed == 0 {
        println!("nothing to change: all is with the {to}, or is not there yet");
    }
    let others = fetch_others(&client, &live, &to).await?;
    for line in notes(&live, &others, &to) {
        println!("{line}");
    }
    Ok(new.and_then(|new| conflict(&others, &new, &to)))
}

/// The other releases that own any of the objects, and the manifest of each.
type Others = Vec<(Owner, Option<String>)>;

async fn fetch_others(client: &Client, live: &[LiveObject], to: &Owner) -> anyhow::Result<Others> {
    let owners: BTreeSet<&Owner> = live.iter().filter_map(|live| live.owner.as_ref()).filter(|of| *of != to).collect();
    let mut others = Vec::new();
    for owner in owners {
        others.push((owner.clone(), cluster::fetch_manifest(client, owner).await?));
    }
    Ok(others)
}

/// What stays unchanged, and the next steps.
fn notes(live: &[LiveObject], others: &Others, to: &Owner) -> Vec<String> {
    let mut lines: Vec<String> = live.iter().filter(|live| !live.is_of_keda()).map(foreign).collect();
    lines.extend(others.iter().filter(|(_, stored)| stored.is_none()).map(|(owner, _)| unstored(owner)));
    lines.extend(unmanaged(live));
    let stored = others.iter().filter_map(|(owner, stored)| Some((owner, stored.as_deref()?)));
    lines.extend(stored.flat_map(|(owner, manifest)| next(owner, &contents::workloads(manifest), to)));
    lines
}

/// The objects that both releases have, so that uninstalling one deletes them from the other.
fn conflict(others: &Others, new: &str, to: &Owner) -> Option<String> {
    others.iter().find_map(|(owner, stored)| {
        let both = contents::contested(stored.as_deref()?, new);
        let names: Vec<String> = both.into_iter().collect();
        (!names.is_empty()).then(|| {
            format!(
                "{owner} and {to} both have {}: uninstalling the one deletes them from the other; give the new one its own names first, \
                 as with `helm upgrade {} ... --set operator.name=kedge-operator`",
                names.join(", "),
                to.release
            )
        })
    })
}

fn foreign(live: &LiveObject) -> String {
    let owner = live.owner.as_ref().map_or_else(|| "something else".to_owned(), ToString::to_string);
    format!("note: {} belongs to {owner}, and is left alone: there is one provider of it a cluster", live.object)
}

fn unstored(owner: &Owner) -> String {
    format!(
        "note: no Secret holds the {owner}: it is uninstalled, or Helm stores it elsewhere (HELM_DRIVER). In that case set \
         crds.additionalAnnotations.\"helm\\.sh/resource-policy\"=keep with `helm upgrade` before it is uninstalled"
    )
}

/// CRDs that Helm did not install: only their user knows what would delete them.
fn unmanaged(live: &[LiveObject]) -> Option<String> {
    let crds = live.iter().filter(|live| live.owner.is_none() && live.object.kind == SharedKind::Crd);
    let names: Vec<&str> = crds.map(|live| live.object.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "note: these CRDs were not installed by Helm: {}. To remove KEDA, delete its Deployments, Services and roles, and never \
             all of its manifests at once: deleting a CRD deletes all of its objects",
            names.join(", ")
        )
    })
}

fn next(old: &Owner, runs: &Workloads, to: &Owner) -> Vec<String> {
    let (Owner { release, namespace }, Owner { release: new, namespace: place }) = (old, to);
    let last = match runs.others.is_empty() {
        true => format!("  helm uninstall {release} --namespace {namespace}"),
        false => {
            let others = runs.others.join(", ");
            format!(
                "  helm upgrade {release} ... --namespace {namespace}, with KEDA turned off: it also holds {others}"
            )
        }
    };
    vec![
        format!("next: stop the old one, install {new}, prepare again, and then remove the old one:"),
        format!("  kubectl --namespace {namespace} scale deployment {} --replicas=0", runs.kedas.join(" ")),
        format!("  helm install {new} CHART --namespace {place} --create-namespace"),
        format!("  kedge migrate prepare --release {new} --namespace {place}"),
        last,
    ]
}
