//! A real Kubernetes control plane on one machine: etcd, kube-apiserver, kube-controller-manager with the real HPA
//! controller, kube-scheduler, and nodes played by kwok. No kubelet, no containers, no downloads of binaries. Where the
//! environment says so, the API in memory of `crates/plane` takes its place.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use std::time::Duration;
//! let cluster = kedge_test_cluster::Cluster::builder("my-test").hpa_sync_period(Duration::from_secs(1)).start().await?;
//! let client = cluster.client().await?;
//! println!("{}", cluster.kubectl(["get", "nodes"])?);
//! # Ok(()) }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`tools`] | the programs, built once from the pinned Go modules in `go/` into a cache |
//! | [`builder`] | the options of a cluster, and starting it; any number run side by side |
//! | [`cluster`] | using and stopping one cluster |
//! | [`control_plane`] | what it is made of: the real programs, or the API in memory of `crates/plane` |
//! | `real`, `embedded` | how each of the two is started |
//! | [`external_metrics`] | a process beside a cluster, registered as its external metrics API |
//! | [`operator`] | an operator beside a cluster, registered as its external metrics API |
//! | [`running_keda`] | the real KEDA beside a cluster, as processes |
//! | [`balancer`] | one address for several replicas of it |
//! | [`prometheus`] | a real Prometheus server |
//! | [`kafka`] | a real Kafka broker |
//! | [`moto`] | AWS services as a process |
//! | [`mysql`] | a real MariaDB server |
//! | [`nats`] | real NATS servers with JetStream: alone, or a cluster |
//! | [`postgresql`] | a real PostgreSQL server |
//! | [`rabbitmq`] | a real RabbitMQ broker, with its management API |
//! | [`oracle`] | KEDA's own scalers, and what they are asked |
//! | [`redis`] | real Redis servers: alone, in a cluster, or behind a sentinel |
//! | `options` | the options of a cluster |
//! | `kube_client` | a client made from a kubeconfig |
//! | `reader` | reads of the API server from synchronous code |
//! | `metrics_server` | a real metrics-server beside a cluster |
//! | `components` | the command line of each program |
//! | [`keda`] | KEDA's CRDs from its source, and a chart that owns them as KEDA's does |
//! | [`cargo`] | running cargo on this workspace |
//! | [`process`] | child processes that end when their owner ends, however it ends |
//! | `state` | the folder of a cluster: who owns it, and clearing up after an owner that was killed |
//! | [`ports`] | ports that no other cluster on this machine gets |
//! | `certificates` | keys, certificates and kubeconfigs |
//! | [`http`] | single requests, for probes and metrics |
//! | [`http_source`] | a metric source over HTTP whose responses a test sets |
//! | [`example_scaler`] | an external scaler as a process, whose queue a test sets |
//! | [`silent_server`] | a server that accepts connections and never responds |
//! | [`slowdown`] | how much other work slows this machine down |
//! | [`audit`] | counts writes by user, from the audit log |
//! | [`usage`] | the memory and the processor time of a process |
//! | [`machine`] | the versions of the software, and the size of the machine |
//! | [`result_document`] | a document with the result of a measurement |
//! | [`wait`] | waiting for a condition with a deadline |
//!
//! Linux only: clearing up after a killed owner reads `/proc`.

pub mod audit;
pub mod balancer;
pub mod builder;
pub mod cargo;
pub mod cluster;
pub mod control_plane;
pub mod example_scaler;
pub mod external_metrics;
pub mod http;
pub mod http_source;
pub mod kafka;
pub mod keda;
pub mod machine;
pub mod moto;
pub mod mysql;
pub mod nats;
pub mod operator;
pub mod oracle;
pub mod ports;
pub mod postgresql;
pub mod process;
pub mod prometheus;
pub mod rabbitmq;
pub mod redis;
pub mod result_document;
pub mod running_keda;
pub mod silent_server;
pub mod slowdown;
pub mod tools;
pub mod usage;
pub mod wait;

mod cache;
mod certificates;
mod components;
mod embedded;
mod kube_client;
mod metrics_server;
mod nodes;
mod options;
mod reader;
mod real;
mod state;

pub use builder::ClusterBuilder;
pub use cluster::Cluster;
pub use control_plane::ControlPlane;
pub use operator::{Launch, RunningOperator};
pub use prometheus::Prometheus;
pub use running_keda::RunningKeda;
pub use state::{Owner, StateFolder};
