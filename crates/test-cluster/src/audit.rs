//! Counts writes by user, from the API server's audit log.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::{operator, running_keda};

/// The groups whose resources are questions: to create one writes nothing.
const QUESTIONS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// A position in the audit log, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct LogPosition(u64);

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

    fn read_since(&self, cluster: &Cluster) -> anyhow::Result<String> {
        let mut log = File::open(cluster.audit_log())?;
        log.seek(SeekFrom::Start(self.0))?;
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        Ok(text)
    }
}

fn successful_writes(log: &str) -> impl Iterator<Item = Value> {
    log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|entry| {
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
            line("system:serviceaccount:kube-system:horizontal-pod-autoscaler", "update", hpa, json!("status"), 200),
        ];
        let expected = Writes { hpas: WritesByPeer { keda: 1, kedge: 1 }, scales: WritesByPeer { keda: 0, kedge: 1 } };
        assert_eq!(count_writes(&log.join("\n")), expected);
    }
}
