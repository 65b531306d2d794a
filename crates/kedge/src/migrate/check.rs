//! `kedge migrate check`: reports what would not work with Kedge, before anything changes.

use std::collections::BTreeMap;

use anyhow::Context;
use clap::ValueEnum;
use http::Request;
use kedge_api::scaled_object::ScaleTargetRef;
use kedge_cluster::target::{ScaleTargets, TargetError};
use kube::Client;
use serde_json::Value;

use super::cluster;
use super::report::{self, Report};
use super::snapshot::{self, Snapshot, StoredRelease};
use super::survey;
use super::target::{ReleaseArgs, block_on};
use crate::connect;
use crate::outcome::{self, Outcome};

const EXAMPLES: &str = "\
Exit codes:
  0  nothing is in the way
  1  something would not work
  2  the cluster could not be read

Examples:
  kedge migrate check
  kedge migrate check --format json | jq '.findings[] | select(.verdict == \"wouldNotWork\")'";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Choose the output format
    #[arg(long, short = 'o', alias = "output", value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let report = block_on(check(args))?;
    Ok(Outcome::from_findings(!report.is_clear()))
}

async fn check(args: &Args) -> anyhow::Result<Report> {
    let client = connect::connect_as_user(args.release.kubeconfig.as_deref()).await?;
    let report = survey::assess(&fetch_snapshot(&client).await?, &args.release.owner());
    outcome::print(&match args.format {
        Format::Text => report::text(&report),
        Format::Json => format!("{:#}\n", report::json(&report)),
    })?;
    Ok(report)
}

async fn fetch_snapshot(client: &Client) -> anyhow::Result<Snapshot> {
    let live = cluster::fetch_live(client).await?;
    let mut owners: Vec<_> = live.iter().filter_map(|live| live.owner.clone()).collect();
    owners.sort();
    owners.dedup();
    let mut releases = Vec::new();
    for owner in owners {
        let newest = cluster::fetch_latest(client, &owner).await?;
        let stored = newest.map(|newest| StoredRelease::read(newest.revision, &newest.release)).transpose();
        releases.push((owner.clone(), stored.with_context(|| owner.to_string())?));
    }
    let mut objects = Vec::new();
    for path in snapshot::PATHS {
        objects.extend(list(client, path).await?);
    }
    let resources = fetch_resources(client, survey::targets(&objects)).await?;
    Ok(Snapshot { live, releases, objects, resources })
}

/// The resource of each kind that targets have, by version and kind; none for a kind that is not served.
async fn fetch_resources(
    client: &Client,
    targets: impl Iterator<Item = ScaleTargetRef>,
) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let discovery = ScaleTargets::new(client.clone());
    let mut resources = BTreeMap::new();
    for target in targets {
        match discovery.resolve_kind(&target).await {
            Ok(served) => {
                let (version, kind) = target.api_version_and_kind();
                resources.insert((version.to_owned(), kind.to_owned()), served.resource.clone());
            }
            Err(TargetError::UnknownKind { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(resources)
}

/// All objects of a kind; none where the kind is not served.
async fn list(client: &Client, path: &snapshot::Path) -> anyhow::Result<Vec<Value>> {
    let url = format!("/{}/{}", path.api, path.plural);
    let listed = client.request::<Value>(Request::get(&url).body(Vec::new())?).await;
    let mut listed = match listed {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        listed => listed.with_context(|| format!("cannot list {}", path.plural))?,
    };
    let version = listed["apiVersion"].clone();
    let kind = listed["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
    let items = listed["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // The items of a list have no apiVersion and kind of their own.
    let complete = |mut object: Value| {
        object["apiVersion"] = version.clone();
        object["kind"] = Value::from(kind.as_str());
        object
    };
    Ok(items.into_iter().map(complete).collect())
}
