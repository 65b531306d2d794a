//! What scalers share: clients, connections, cloud identities, and reads of the cluster.

use std::sync::Arc;

use crate::amqp_session::AmqpSessions;
use crate::cluster::ClusterReads;
use crate::grpc::Channels;
use crate::http::connector::Connector;
use crate::http::{HttpClients, Settings};
use crate::identity::Signers;
use crate::kafka_cluster::KafkaClusters;
use crate::mysql_session::MysqlSessions;
use crate::postgres_session::PostgresSessions;
use crate::redis_session::RedisSessions;

/// Each scaler is built with it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) http: Arc<HttpClients>,
    pub(crate) grpc: Channels,
    pub(crate) redis: Arc<RedisSessions>,
    pub(crate) kafka: KafkaClusters,
    pub(crate) postgres: PostgresSessions,
    pub(crate) mysql: MysqlSessions,
    pub(crate) amqp: AmqpSessions,
    /// The cloud identities in use, with their cached credentials.
    pub(crate) signers: Signers,
    pub(crate) cluster: Arc<dyn ClusterReads>,
}

impl Shared {
    pub(crate) fn new(settings: Settings, connector: Connector, cluster: Arc<dyn ClusterReads>) -> Self {
        let http = Arc::new(HttpClients::new(settings, connector));
        Self {
            http,
            grpc: Channels::default(),
            redis: Arc::default(),
            kafka: KafkaClusters::default(),
            postgres: PostgresSessions::default(),
            mysql: MysqlSessions::default(),
            amqp: AmqpSessions::default(),
            signers: Signers::default(),
            cluster,
        }
    }
}
