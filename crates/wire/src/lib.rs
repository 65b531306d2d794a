//! Codecs of the protocols that sources speak. They are pure: bytes in, values out. Who connects, signs in and waits is left to the
//! caller.
//!
//! | module | what it holds |
//! |---|---|
//! | [`amqp`] | AMQP 0-9-1, which RabbitMQ speaks |
//! | [`kafka`] | the protocol of Kafka |
//! | [`postgres`] | the protocol of PostgreSQL |
//! | [`mysql`] | the protocol of MySQL and MariaDB |
//! | [`resp`] | RESP2, which Redis speaks |
//! | [`scram`] | signing in with a password that is not sent |

pub mod amqp;
pub mod kafka;
pub mod mysql;
pub mod postgres;
pub mod resp;
pub mod scram;
