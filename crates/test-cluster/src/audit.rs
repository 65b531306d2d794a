//! Writes, and reads of metrics, by user, from the API server's audit log.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::{operator, running_keda};

/// The account of the HPA controller.
pub const HPA_CONTROLLER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

/// The groups whose resources are questions: to create one writes nothing.
const QUESTIONS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// A position in the audit log, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct LogPosition(u64);

/// A read of an external metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricRead {
    pub path: String,
    pub at: SystemTime,
    pub took: Duration,
}

/// The number of writes of HPAs, and of the scale subresource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    pub hpas: WritesByPeer,
    pub scales: WritesByPeer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritesByPeer {
    pub keda: usize,
    pub kedge: usize,
}

impl LogPosition {
    /// Returns the current end of the log.
    pub fn end(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self(fs::metadata(cluster.audit_log())?.len()))
    }

    /// Counts the writes of HPAs, and of the scale subresource, that were logged after this position.
    pub fn count_writes_since(&self, cluster: &Cluster) -> anyhow::Result<Writes> {
        Ok(count_writes(&self.read_since(cluster)?))
    }

    /// Counts all writes of a user that were logged after this position.
    pub fn count_writes_of(&self, cluster: &Cluster, user: &str) -> anyhow::Result<usize> {
        let log = self.read_since(cluster)?;
        Ok(successful_writes(&log).filter(|entry| entry["user"]["username"] == user).count())
    }

    /// When a user read each external metric, as logged after this position, and how long the API server took.
    pub fn metric_reads_of(&self, cluster: &Cluster, user: &str) -> anyhow::Result<Vec<MetricRead>> {
        let log = self.read_since(cluster)?;
        Ok(entries(&log)
            .filter(|entry| entry["user"]["username"] == user)
            .filter_map(|entry| metric_read(&entry))
            .collect())
    }

    fn read_since(&self, cluster: &Cluster) -> anyhow::Result<String> {
        let mut log = File::open(cluster.audit_log())?;
        log.seek(SeekFrom::Start(self.0))?;
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        Ok(text)
    }
}

fn metric_read(entry: &Value) -> Option<MetricRead> {
    let is_read = entry["objectRef"]["apiGroup"] == "external.metrics.k8s.io" && entry["stage"] == "ResponseComplete";
    let time = |name: &str| Some(SystemTime::from(entry[name].as_str()?.parse::<Timestamp>().ok()?));
    let (at, ended_at) = (time("requestReceivedTimestamp")?, time("stageTimestamp")?);
    let took = ended_at.duration_since(at).unwrap_or_default();
    is_read.then(|| MetricRead { path: entry["requestURI"].as_str().unwrap_or_default().to_owned(), at, took })
}

fn entries(log: &str) -> impl Iterator<Item = Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn successful_writes(log: &str) -> impl Iterator<Item = Value> {
    entries(log).filter(|entry| {
        let succeeded = entry["responseStatus"]["code"].as_i64().is_some_and(|code| code < 300);
        let changes = matches!(entry["verb"].as_str(), Some("create" | "update" | "patch" | "delete"));
        let asks = entry["objectRef"]["apiGroup"].as_str().is_some_and(|group| QUESTIONS.contains(&group));
        succeeded && changes && !asks && entry["stage"] == "ResponseComplete"
    })
}

fn count_writes(log: &str) -> Writes {
    let mut writes = Writes::default();
    for entry in successful_writes(log) {
        let object = &entry["objectRef"];
        let by_peer = match (object["resource"].as_str(), object["subresource"].as_str()) {
            (Some("horizontalpodautoscalers"), None) => &mut writes.hpas,
            (_, Some("scale")) => &mut writes.scales,
            _ => continue,
        };
        match entry["user"]["username"].as_str() {
            Some(running_keda::USER) => by_peer.keda += 1,
            Some(operator::IDENTITY) => by_peer.kedge += 1,
            _ => {}
        }
    }
    writes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_read_of_a_metric_has_its_time_and_its_duration() {
        let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-cron";
        let entry = |group: &str| {
            json!({
                "stage": "ResponseComplete", "requestURI": path, "objectRef": { "apiGroup": group },
                "requestReceivedTimestamp": "2026-06-01T12:00:00.000000Z", "stageTimestamp": "2026-06-01T12:00:00.002000Z",
            })
        };
        let read = metric_read(&entry("external.metrics.k8s.io")).unwrap();
        assert_eq!((read.path.as_str(), read.took), (path, Duration::from_millis(2)));
        assert_eq!(metric_read(&entry("apps")), None);
    }

    #[test]
    fn successful_writes_are_counted_by_user() {
        let line = |user: &str, verb: &str, resource: &str, subresource: Value, code: u16| {
            let event = json!({
                "stage": "ResponseComplete",
                "user": { "username": user },
                "verb": verb,
                "objectRef": { "resource": resource, "subresource": subresource },
                "responseStatus": { "code": code },
            });
            event.to_string()
        };
        let hpa = "horizontalpodautoscalers";
        let log = [
            line(running_keda::USER, "update", hpa, Value::Null, 200),
            line(running_keda::USER, "get", hpa, Value::Null, 200),
            line(running_keda::USER, "update", hpa, Value::Null, 409),
            line(operator::IDENTITY, "update", hpa, Value::Null, 200),
            line(operator::IDENTITY, "update", "deployments", json!("scale"), 200),
            line(HPA_CONTROLLER, "update", hpa, json!("status"), 200),
        ];
        let expected = Writes { hpas: WritesByPeer { keda: 1, kedge: 1 }, scales: WritesByPeer { keda: 0, kedge: 1 } };
        assert_eq!(count_writes(&log.join("\n")), expected);
    }
}
