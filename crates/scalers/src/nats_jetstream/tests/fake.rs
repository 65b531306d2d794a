//! A cluster in memory.

use super::*;

/// Servers in memory, by host.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeCluster(Arc<Mutex<Fakes>>);

#[derive(Debug, Default)]
pub(super) struct Fakes {
    /// Server names by host; a host without one refuses connections.
    pub(super) servers: Vec<(&'static str, &'static str)>,
    pub(super) leader: &'static str,
    /// The part of the id that a restart changes.
    pub(super) run: usize,
    pub(super) lag: u64,
    pub(super) has_stream: bool,
    asked: Vec<String>,
}

impl FakeCluster {
    pub(super) fn start() -> Self {
        let servers = vec![("nats.q", "a"), ("a.q", "a"), ("b.q", "b"), ("c.q", "c")];
        Self(Arc::new(Mutex::new(Fakes { servers, leader: "b", run: 1, lag: 7, has_stream: true, asked: Vec::new() })))
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Fakes)) {
        change(&mut self.0.lock().unwrap());
    }

    pub(super) fn connector(&self) -> Connector {
        let cluster = self.clone();
        Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (cluster, host) = (cluster.clone(), uri.host().unwrap().to_owned());
            Box::pin(async move {
                let (ours, mut theirs) = tokio::io::duplex(1 << 16);
                if cluster.0.lock().unwrap().name(&host).is_none() {
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                tokio::spawn(async move {
                    let mut buffer = vec![0; 1 << 16];
                    while let Ok(read @ 1..) = theirs.read(&mut buffer).await {
                        let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                        let answer = cluster.0.lock().unwrap().answer(&host, &request);
                        let Some(answer) = answer else { return };
                        let _ = theirs.write_all(&answer).await;
                    }
                });
                Ok(Box::new(ours) as BoxStream)
            })
        })
    }

    /// The pages that were asked for since the last time.
    pub(super) fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut self.0.lock().unwrap().asked);
        asked.sort();
        asked
    }
}

impl Fakes {
    fn name(&self, host: &str) -> Option<&'static str> {
        self.servers.iter().find(|(known, _)| *known == host).map(|(_, name)| *name)
    }

    fn answer(&mut self, host: &str, request: &str) -> Option<Vec<u8>> {
        let page = request.split([' ', '?']).nth(1).unwrap();
        self.asked.push(format!("{host}{page}"));
        let name = self.name(host)?;
        let id = format!("{name}{}", self.run);
        let body = match page {
            "/varz" => {
                let urls: Vec<_> = ["a.q:4222", "b.q:4222", "c.q:4222"].into();
                json!({ "server_id": id, "server_name": name, "connect_urls": urls, "cluster": {} })
            }
            _ => {
                // A follower has numbers too, but not the true ones.
                let lag = if name == self.leader { self.lag } else { 1000 };
                let cluster = json!({ "leader": self.leader, "replicas": [{ "current": true }, { "current": true }] });
                let consumer =
                    json!({ "name": "worker", "num_pending": lag, "num_ack_pending": 0, "cluster": cluster });
                let streams = if self.has_stream {
                    json!([{ "name": "orders", "consumer_detail": [consumer] }])
                } else {
                    Value::Null
                };
                let accounts = json!([{ "id": "$G", "name": "$G", "stream_detail": streams }]);
                json!({ "server_id": id, "meta_cluster": { "cluster_size": 3 }, "account_details": accounts })
            }
        };
        Some(http_answer("200 OK", &body.to_string()))
    }
}
