//! The cases of each family: pure. Each module is for one family, and is as long as it has parameters.

pub(super) mod aws_cloudwatch;
pub(super) mod aws_sqs_queue;
pub(super) mod kafka;
pub(super) mod kubernetes_resource;
pub(super) mod mysql;
pub(super) mod nats_jetstream;
pub(super) mod postgresql;
pub(super) mod rabbitmq;
pub(super) mod redis;

mod aws;
mod sql;
