//! Tests on a real cluster: kube-apiserver, the HPA controller, kwok's nodes. And those that need a program built from Go.

// Tests and their helpers panic at the first failure.
#![allow(clippy::unwrap_used)]

#[path = "cluster/chart.rs"]
mod chart;
#[path = "cluster/crd_parity.rs"]
mod crd_parity;
#[path = "cluster/dashboards.rs"]
mod dashboards;
#[path = "cluster/hpa_timelines.rs"]
mod hpa_timelines;
#[path = "cluster/image.rs"]
mod image;
#[path = "cluster/keda.rs"]
mod keda;
#[path = "cluster/live_dashboard.rs"]
mod live_dashboard;
#[path = "cluster/migrate.rs"]
mod migrate;
#[path = "cluster/oracle.rs"]
mod oracle;
#[path = "cluster/playground.rs"]
mod playground;
#[path = "cluster/prometheus.rs"]
mod prometheus;
#[path = "cluster/quickstart.rs"]
mod quickstart;
#[path = "cluster/rbac.rs"]
mod rbac;
#[path = "cluster/scaled_jobs.rs"]
mod scaled_jobs;
#[path = "cluster/scaling.rs"]
mod scaling;
#[path = "cluster/shared.rs"]
mod shared;
#[path = "cluster/test_cluster.rs"]
mod test_cluster;
#[path = "cluster/users_see.rs"]
mod users_see;
