//! Who wrote what, from the API server's own log.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

use kedge_test_cluster::{Cluster, operator};
use serde_json::Value;

/// KEDA is the administrator here; no other client with that name writes HPAs or scales.
const KEDA: &str = "admin";

/// A place in the log.
pub(crate) struct Mark(u64);

/// How often each wrote HPAs, and the scale of targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) hpas: ByWhom,
    pub(crate) scales: ByWhom,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByWhom {
    pub(crate) keda: usize,
    pub(crate) kedge: usize,
}

impl Mark {
    /// The end of the log.
    pub(crate) fn now(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self(fs::metadata(cluster.audit_log())?.len()))
    }

    /// What was written since.
    pub(crate) fn writes(&self, cluster: &Cluster) -> anyhow::Result<Writes> {
        let mut log = File::open(cluster.audit_log())?;
        log.seek(SeekFrom::Start(self.0))?;
        let mut text = String::new();
        log.read_to_string(&mut text)?;
        Ok(count(&text))
    }
}

fn count(log: &str) -> Writes {
    let mut writes = Writes::default();
    for entry in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let object = &entry["objectRef"];
        let done = entry["responseStatus"]["code"].as_i64().is_some_and(|code| code < 300);
        let is_write = matches!(entry["verb"].as_str(), Some("create" | "update" | "patch" | "delete"));
        if !done || !is_write || entry["stage"] != "ResponseComplete" {
            continue;
        }
        let of = match (object["resource"].as_str(), object["subresource"].as_str()) {
            (Some("horizontalpodautoscalers"), None) => &mut writes.hpas,
            (_, Some("scale")) => &mut writes.scales,
            _ => continue,
        };
        match entry["user"]["username"].as_str() {
            Some(KEDA) => of.keda += 1,
            Some(operator::IDENTITY) => of.kedge += 1,
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
    fn writes_are_counted_by_writer() {
        let line = |user: &str, verb: &str, resource: &str, subresource: Value, code: u16| {
            let object = json!({ "resource": resource, "subresource": subresource });
            let status = json!({ "code": code });
            let user = json!({ "username": user });
            json!({ "stage": "ResponseComplete", "user": user, "verb": verb, "objectRef": object, "responseStatus": status })
                .to_string()
        };
        let hpa = "horizontalpodautoscalers";
        let log = [
            line(KEDA, "update", hpa, Value::Null, 200),
            line(KEDA, "get", hpa, Value::Null, 200),
            line(KEDA, "update", hpa, Value::Null, 409),
            line(operator::IDENTITY, "update", hpa, Value::Null, 200),
            line(operator::IDENTITY, "update", "deployments", json!("scale"), 200),
            line("system:serviceaccount:kube-system:horizontal-pod-autoscaler", "update", hpa, json!("status"), 200),
        ];
        let expected = Writes { hpas: ByWhom { keda: 1, kedge: 1 }, scales: ByWhom { keda: 0, kedge: 1 } };
        assert_eq!(count(&log.join("\n")), expected);
    }
}
