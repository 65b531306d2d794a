//! Requests external metrics through the API server, each ten times a second, and records the responses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::Value;
use tokio::task::JoinHandle;

/// The time between two requests for a metric.
const REQUEST_INTERVAL: Duration = Duration::from_millis(100);

/// A request that takes longer has failed. Later requests do not wait for it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A metric of a ScaledObject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Metric {
    pub(crate) namespace: String,
    pub(crate) object: String,
    pub(crate) name: String,
}

struct Response {
    metric: Metric,
    at: Instant,
    value: Result<String, String>,
}

/// The responses for one metric during a handover.
#[derive(Clone, Debug)]
pub(crate) struct ProbeSummary {
    pub(crate) metric: Metric,
    /// The longest time between two valid responses.
    pub(crate) longest_gap: Duration,
    /// The time from the last valid response before the start of the new operator to the first one after it.
    pub(crate) handover_gap: Duration,
    /// When the first valid response after the start of the new operator arrived.
    pub(crate) first_response_at: Instant,
    /// The number of requests without a valid response.
    pub(crate) failures: usize,
    /// The distinct values.
    pub(crate) values: BTreeSet<String>,
    pub(crate) last_error: Option<String>,
}

type SharedResponses = Arc<Mutex<Vec<Response>>>;

/// Sends requests until it is dropped.
pub(crate) struct Prober {
    responses: SharedResponses,
    tasks: Vec<JoinHandle<()>>,
}

impl Prober {
    /// Starts sending requests. The client must not retry.
    pub(crate) fn start(client: &kube::Client, metrics: Vec<Metric>) -> Self {
        let responses = SharedResponses::default();
        let spawn = |metric: Metric| tokio::spawn(probe_forever(client.clone(), metric, responses.clone()));
        let tasks = metrics.into_iter().map(spawn).collect();
        Self { responses, tasks }
    }

    /// Summarizes the responses to each metric since `begun_at`; the new operator was started at `started_at`.
    pub(crate) fn summarize_since(&self, begun_at: Instant, started_at: Instant) -> Vec<ProbeSummary> {
        let responses = lock(&self.responses);
        let mut by_metric = BTreeMap::<&Metric, Vec<&Response>>::new();
        for response in responses.iter().filter(|response| response.at >= begun_at) {
            by_metric.entry(&response.metric).or_default().push(response);
        }
        by_metric.into_iter().filter_map(|(metric, responses)| summarize(metric, &responses, started_at)).collect()
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Returns `None` without a valid response both before and after the start of the new operator.
fn summarize(metric: &Metric, responses: &[&Response], started_at: Instant) -> Option<ProbeSummary> {
    let valid: Vec<&&Response> = responses.iter().filter(|response| response.value.is_ok()).collect();
    let longest_gap = valid.windows(2).map(|pair| pair[1].at - pair[0].at).max()?;
    let first_response_at = valid.iter().find(|response| response.at > started_at)?.at;
    let last_before = valid.iter().rfind(|response| response.at <= started_at)?.at;
    let mut errors = responses.iter().filter_map(|response| response.value.as_ref().err());
    Some(ProbeSummary {
        metric: metric.clone(),
        longest_gap,
        handover_gap: first_response_at - last_before,
        first_response_at,
        failures: responses.len() - valid.len(),
        values: valid.iter().filter_map(|response| response.value.as_ref().ok().cloned()).collect(),
        last_error: errors.next_back().cloned(),
    })
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no holder of the lock panics")
}

async fn probe_forever(client: kube::Client, metric: Metric, responses: SharedResponses) {
    let mut ticks = tokio::time::interval(REQUEST_INTERVAL);
    loop {
        ticks.tick().await;
        let (client, metric, responses) = (client.clone(), metric.clone(), responses.clone());
        tokio::spawn(async move {
            let value = match tokio::time::timeout(REQUEST_TIMEOUT, fetch_value(&client, &metric)).await {
                Ok(fetched) => fetched.map_err(|error| format!("{error:#}")),
                Err(_) => Err(format!("no response within {REQUEST_TIMEOUT:?}")),
            };
            lock(&responses).push(Response { metric, at: Instant::now(), value });
        });
    }
}

/// Fetches the value of a metric, as the quantity that the API returns.
async fn fetch_value(client: &kube::Client, metric: &Metric) -> anyhow::Result<String> {
    let Metric { namespace, object, name } = metric;
    let path = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{name}");
    let uri = format!("{path}?labelSelector=scaledobject.keda.sh%2Fname%3D{object}");
    let list: Value = match client.request(http::Request::get(uri).body(Vec::new())?).await {
        Err(kube::Error::Api(status)) => bail!("{} ({})", status.message, status.code),
        other => other?,
    };
    Ok(list["items"][0]["value"].as_str().unwrap_or("no value").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_between_two_valid_responses() {
        let metric = Metric { namespace: "n".into(), object: "o".into(), name: "m".into() };
        let begun_at = Instant::now();
        let response = |millis: u64, value: Result<&str, &str>| Response {
            metric: metric.clone(),
            at: begun_at + Duration::from_millis(millis),
            value: value.map(str::to_owned).map_err(str::to_owned),
        };
        let responses = [
            response(0, Ok("3")),
            response(100, Ok("3")),
            response(200, Err("refused")),
            response(900, Err("timed out")),
            response(1000, Ok("3")),
            response(1100, Ok("4")),
        ];
        let started_at = begun_at + Duration::from_millis(500);
        let summary = summarize(&metric, &responses.iter().collect::<Vec<_>>(), started_at).expect("valid responses");
        assert_eq!((summary.longest_gap, summary.failures), (Duration::from_millis(900), 2));
        assert_eq!(summary.handover_gap, Duration::from_millis(900));
        assert_eq!(summary.first_response_at, begun_at + Duration::from_millis(1000));
        assert_eq!(summary.values, BTreeSet::from(["3".to_owned(), "4".to_owned()]));
        assert_eq!(summary.last_error.as_deref(), Some("timed out"));
    }
}
