//! What a cluster with Kedge runs: the operator, its metrics API and its webhooks, without sockets. All of it runs on the thread with the
//! virtual clock.

use std::sync::Arc;

use http::{Request, Response};
use kedge_cluster::Clock;
use kedge_metrics_api::InProcess;
use kedge_operator::{HistorySettings, KubeReads, Operator, OperatorView, Settings, credentials};
use kedge_plane::{Backend, Plane};
use kedge_scalers::Registry;
use kedge_webhooks::Webhooks;
use kedge_webhooks::index::Index;
use kedge_webhooks::lookups::KubeLookups;
use kube::client::Body;
use tokio::runtime::Handle;

use crate::cluster::{METRICS_HOST, OPERATOR, OPERATOR_NAMESPACE, WEBHOOKS_HOST};
use crate::sources::Sources;

/// What is kept of each object: a day of polls every five seconds, ever more coarsely, in about 250 KiB.
pub(crate) const HISTORY: HistorySettings = HistorySettings { samples_max: 2_000, steps_max: 200 };

/// How many objects are reconciled at once, as by default.
const CONCURRENCY: usize = 5;

/// Starts the operator, and registers what the API calls.
pub(crate) fn start(plane: &Plane, clock: Clock, sources: &Sources) -> (Operator, OperatorView) {
    let client = plane.client(OPERATOR);
    let settings = Settings {
        namespaces: Vec::new(),
        selector: None,
        concurrency: CONCURRENCY,
        instance: "playground".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        credentials: credentials::Settings {
            cluster_object_namespace: Some(OPERATOR_NAMESPACE.to_owned()),
            ..credentials::Settings::default()
        },
        election: None,
        history: Some(HISTORY),
        runs_scaled_jobs: true,
    };
    let reads = Arc::new(KubeReads::new(client.clone(), settings.credentials.clone()));
    let trusted =
        kedge_scalers::Settings { extra_roots: vec![sources.ca.certificate()], ..kedge_scalers::Settings::default() };
    let registry = Registry::new(trusted, sources.connector(), reads).with_substitute(sources.substitute());
    let operator = Operator::start(client.clone(), clock, registry, settings);
    let metrics = Arc::new(InProcess::new(Arc::new(operator.source()), &kedge_metrics_api::Settings::default()));
    let answer = move |request: Request<Body>| {
        let metrics = metrics.clone();
        async move {
            metrics.handle(&request.into_parts().0).await.map(|body| Body::from(body.into_inner().unwrap_or_default()))
        }
    };
    plane.register_backend(METRICS_HOST, on_this_thread(answer));
    let (index, telemetry) = (Arc::new(Index::default()), Arc::default());
    tokio::spawn(index.clone().watch(client.clone()));
    let webhooks = Arc::new(Webhooks::new(index, Arc::new(KubeLookups::new(client)), telemetry));
    let answer = move |request: Request<Body>| {
        let webhooks = webhooks.clone();
        async move { webhooks.handle(request).await.map(|body| Body::from(body.into_inner().unwrap_or_default())) }
    };
    plane.register_backend(WEBHOOKS_HOST, on_this_thread(answer));
    let view = operator.view().expect("histories are kept");
    (operator, view)
}

/// A backend that works on this thread, with its clock, whoever calls.
fn on_this_thread<F>(answer: impl Fn(Request<Body>) -> F + Send + Sync + 'static) -> Backend
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let runtime = Handle::current();
    Backend::new(move |request| {
        let task = runtime.spawn(answer(request));
        async move { task.await.map_err(|error| error.to_string()) }
    })
}
