//! Two replicas of the operator, of which one is the leader.

use anyhow::Context;
use kedge_test_cluster::{Cluster, Launch};

const NAMESPACE: &str = "kedge";
const LEASE: &str = "operator.keda.sh";

/// Replica 0 or 1, which elect a leader.
pub(super) fn replica(number: usize, flags: &[&str]) -> Launch {
    let environment = [("POD_NAMESPACE", NAMESPACE.to_owned()), ("POD_NAME", name_of(number))];
    Launch {
        name: name_of(number),
        flags: ["--leader-elect"].iter().chain(flags).map(|flag| (*flag).to_owned()).collect(),
        environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    }
}

/// The replica that holds the Lease, if one does.
pub(super) fn leader(cluster: &Cluster) -> anyhow::Result<Option<usize>> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}");
    let lease = cluster.read(&path)?.context("there is no Lease")?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    Ok((0..2).find(|number| holder.starts_with(&format!("{}_", name_of(*number)))))
}

fn name_of(number: usize) -> String {
    format!("replica-{number}")
}
