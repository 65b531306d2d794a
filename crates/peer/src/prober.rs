//! Whether external metrics are answered through the API server: several objects, each asked ten times a second, as no HPA would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::Value;
use tokio::task::JoinHandle;

/// How often each is asked.
const EVERY: Duration = Duration::from_millis(100);

/// What takes longer is no answer; those that follow do not wait for it.
const PATIENCE: Duration = Duration::from_secs(2);

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

/// What was seen of one metric in a while.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    pub(crate) metric: Metric,
    /// The longest time between one good answer and the next.
    pub(crate) longest: Duration,
    /// The time from the last good answer before the start of the new one to the first after it.
    pub(crate) across: Duration,
    /// When that first one came.
    pub(crate) answered_at: Instant,
    /// How many questions in the while had no good answer.
    pub(crate) failures: usize,
    /// The different values.
    pub(crate) values: BTreeSet<String>,
    /// What was said instead of a value, last.
    pub(crate) last_failure: Option<String>,
}

type Answers = Arc<Mutex<Vec<Response>>>;

/// Asks until it is dropped.
pub(crate) struct Prober {
    answers: Answers,
    tasks: Vec<JoinHandle<()>>,
}

impl Prober {
    /// Begins to ask. The client is not to try again by itself.
    pub(crate) fn start(client: &kube::Client, metrics: Vec<Metric>) -> Self {
        let answers = Answers::default();
        let ask = |metric: Metric| tokio::spawn(ask_again_and_again(client.clone(), metric, answers.clone()));
        let tasks = metrics.into_iter().map(ask).collect();
        Self { answers, tasks }
    }

    /// What was seen of each metric since a moment, where the new one was started at another.
    pub(crate) fn since(&self, moment: Instant, started_at: Instant) -> Vec<Gap> {
        let answers = lock(&self.answers);
        let mut by_metric = BTreeMap::<&Metric, Vec<&Response>>::new();
        for answer in answers.iter().filter(|answer| answer.at >= moment) {
            by_metric.entry(&answer.metric).or_default().push(answer);
        }
        by_metric.into_iter().filter_map(|(metric, answers)| gap(metric, &answers, started_at)).collect()
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Nothing, if there was no good answer before or after the start of the new one.
fn gap(metric: &Metric, answers: &[&Response], started_at: Instant) -> Option<Gap> {
    let good: Vec<&&Response> = answers.iter().filter(|answer| answer.value.is_ok()).collect();
    let longest = good.windows(2).map(|pair| pair[1].at - pair[0].at).max()?;
    let answered_at = good.iter().find(|answer| answer.at > started_at)?.at;
    let last_before = good.iter().rfind(|answer| answer.at <= started_at)?.at;
    let mut bad = answers.iter().filter_map(|answer| answer.value.as_ref().err());
    Some(Gap {
        metric: metric.clone(),
        longest,
        across: answered_at - last_before,
        answered_at,
        failures: answers.len() - good.len(),
        values: good.iter().filter_map(|answer| answer.value.as_ref().ok().cloned()).collect(),
        last_failure: bad.next_back().cloned(),
    })
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no holder of the lock panics")
}

async fn ask_again_and_again(client: kube::Client, metric: Metric, answers: Answers) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let (client, metric, answers) = (client.clone(), metric.clone(), answers.clone());
        tokio::spawn(async move {
            let value = match tokio::time::timeout(PATIENCE, ask(&client, &metric)).await {
                Ok(answered) => answered.map_err(|error| format!("{error:#}")),
                Err(_) => Err(format!("no answer within {PATIENCE:?}")),
            };
            lock(&answers).push(Response { metric, at: Instant::now(), value });
        });
    }
}

/// The value, as the API words it.
async fn ask(client: &kube::Client, metric: &Metric) -> anyhow::Result<String> {
    let Metric { namespace, object, name } = metric;
    let path = format!(
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{name}?labelSelector=scaledobject.keda.sh%2Fname%3D{object}"
    );
    let found: Value = match client.request(http::Request::get(path).body(Vec::new())?).await {
        Err(kube::Error::Api(status)) => bail!("{} ({})", status.message, status.code),
        other => other?,
    };
    Ok(found["items"][0]["value"].as_str().unwrap_or("no value").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_the_longest_time_without_a_good_answer() {
        let metric = Metric { namespace: "n".into(), object: "o".into(), name: "m".into() };
        let begin = Instant::now();
        let answer = |millis: u64, value: Result<&str, &str>| Response {
            metric: metric.clone(),
            at: begin + Duration::from_millis(millis),
            value: value.map(str::to_owned).map_err(str::to_owned),
        };
        let answers = [
            answer(0, Ok("3")),
            answer(100, Ok("3")),
            answer(200, Err("gone")),
            answer(900, Err("still gone")),
            answer(1000, Ok("3")),
            answer(1100, Ok("4")),
        ];
        let started_at = begin + Duration::from_millis(500);
        let seen = gap(&metric, &answers.iter().collect::<Vec<_>>(), started_at).expect("there were good answers");
        assert_eq!((seen.longest, seen.failures), (Duration::from_millis(900), 2));
        assert_eq!((seen.across, seen.answered_at), (Duration::from_millis(900), begin + Duration::from_millis(1000)));
        assert_eq!(seen.values, BTreeSet::from(["3".to_owned(), "4".to_owned()]));
        assert_eq!(seen.last_failure.as_deref(), Some("still gone"));
    }
}
