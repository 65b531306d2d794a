mod broker;
mod management;
mod parameters;

use crate::http::Settings;
use crate::http::connector::Connector;
use crate::sample::Sample;
use crate::{NoCluster, Registry};

use super::*;

fn registry(connector: Connector) -> Registry {
    Registry::new(Settings::default(), connector, Arc::new(NoCluster))
}

fn over_http() -> Sample {
    Sample::new("rabbitmq").with("host", "http://user:hunter2@rabbit:15672/shop").with("queueName", "orders")
}

fn over_amqp() -> Sample {
    Sample::new("rabbitmq").with("host", "amqp://user:hunter2@rabbit:5672/shop").with("queueName", "orders")
}

async fn read(scaler: &Arc<dyn Scaler>) -> Result<Known, ReadError> {
    scaler.read("", DateTime::UNIX_EPOCH).await
}
