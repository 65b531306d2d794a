//! The servers of each family, with the states that readings are taken of.

pub(super) mod aws;
pub(super) mod kafka;
pub(super) mod mysql;
pub(super) mod nats;
pub(super) mod postgresql;
pub(super) mod rabbitmq;
pub(super) mod redis;
