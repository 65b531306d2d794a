//! Clusters of Kafka as triggers share them: one connection to each broker, and one view of topics and groups.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster`, `view` | the brokers of a cluster, and which of them is asked for what |
//! | `preference` | which servers are asked first for what every broker knows |
//! | `broker` | one connection for the questions of many triggers |
//! | `session`, `sign_in` | how a connection begins |
//! | `connection` | what is exchanged on it |
//! | `failure` | what the errors of brokers mean |

mod broker;
mod cluster;
mod connection;
mod failure;
mod preference;
mod session;
mod sign_in;
mod view;

pub(crate) use broker::Broker;
pub(crate) use cluster::{Cluster, ClusterKey, KafkaClusters};
pub(crate) use failure::{Failure, Subject};
pub(crate) use sign_in::{Credentials, MskForm, User};
pub(crate) use view::{Partition, Topic, Wanted};
