//! Reads a consumer. In a cluster, only the server that leads the consumer has its numbers: the search for it asks all servers, and
//! then this one alone, for as long as it leads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use http::HeaderMap;
use serde::de::DeserializeOwned;

use super::monitoring::{Consumer, ConsumerName, JetStreamPage, Missing, MonitoringEndpoint, SERVER_PAGE, ServerPage};
use crate::error::{Endpoint, ReadError};
use crate::http::{Address, Call, HttpClient};

/// How many servers are asked at once.
const ASKED_AT_ONCE: usize = 5;

/// A consumer, and where it is read.
#[derive(Debug)]
pub(super) struct ConsumerReader {
    client: Arc<HttpClient>,
    endpoint: MonitoringEndpoint,
    name: ConsumerName,
    limit: Duration,
    /// The server that led the consumer at the last reading.
    leader: Mutex<Option<Leader>>,
}

/// One run of a server. After a restart it has another id.
#[derive(Clone, Debug)]
struct Leader {
    endpoint: MonitoringEndpoint,
    server_id: String,
    server_name: String,
}

impl ConsumerReader {
    pub(super) fn new(
        client: Arc<HttpClient>,
        endpoint: MonitoringEndpoint,
        name: ConsumerName,
        limit: Duration,
    ) -> Self {
        Self { client, endpoint, name, limit, leader: Mutex::default() }
    }

    pub(super) fn endpoint(&self) -> &MonitoringEndpoint {
        &self.endpoint
    }

    /// The messages that the consumer has yet to process.
    pub(super) async fn fetch_lag(&self) -> Result<u64, ReadError> {
        match tokio::time::timeout(self.limit, self.fetch_lag_in_time()).await {
            Ok(lag) => lag,
            Err(_) => Err(ReadError::Timeout { endpoint: self.source(), limit: self.limit }),
        }
    }

    async fn fetch_lag_in_time(&self) -> Result<u64, ReadError> {
        if let Some(lag) = self.fetch_from_known_leader().await {
            return Ok(lag);
        }
        let page = self.fetch_page::<JetStreamPage>(&self.endpoint, &self.name.page()).await?;
        match page.is_of_cluster(&self.name) {
            true => self.find_leader(&page).await,
            false => page.consumer(&self.name).map(Consumer::lag).map_err(|missing| self.without_value(missing)),
        }
    }

    /// Asks the server that led the consumer, and nothing else if it still does.
    // KEDA: goes on asking a server that is gone, and keeps the numbers of a stream that is deleted.
    async fn fetch_from_known_leader(&self) -> Option<u64> {
        // It is forgotten until it has answered: a reading that ends here leads the next one to a search.
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let page = self.fetch_page::<JetStreamPage>(&leader.endpoint, &self.name.page()).await.ok()?;
        let consumer = page.led_consumer(&self.name, &leader.server_name).ok()?;
        let lag = (page.server_id == leader.server_id).then(|| consumer.lag())?;
        self.remember(leader);
        Some(lag)
    }

    /// Asks the servers of a cluster until one leads the consumer, beginning with the one that answered.
    async fn find_leader(&self, page: &JetStreamPage) -> Result<u64, ReadError> {
        let server: ServerPage = self.fetch_page(&self.endpoint, SERVER_PAGE).await?;
        let mut missing = match self.lag_at(&self.endpoint, page, &server) {
            Ok(lag) => return Ok(lag),
            Err(missing) => missing,
        };
        let asking = server.servers(&self.endpoint).into_iter().map(|endpoint| self.ask_server(endpoint));
        let mut answers = std::pin::pin!(stream::iter(asking).buffer_unordered(ASKED_AT_ONCE));
        let mut failure = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(Ok(lag)) => return Ok(lag),
                Ok(Err(other)) => missing = missing.max(other),
                // KEDA: one server that is down ends the search.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| self.without_value(missing)))
    }

    /// The lag, if this server leads the consumer.
    async fn ask_server(&self, endpoint: MonitoringEndpoint) -> Result<Result<u64, Missing>, ReadError> {
        let page: JetStreamPage = self.fetch_page(&endpoint, &self.name.page()).await?;
        if let Err(missing) = page.consumer(&self.name) {
            return Ok(Err(missing));
        }
        let server: ServerPage = self.fetch_page(&endpoint, SERVER_PAGE).await?;
        Ok(self.lag_at(&endpoint, &page, &server))
    }

    /// The lag, if both pages are of one server, which leads the consumer. Behind a load balancer, they may be of two.
    fn lag_at(&self, endpoint: &MonitoringEndpoint, page: &JetStreamPage, server: &ServerPage) -> Result<u64, Missing> {
        let consumer = page.led_consumer(&self.name, &server.server_name)?;
        if page.server_id != server.server_id {
            return Err(Missing::Leader);
        }
        let lag = consumer.lag();
        let (server_id, server_name) = (server.server_id.clone(), server.server_name.clone());
        self.remember(Leader { endpoint: endpoint.clone(), server_id, server_name });
        Ok(lag)
    }

    fn remember(&self, leader: Leader) {
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = Some(leader);
    }

    async fn fetch_page<T: DeserializeOwned>(&self, at: &MonitoringEndpoint, page: &str) -> Result<T, ReadError> {
        let address = Address::parse(&at.url(page)).map_err(|problem| ReadError::Malformed {
            endpoint: self.source(),
            problem: format!("it names a server whose address {problem}"),
        })?;
        let call = Call::get(address, HeaderMap::new(), self.limit).only_ok();
        let body = self.client.fetch(&call).await?;
        // The words of the parser would repeat what was read.
        let problem = "it is not what a NATS server answers; check `natsServerMonitoringEndpoint`";
        serde_json::from_slice(&body)
            .map_err(|_| ReadError::Malformed { endpoint: call.endpoint(), problem: problem.to_owned() })
    }

    fn without_value(&self, missing: Missing) -> ReadError {
        ReadError::NoValue { endpoint: self.source(), problem: missing.problem(&self.name) }
    }

    fn source(&self) -> Endpoint {
        Endpoint::from_host(self.endpoint.to_string())
    }
}
