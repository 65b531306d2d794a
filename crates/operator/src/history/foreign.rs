//! Replicas that Kedge did not change: the HPA says whether it was the HPA controller, and why.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use kedge_api::time::from_time;
use kedge_cluster::ObjectKey;
use kedge_core::hpa::explain::explain_rescale;
use kedge_dashboard::view::Actor;
use kube::Client;
use kube::api::Api;
use tracing::debug;

use super::{Histories, step};
use crate::cluster_cache::ClusterCache;

/// The HPA controller writes its status after the scale.
const STATUS_FOLLOWS_WITHIN: Duration = Duration::from_secs(1);

/// How long before a change was seen the HPA may report that it scaled: its times have no fractions.
const SCALED_BEFORE_MAX: TimeDelta = TimeDelta::seconds(15);

/// Replicas that a watch reported.
#[derive(Clone, Debug)]
pub(super) struct ForeignChange {
    pub(super) key: ObjectKey,
    pub(super) at: DateTime<Utc>,
    pub(super) from: i32,
    pub(super) to: i32,
}

impl Histories {
    /// Finds out who changed replicas, and logs it.
    pub(crate) async fn attribute_changes(self: Arc<Self>, client: Client, cluster: Arc<ClusterCache>) -> Infallible {
        loop {
            self.has_foreign.notified().await;
            tokio::time::sleep(STATUS_FOLLOWS_WITHIN).await;
            let changes = std::mem::take(&mut *self.foreign.lock().expect("no holder panics"));
            for change in changes {
                if self.is_own(&change) {
                    continue;
                }
                let status = hpa_status(&client, &cluster, &change.key).await;
                self.attribute(&change, status.as_ref());
            }
        }
    }

    /// Whether it is a step of Kedge's, which the watch reported before the write had returned.
    fn is_own(&self, change: &ForeignChange) -> bool {
        let histories = self.lock();
        let Some(history) = histories.get(&change.key) else { return true };
        let mut latest = history.steps.iter().rev().take(4);
        latest.any(|step| step.by == Actor::Kedge && step.change == Some((change.from, change.to)))
    }

    fn attribute(&self, change: &ForeignChange, status: Option<&HorizontalPodAutoscalerStatus>) {
        let ForeignChange { key, at, from, to } = change;
        self.change(key, |history| {
            let step = match status.filter(|status| has_scaled(status, change)) {
                Some(status) => {
                    let metrics = history.named_metrics();
                    let name = if to > from { "scaled out" } else { "scaled in" };
                    step(*at, Actor::Hpa, Some((*from, *to)), name, explain_rescale((*from, *to), &metrics, status))
                }
                None => step(*at, Actor::Other, Some((*from, *to)), "scaled", "neither by Kedge nor by its HPA"),
            };
            history.push(step);
        });
    }
}

/// Whether the HPA controller made the change.
fn has_scaled(status: &HorizontalPodAutoscalerStatus, change: &ForeignChange) -> bool {
    let scaled_at = status.last_scale_time.as_ref().map(from_time);
    status.desired_replicas == change.to && scaled_at.is_some_and(|at| at >= change.at - SCALED_BEFORE_MAX)
}

/// The status of the object's HPA; none where there is no HPA, or it cannot be read.
async fn hpa_status(client: &Client, cluster: &ClusterCache, key: &ObjectKey) -> Option<HorizontalPodAutoscalerStatus> {
    let name = cluster.hpas_of(&*cluster.object(key)?).into_iter().next()?;
    let api: Api<HorizontalPodAutoscaler> = Api::namespaced(client.clone(), &key.namespace);
    let read = api.get_opt(&name).await;
    let failed = |error: &kube::Error| debug!(namespace = %key.namespace, name = %key.name, %error, "HPA not read");
    read.inspect_err(failed).ok().flatten()?.status
}
