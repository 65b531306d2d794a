//! The trust configuration, fetched from the cluster and kept fresh. Its meaning is `config`'s.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::config::{ConfigError, TrustConfig};

/// Where kube-apiserver publishes it.
pub const CONFIG_NAMESPACE: &str = "kube-system";
pub const CONFIG_MAP: &str = "extension-apiserver-authentication";

const BACKOFF_MIN: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// How long the API server may take to start a response.
const RESPONSE_LIMIT: Duration = Duration::from_secs(30);

/// The API server ends a watch after 290 s, kube's default; a watch that stays silent for longer has lost its connection.
const SILENCE_MAX: Duration = Duration::from_secs(300);

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("the ConfigMap {CONFIG_NAMESPACE}/{CONFIG_MAP} cannot be read")]
    Fetch(#[from] kube::Error),
    #[error("the ConfigMap {CONFIG_NAMESPACE}/{CONFIG_MAP} cannot be used")]
    Config(#[from] ConfigError),
    #[error("the watch of the ConfigMap {CONFIG_NAMESPACE}/{CONFIG_MAP} was refused: {0}")]
    Watch(String),
    #[error("the API server said nothing about the ConfigMap {CONFIG_NAMESPACE}/{CONFIG_MAP} for {0:?}")]
    Silence(Duration),
}

/// The current trust configuration, shared by all requests. A replacement takes effect with the next request.
#[derive(Clone, Debug)]
pub struct Trust(watch::Sender<Arc<TrustConfig>>);

impl Trust {
    pub fn new(config: TrustConfig) -> Self {
        Self(watch::Sender::new(Arc::new(config)))
    }

    /// Reads the configuration that the cluster publishes.
    pub async fn fetch(client: &kube::Client) -> Result<Self, TrustError> {
        let map = within(RESPONSE_LIMIT, config_maps(client).get(CONFIG_MAP)).await?;
        Ok(Self::new(TrustConfig::parse(&map.data.unwrap_or_default())?))
    }

    pub fn replace(&self, config: TrustConfig) {
        self.0.send_if_modified(|current| {
            let changed = **current != config;
            if changed {
                *current = Arc::new(config);
            }
            changed
        });
    }

    pub(crate) fn current(&self) -> Arc<TrustConfig> {
        self.0.borrow().clone()
    }

    /// Keeps the configuration fresh for as long as it is polled. That watches end and connections break is normal:
    /// what was read last stays in force, and every new watch begins with a read, so that nothing is missed.
    pub async fn watch(&self, client: kube::Client) -> Infallible {
        let mut delay = BACKOFF_MIN;
        loop {
            match self.follow(&client).await {
                Ok(()) => delay = BACKOFF_MIN,
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, retry_in = ?delay, "trust is not being watched");
                }
            }
            sleep(delay).await;
            delay = BACKOFF_MAX.min(delay * 2);
        }
    }

    /// Reads once, then follows one watch to its end.
    async fn follow(&self, client: &kube::Client) -> Result<(), TrustError> {
        let maps = config_maps(client);
        let only_ours = format!("metadata.name={CONFIG_MAP}");
        let listed = within(RESPONSE_LIMIT, maps.list(&ListParams::default().fields(&only_ours))).await?;
        // That of the list: the server forgets the version of a ConfigMap that has not changed for long.
        let version = listed.metadata.resource_version.unwrap_or_default();
        match listed.items.into_iter().next() {
            Some(map) => self.take(map),
            None => tracing::warn!("the trust configuration was deleted; the last one stays"),
        }
        let only_ours = WatchParams::default().fields(&only_ours);
        let mut events = pin!(within(RESPONSE_LIMIT, maps.watch(&only_ours, &version)).await?);
        while let Some(event) = within(SILENCE_MAX, events.try_next()).await? {
            match event {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => self.take(map),
                WatchEvent::Deleted(_) => tracing::warn!("the trust configuration was deleted; the last one stays"),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(TrustError::Watch(status.message.clone())),
            }
        }
        Ok(())
    }

    /// Takes over what was read, unless it cannot be used: the last that could is better than none.
    fn take(&self, map: ConfigMap) {
        match TrustConfig::parse(&map.data.unwrap_or_default()) {
            Ok(config) => self.replace(config),
            Err(error) => tracing::error!(%error, "the trust configuration cannot be used; the last one stays"),
        }
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = kube::Result<T>>) -> Result<T, TrustError> {
    Ok(timeout(limit, step).await.map_err(|_| TrustError::Silence(limit))??)
}

fn config_maps(client: &kube::Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), CONFIG_NAMESPACE)
}

#[cfg(test)]
mod tests;
