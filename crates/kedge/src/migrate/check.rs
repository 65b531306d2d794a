//! `kedge migrate check`: what would not work with Kedge, before anything changes.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use http::Request;
use kube::Client;
use serde_json::Value;

use super::report::{self, Report};
use super::survey::{self, Seen, Stored};
use super::{Place, cluster, wait_for};

const EXAMPLES: &str = "\
Exit codes:
  0  nothing is in the way
  1  something would not work
  2  the cluster could not be looked at

Examples:
  kedge migrate check
  kedge migrate check --output json | jq '.findings[] | select(.verdict == \"wouldNotWork\")'";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,

    /// How it is written
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

pub(super) fn run(args: &Args) -> ExitCode {
    match wait_for(check(args)) {
        Ok(report) if report.is_clear() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn check(args: &Args) -> anyhow::Result<Report> {
    let client = crate::operator::connect_as_user(args.place.kubeconfig.as_deref()).await?;
    let report = survey::judge(&look(&client).await?, &args.place.owner());
    let text = match args.output {
        Output::Text => report::text(&report),
        Output::Json => format!("{:#}\n", report::json(&report)),
    };
    std::io::stdout().lock().write_all(text.as_bytes()).context("cannot write what was found")?;
    Ok(report)
}

async fn look(client: &Client) -> anyhow::Result<Seen> {
    let live = cluster::fetch_live(client).await?;
    let mut owners: Vec<_> = live.iter().filter_map(|live| live.owner.clone()).collect();
    owners.sort();
    owners.dedup();
    let mut releases = Vec::new();
    for owner in owners {
        let newest = cluster::fetch_newest(client, &owner).await?;
        let stored = newest.map(|newest| Stored::read(newest.revision, &newest.release)).transpose();
        releases.push((owner.clone(), stored.with_context(|| owner.to_string())?));
    }
    let mut objects = Vec::new();
    for path in survey::PATHS {
        objects.extend(list(client, path).await?);
    }
    Ok(Seen { live, releases, objects })
}

/// All objects of a kind; none where the kind is not served.
async fn list(client: &Client, path: &survey::Path) -> anyhow::Result<Vec<Value>> {
    let url = format!("/{}/{}", path.api, path.plural);
    let listed = client.request::<Value>(Request::get(&url).body(Vec::new())?).await;
    let mut listed = match listed {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        listed => listed.with_context(|| format!("cannot list {}", path.plural))?,
    };
    let version = listed["apiVersion"].clone();
    let kind = listed["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
    let items = listed["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // Lists leave out of their items what stands at their own head.
    let whole = |mut object: Value| {
        object["apiVersion"] = version.clone();
        object["kind"] = Value::from(kind.as_str());
        object
    };
    Ok(items.into_iter().map(whole).collect())
}
