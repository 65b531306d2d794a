//! The Helm chart.
//!
//! | module | what is tested |
//! |---|---|
//! | [`rendered`] | what the chart renders for each set of values, compared with golden files |
//! | [`rejected`] | values that the chart rejects, with their messages |
//! | [`rbac`] | that no role allows more than its set of values requires |
//! | [`used_rbac`] | that the operator works with the rules it gets, and uses them |
//! | [`running`], [`scenarios`] | a release whose pods run, and the objects that it handles |
//! | [`rotation`] | certificate rotation while metrics are read and objects are validated |
//! | [`release`] | a release from installation to removal |
//! | [`pod_security`] | pods under the restricted pod security standard |

#[path = "chart/pod_security.rs"]
mod pod_security;
#[path = "chart/rbac.rs"]
mod rbac;
#[path = "chart/rejected.rs"]
mod rejected;
#[path = "chart/release.rs"]
mod release;
#[path = "chart/rendered.rs"]
mod rendered;
#[path = "chart/rotation.rs"]
mod rotation;
#[path = "chart/running.rs"]
mod running;
#[path = "chart/scenarios.rs"]
mod scenarios;
#[path = "chart/used_rbac.rs"]
pub(crate) mod used_rbac;

use std::fs;
use std::path::{Path, PathBuf};

use kedge_test_cluster::Cluster;
use kedge_tests::golden::{self, Case};
use kedge_tests::helm::{self, Document};
use serde_json::{Value, json};

/// The sets of values.
fn cases() -> Vec<Case> {
    let cases = golden::cases("helm");
    assert!(cases.len() >= 12, "only {} sets of values", cases.len());
    cases
}

/// The objects that a set of values renders, without the CRDs, which values do not change.
fn render(case: &Case) -> Vec<Document> {
    let values = format!("--values={}", case.path("values.yaml").display());
    let rendered = helm::template(&["--set=crds.install=false", &values]);
    rendered.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// A kubeconfig, in this folder, with a token of an account of the release and nothing else.
pub(crate) fn kubeconfig_of(cluster: &Cluster, folder: &Path, account: &str) -> PathBuf {
    let token = cluster.kubectl(["create", "token", account, "--namespace=keda", "--duration=1h"]).unwrap();
    let mut config: Value = serde_json::from_str(&fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({ "token": token.trim() });
    let path = folder.join(format!("kubeconfig-of-{account}"));
    fs::write(&path, config.to_string()).unwrap();
    path
}

/// Runs helm on a cluster.
fn helm_on(cluster: &Cluster, arguments: &[&str]) -> String {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let arguments = [arguments, &["--namespace=keda", &kubeconfig]].concat();
    helm::helm(&arguments).unwrap_or_else(|error| panic!("helm {arguments:?}: {error}"))
}
