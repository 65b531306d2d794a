//! The setup of a takeover: the cluster with the fleet, the metric source, the recorder and the prober.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::wait::wait_for;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::fleet::{self, Member};
use crate::helm;
use crate::operators::{Environment, OperatorProcess, Peer};
use crate::prober::{Metric, Prober};
use crate::recorder::{Recorder, WatchedField, WatchedKind};
use crate::report::print_progress;

/// The deadline of every wait; longer than any of them takes.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// The objects whose metrics are probed: prometheus with credentials, cron, a pod count and a formula.
const PROBED_OBJECTS: [&str; 4] = ["authenticated-0", "cron-0", "pod-count", "formula-1"];

pub(crate) struct Setup<'a> {
    pub(crate) environment: Environment<'a>,
    pub(crate) source: HttpSource,
    pub(crate) recorder: Recorder,
    pub(crate) prober: Prober,
    pub(crate) members: Vec<Member>,
    /// The number of handovers so far; process names end with it.
    pub(crate) handover_count: u32,
}

impl<'a> Setup<'a> {
    /// Installs and starts KEDA, creates the fleet, and waits until it is settled.
    pub(crate) async fn start(cluster: &'a Cluster, kedge_binary: PathBuf) -> anyhow::Result<(Self, OperatorProcess)> {
        helm::install_keda(cluster)?;
        cluster.apply(&fleet::build_shared_objects())?;
        let source = HttpSource::start().await?;
        let environment = Environment::prepare(cluster, kedge_binary).await?;
        print_progress("starting KEDA");
        let mut keda = environment.start(Peer::Keda, "first", NAMESPACE).await?;
        keda.wait_until_ready().await?;
        environment.point_api_server_at(&keda).await?;
        let members = fleet::build_members(&source.url());
        create_members(cluster, &source, &members)?;
        let recorder = Recorder::start(&environment.client).await?;
        print_progress(&format!("waiting until KEDA has scaled {} ScaledObjects", members.len()));
        wait_until_settled(&recorder, &members, &mut keda).await?;
        start_cooldowns(&source, &recorder, &members).await?;
        let prober = Prober::start(&client_without_retry(cluster).await?, find_probed_metrics(&recorder, &members)?);
        Ok((Self { environment, source, recorder, prober, members, handover_count: 0 }, keda))
    }

    /// Finds a member by name.
    pub(crate) fn member_mut(&mut self, name: &str) -> anyhow::Result<&mut Member> {
        self.members.iter_mut().find(|member| member.name == name).with_context(|| format!("there is no {name}"))
    }
}

fn create_members(cluster: &Cluster, source: &HttpSource, members: &[Member]) -> anyhow::Result<()> {
    members.iter().for_each(|member| member.set_initial_responses(source));
    let items: Vec<Value> = members.iter().flat_map(|member| member.objects().to_vec()).collect();
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))
}

/// Finds the members that do not have the expected replicas or `Ready` condition; returns both current values of each.
pub(crate) fn find_unsettled(recorder: &Recorder, members: &[Member]) -> BTreeMap<String, (Value, Value)> {
    let check = |member: &Member| {
        let kind = if member.target_kind == "StatefulSet" { WatchedKind::StatefulSet } else { WatchedKind::Deployment };
        let replicas = recorder.current_value(kind, &member.key(), WatchedField::Replicas).unwrap_or_default();
        let ready = recorder.current_value(WatchedKind::ScaledObject, &member.key(), WatchedField::Ready);
        let ready = ready.unwrap_or_default();
        let is_settled = replicas == member.expected_replicas && ready == member.expected_ready;
        (!is_settled).then(|| (member.key(), (replicas, ready)))
    };
    members.iter().filter_map(check).collect()
}

async fn wait_until_settled(
    recorder: &Recorder,
    members: &[Member],
    process: &mut OperatorProcess,
) -> anyhow::Result<()> {
    let started_at = Instant::now();
    wait_for("all objects have the expected replicas and Ready condition", WAIT_TIMEOUT, async || {
        process.check_running().map_err(|error| BTreeMap::from([(error.to_string(), Default::default())]))?;
        let unsettled = find_unsettled(recorder, members);
        if unsettled.is_empty() { Ok(()) } else { Err(unsettled) }
    })
    .await?;
    print_progress(&format!("all objects are settled after {} s", started_at.elapsed().as_secs()));
    Ok(())
}

/// Removes the load of the objects that stay in their cooldown period during the takeover.
async fn start_cooldowns(source: &HttpSource, recorder: &Recorder, members: &[Member]) -> anyhow::Result<()> {
    for index in 0..2 {
        let name = fleet::cooldown_name(index);
        source.set(&name, SourceResponse::Value(0.0));
        let member =
            members.iter().find(|member| member.name == name).with_context(|| format!("there is no {name}"))?;
        wait_for(&format!("{name} is inactive"), WAIT_TIMEOUT, async || {
            match recorder.current_value(WatchedKind::ScaledObject, &member.key(), WatchedField::Active) {
                Some(active) if active == "False" => Ok(()),
                other => Err(other),
            }
        })
        .await?;
    }
    Ok(())
}

fn find_probed_metrics(recorder: &Recorder, members: &[Member]) -> anyhow::Result<Vec<Metric>> {
    let find = |name: &str| -> anyhow::Result<Metric> {
        let member = members.iter().find(|member| member.name == name).context("no member has this name")?;
        let hpa_name = recorder.current_value(WatchedKind::ScaledObject, &member.key(), WatchedField::HpaName);
        let hpa_name = hpa_name.context("the status names no HPA")?;
        let hpa = format!("{}/{}", member.namespace, hpa_name.as_str().unwrap_or_default());
        let spec = recorder.current_value(WatchedKind::HorizontalPodAutoscaler, &hpa, WatchedField::Spec);
        let spec = spec.context("the HPA does not exist")?;
        let metric = spec["metrics"][0]["external"]["metric"]["name"].as_str().context("no external metric")?;
        Ok(Metric { namespace: member.namespace.clone(), object: member.name.clone(), name: metric.to_owned() })
    };
    PROBED_OBJECTS.iter().map(|name| find(name).with_context(|| format!("{name} cannot be probed"))).collect()
}

/// Creates a client that does not retry: a retry would make a gap look shorter.
async fn client_without_retry(cluster: &Cluster) -> anyhow::Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}
