//! The triggers of manifests, or of a cluster: each is built as the operator builds it, and its source is asked once.
//!
//! | module | what it holds |
//! |---|---|
//! | `objects` | the ScaledObjects and ScaledJobs, from files or the cluster, and which of their triggers are checked |
//! | `files` | the other objects of the files, which triggers refer to |
//! | `file_api` | these objects as an API server has them, in front of the cluster's, if there is one |
//! | `ask` | one trigger: resolved, built, and asked |
//! | `remedy` | the remedies of sources that gave no value |
//! | `replicas` | what the operator and the HPA controller would do: pure |
//! | `report` | all of that as values |
//! | `text`, `json` | the output formats |

mod ask;
mod file_api;
mod files;
mod json;
mod objects;
mod remedy;
mod replicas;
mod report;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use chrono::{DateTime, Utc};
use kedge_scalers::AuthParams;
use kube::Client;

use super::{Format, Severity};
use crate::settings::{Environment, Settings, resolve_variables};
use crate::{connect, manifests, outcome};
use ask::{Asker, Reach};
use files::Files;
use objects::CheckedObject;
use report::Report;

/// The flags that only manifests have.
#[derive(clap::Args)]
#[command(next_help_heading = "Triggers of manifests or of a cluster")]
pub(super) struct TriggerFlags {
    /// Check the triggers of the ScaledObjects and ScaledJobs in this YAML or JSON file, folder of such files, or - for standard input;
    /// may be repeated
    #[arg(long, short, value_name = "FILE")]
    file: Vec<PathBuf>,

    /// Read from the cluster what the files do not have: objects that triggers refer to, pods, and without --file the ScaledObjects and
    /// ScaledJobs themselves
    #[arg(long)]
    from_cluster: bool,

    /// Use this kubeconfig, by default $KUBECONFIG or ~/.kube/config; implies --from-cluster
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Use this context of the kubeconfig; implies --from-cluster
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Check only this trigger, by its name or by its index, which counts from 0; may be repeated
    #[arg(long, value_name = "NAME|INDEX", conflicts_with = "address")]
    trigger: Vec<String>,

    /// Give this authentication parameter to the triggers, in place of one that they refer to; may be repeated
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "address")]
    auth: Vec<String>,

    /// Give this authentication parameter to the triggers, with the contents of a file as its value; may be repeated
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "address")]
    auth_file: Vec<String>,

    /// Start from this many replicas; by default from the minimum, or from one
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..=10_000), conflicts_with = "address")]
    replicas: Option<i32>,

    /// Evaluate schedules at this instant (RFC 3339); by default now
    #[arg(long, value_name = "INSTANT", value_parser = parse_instant, conflicts_with = "address")]
    at: Option<DateTime<Utc>>,

    /// Trust the CA certificates in this folder, in addition to those of the system and of /custom/ca; may be repeated
    #[arg(long, value_name = "DIR", conflicts_with = "address")]
    ca_dir: Vec<PathBuf>,

    /// Read the Secrets of ClusterTriggerAuthentications in this namespace, by default that of KEDA_CLUSTER_OBJECT_NAMESPACE, else keda
    #[arg(long, value_name = "NAME", conflicts_with = "address")]
    operator_namespace: Option<String>,
}

/// What is to be checked.
pub(super) struct Request<'a> {
    pub(super) metadata: &'a [(String, String)],
    pub(super) name: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
    pub(super) timeout: Option<Duration>,
    pub(super) flags: &'a TriggerFlags,
}

/// Checks the triggers, and prints what came of it.
pub(super) fn run(request: &Request<'_>, environment: &Environment, format: Format) -> anyhow::Result<Severity> {
    let given = given_parameters(request.flags)?;
    let settings = settings(request, environment)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let report = runtime.block_on(check(request, &settings, given))?;
    outcome::print(&match format {
        Format::Text => text::render(&report),
        Format::Json => json::render(&report),
    })?;
    Ok(report.severity())
}

async fn check(request: &Request<'_>, settings: &Settings, given: AuthParams) -> anyhow::Result<Report> {
    let flags = request.flags;
    let cluster = connect(flags).await?;
    let own = cluster.as_ref().map(|cluster| cluster.default_namespace().to_owned());
    let namespace = request.namespace.map(str::to_owned).or(own).unwrap_or_else(|| "default".to_owned());
    let documents = manifests::read_documents(&flags.file)?;
    let files = Files::collect(&documents, &namespace)?;
    let (mut objects, mut stored) = (files.objects, files.stored);
    match &cluster {
        Some(cluster) if flags.file.is_empty() => {
            objects = objects::fetch(cluster, &namespace, request.name).await?;
        }
        _ => objects = objects::named(objects, request.name)?,
    }
    files::store_jobs(&mut stored, &objects);
    let mut chosen = objects::choose_triggers(objects, &flags.trigger)?;
    objects::set_metadata(&mut chosen, request.metadata)?;
    let reach = if cluster.is_some() { Reach::Cluster } else { Reach::FilesAlone };
    let asker = Asker::new(settings, request.timeout, file_api::client(stored, cluster), reach, given);
    let at = flags.at.unwrap_or_else(Utc::now);
    let mut report = Report::default();
    for (object, triggers) in &chosen {
        report.objects.push(check_object(&asker, object, triggers, flags.replicas, at).await);
    }
    Ok(report)
}

async fn check_object(
    asker: &Asker,
    object: &CheckedObject,
    triggers: &[usize],
    replicas: Option<i32>,
    at: DateTime<Utc>,
) -> report::ObjectReport {
    let triggers = asker.ask(object, triggers, at).await;
    let outlook = object.scaled_object().map(|scaled| replicas::foresee(scaled, &triggers, replicas, at));
    report::ObjectReport {
        kind: object.kind(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        place: object.place.clone(),
        triggers,
        outlook,
    }
}

/// The client of the cluster, if one is chosen.
async fn connect(flags: &TriggerFlags) -> anyhow::Result<Option<Client>> {
    let kubeconfig = flags.kubeconfig.as_deref();
    match &flags.context {
        Some(context) => connect::connect_by_context(kubeconfig, context).await.map(Some),
        None if flags.from_cluster || kubeconfig.is_some() => connect::connect_as_user(kubeconfig).await.map(Some),
        None => Ok(None),
    }
}

/// What an operator with the variables of this process would have.
fn settings(request: &Request<'_>, environment: &Environment) -> anyhow::Result<Settings> {
    for folder in &request.flags.ca_dir {
        ensure!(folder.is_dir(), "--ca-dir: {} is not a folder", folder.display());
    }
    let resolved = resolve_variables(environment, &request.flags.ca_dir);
    let mut settings =
        resolved.map_err(|errors| anyhow!("the environment cannot be used:\n  {}", errors.join("\n  ")))?;
    if let Some(namespace) = &request.flags.operator_namespace {
        settings.credentials.cluster_object_namespace.clone_from(namespace);
    }
    Ok(settings)
}

/// The parameters of --auth and --auth-file. Errors do not repeat them: they are secret.
fn given_parameters(flags: &TriggerFlags) -> anyhow::Result<AuthParams> {
    let mut given = Vec::new();
    for text in &flags.auth {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => given.push((name.to_owned(), value.to_owned())),
            _ => bail!("--auth has no name, or no value; write NAME=VALUE, as in password=s3cret"),
        }
    }
    for text in &flags.auth_file {
        match text.split_once('=') {
            // An editor ends each file with a new line, which no password has.
            Some((name, file)) if !name.is_empty() => {
                given.push((name.to_owned(), super::read(file.as_ref())?.trim_end_matches(['\r', '\n']).to_owned()));
            }
            _ => bail!("--auth-file {text:?} has no name, or no file; write NAME=FILE, as in password=password.txt"),
        }
    }
    Ok(given.into_iter().collect())
}

fn parse_instant(text: &str) -> Result<DateTime<Utc>, String> {
    let parsed = DateTime::parse_from_rfc3339(text);
    parsed.map(|instant| instant.to_utc()).map_err(|_| "write it as 2026-01-05T08:00:00Z".to_owned())
}
