//! Counts writes by user, from the API server's audit log.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

use kedge_test_cluster::{Cluster, operator};
use serde_json::Value;

/// The user that KEDA runs as; no other client of this user writes HPAs or the scale subresource.
const KEDA_USER: &str = "admin";

/// A position in the audit log, in bytes.
pub(crate) struct LogPosition(u64);

/// The number of writes of HPAs, and of the scale subresource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) hpas: WritesByPeer,
    pub(crate) scales: WritesByPeer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WritesByPeer {
    pub(crate) keda: usize,
    pub(crate) kedge: usize,
}

impl LogPosition {
    /// Returns the current end of the log.
    pub(crate) fn end(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self(fs::metadata(cluster.audit_log())?.len()))
    }

    /// Counts the writes that were logged after this position.
    pub(crate) fn count_writes_since(&self, cluster: &Cluster) -> anyhow::Result<Writes> {
        let mut log = File::open(cluster.audit_log())?;
        log.seek(SeekFrom::Start(self.0))?;
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        Ok(count_writes(&text))
    }
}

fn count_writes(log: &str) -> Writes {
    let mut writes = Writes::default();
    for entry in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let object = &entry["objectRef"];
        let succeeded = entry["responseStatus"]["code"].as_i64().is_some_and(|code| code < 300);
        let is_write = matches!(entry["verb"].as_str(), Some("create" | "update" | "patch" | "delete"));
        if !succeeded || !is_write || entry["stage"] != "ResponseComplete" {
            continue;
        }
        let by_peer = match (object["resource"].as_str(), object["subresource"].as_str()) {
            (Some("horizontalpodautoscalers"), None) => &mut writes.hpas,
            (_, Some("scale")) => &mut writes.scales,
            _ => continue,
        };
        match entry["user"]["username"].as_str() {
            Some(KEDA_USER) => by_peer.keda += 1,
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
            line(KEDA_USER, "update", hpa, Value::Null, 200),
            line(KEDA_USER, "get", hpa, Value::Null, 200),
            line(KEDA_USER, "update", hpa, Value::Null, 409),
            line(operator::IDENTITY, "update", hpa, Value::Null, 200),
            line(operator::IDENTITY, "update", "deployments", json!("scale"), 200),
            line("system:serviceaccount:kube-system:horizontal-pod-autoscaler", "update", hpa, json!("status"), 200),
        ];
        let expected = Writes { hpas: WritesByPeer { keda: 1, kedge: 1 }, scales: WritesByPeer { keda: 0, kedge: 1 } };
        assert_eq!(count_writes(&log.join("\n")), expected);
    }
}
