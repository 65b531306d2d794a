//! What the story is played on: the cluster with the fleet, the source, and those who watch.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::wait::wait_for;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::say;
use crate::fleet::{self, Member};
use crate::helm;
use crate::operators::{Environment, OperatorProcess, Peer};
use crate::prober::{Metric, Prober};
use crate::recorder::{Facet, Kind, Recorder};
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};

/// Longer than anything takes that is waited for.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// Those whose metrics are asked for all the time: prometheus with credentials, cron, pods, and a formula.
const PROBED: [&str; 4] = ["guarded-0", "cron-0", "counting", "formula-1"];

pub(crate) struct Stage<'a> {
    pub(crate) environment: Environment<'a>,
    pub(crate) source: HttpSource,
    pub(crate) recorder: Recorder,
    pub(crate) prober: Prober,
    pub(crate) members: Vec<Member>,
    /// How many hand-overs there were, to name processes by.
    pub(crate) hand_overs: u32,
}

impl<'a> Stage<'a> {
    /// Has KEDA bring the fleet to rest.
    pub(crate) async fn set(cluster: &'a Cluster, kedge: PathBuf) -> anyhow::Result<(Self, OperatorProcess)> {
        helm::install_keda(cluster)?;
        cluster.apply(&fleet::shared_objects())?;
        let source = HttpSource::start().await?;
        let environment = Environment::prepare(cluster, kedge).await?;
        say("KEDA starts");
        let mut keda = environment.start(Peer::Keda, "first", NAMESPACE).await?;
        keda.until_ready().await?;
        environment.point_at(&keda).await?;
        let members = fleet::members(&source.url());
        create(cluster, &source, &members)?;
        let recorder = Recorder::start(&environment.client).await?;
        say(&format!("KEDA brings {} ScaledObjects to rest", members.len()));
        until_settled(&recorder, &members, &mut keda).await?;
        cool_down(&source, &recorder, &members).await?;
        let prober = Prober::start(&impatient(cluster).await?, probed(&recorder, &members)?);
        Ok((Self { environment, source, recorder, prober, members, hand_overs: 0 }, keda))
    }

    /// The member of this name.
    pub(crate) fn member(&mut self, name: &str) -> anyhow::Result<&mut Member> {
        self.members.iter_mut().find(|member| member.name == name).with_context(|| format!("there is no {name}"))
    }
}

fn create(cluster: &Cluster, source: &HttpSource, members: &[Member]) -> anyhow::Result<()> {
    members.iter().for_each(|member| member.set_up(source));
    let items: Vec<Value> = members.iter().flat_map(|member| member.objects().to_vec()).collect();
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))
}

/// Those that are not as they are to be, and how they are.
pub(crate) fn unsettled(recorder: &Recorder, members: &[Member]) -> BTreeMap<String, (Value, Value)> {
    let look = |member: &Member| {
        let kind = if member.target_kind == "StatefulSet" { Kind::StatefulSet } else { Kind::Deployment };
        let replicas = recorder.now(kind, &member.key(), Facet::Replicas).unwrap_or_default();
        let ready = recorder.now(Kind::ScaledObject, &member.key(), Facet::Ready).unwrap_or_default();
        let is_well = replicas == member.settles_at && ready == member.ready;
        (!is_well).then(|| (member.key(), (replicas, ready)))
    };
    members.iter().filter_map(look).collect()
}

async fn until_settled(recorder: &Recorder, members: &[Member], process: &mut OperatorProcess) -> anyhow::Result<()> {
    let began = Instant::now();
    wait_for("all are at rest: replicas and Ready", LIMIT, async || {
        process.check().map_err(|error| BTreeMap::from([(error.to_string(), Default::default())]))?;
        let unsettled = unsettled(recorder, members);
        if unsettled.is_empty() { Ok(()) } else { Err(unsettled) }
    })
    .await?;
    say(&format!("all are at rest after {} s", began.elapsed().as_secs()));
    Ok(())
}

/// Takes the work from those that are to wait for the end of their cooldown.
async fn cool_down(source: &HttpSource, recorder: &Recorder, members: &[Member]) -> anyhow::Result<()> {
    for index in 0..2 {
        let name = fleet::cooling(index);
        source.set(&name, SourceResponse::Value(0.0));
        let member =
            members.iter().find(|member| member.name == name).with_context(|| format!("there is no {name}"))?;
        wait_for(&format!("{name} cools down"), LIMIT, async || {
            match recorder.now(Kind::ScaledObject, &member.key(), Facet::Active) {
                Some(active) if active == "False" => Ok(()),
                other => Err(other),
            }
        })
        .await?;
    }
    Ok(())
}

fn probed(recorder: &Recorder, members: &[Member]) -> anyhow::Result<Vec<Metric>> {
    let of = |name: &str| -> anyhow::Result<Metric> {
        let member = members.iter().find(|member| member.name == name).context("no member has this name")?;
        let hpa = recorder.now(Kind::ScaledObject, &member.key(), Facet::HpaName).context("no HPA is named")?;
        let hpa = format!("{}/{}", member.namespace, hpa.as_str().unwrap_or_default());
        let spec = recorder.now(Kind::HorizontalPodAutoscaler, &hpa, Facet::Spec).context("it has no HPA")?;
        let metric = spec["metrics"][0]["external"]["metric"]["name"].as_str().context("no external metric")?;
        Ok(Metric { namespace: member.namespace.clone(), object: member.name.clone(), name: metric.to_owned() })
    };
    PROBED.iter().map(|name| of(name).with_context(|| format!("{name} cannot be asked for"))).collect()
}

/// A client that does not try again by itself: a gap would look shorter.
async fn impatient(cluster: &Cluster) -> anyhow::Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}
