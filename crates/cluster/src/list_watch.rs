//! Listing and watching one resource without end: a lost watch, an expired version, an unreachable API server and a malformed
//! object are all expected.

use std::fmt::Debug;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::core::Request;
use kube::core::params::{ListParams, WatchParams};
use kube::core::watch::WatchEvent;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::backoff::Backoff;
use crate::instant_after;
use crate::phase::phase;

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// Objects per page of a list; client-go uses the same number.
const PAGE: u32 = 500;

/// How long a watch lasts, at least and at most; kube's client reads a watch for at most 295 s.
const WATCH_SECONDS: (u32, u32) = (240, 290);

/// How many whole watches follow a list before the next list. The re-list repairs a lost watch event within ten minutes.
const WATCHES_PER_LIST: u32 = 2;

/// A watch that ends sooner, without an event, is followed by a pause.
const WATCH_SHORT: Duration = Duration::from_secs(1);

/// A change of the listed objects.
#[derive(Debug)]
pub enum ListWatchEvent<T> {
    /// All objects, after a list: an object that is missing here no longer exists.
    Listed(Vec<T>),
    /// An object was created or changed.
    Applied(T),
    /// An object was deleted.
    Deleted(T),
}

/// How much of each object is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    Object,
    Metadata,
}

/// Which objects to list and watch.
#[derive(Clone, Debug)]
pub struct ResourceQuery {
    /// The path of the resource, e.g. `/apis/apps/v1/deployments`.
    pub path: String,
    pub label_selector: Option<String>,
    /// For example `metadata.name=web`.
    pub field_selector: Option<String>,
    pub projection: Projection,
}

impl ResourceQuery {
    /// Every object of a resource.
    pub fn all(path: impl Into<String>) -> Self {
        Self { path: path.into(), label_selector: None, field_selector: None, projection: Projection::Object }
    }

    /// The text from which this query's share of a period derives.
    fn phase_text(&self) -> String {
        format!("{}?{}", self.path, self.field_selector.as_deref().unwrap_or_default())
    }
}

/// Lists and watches, and reports every change. Never returns.
pub async fn list_watch<T>(client: Client, query: ResourceQuery, on_event: impl FnMut(ListWatchEvent<T>))
where
    T: Clone + DeserializeOwned + Debug + Send + 'static,
{
    list_watch_reporting(client, query, on_event, |_| {}).await;
}

/// The same, and reports each failure: until the next list, what was reported before may be outdated.
pub async fn list_watch_reporting<T>(
    client: Client,
    query: ResourceQuery,
    mut on_event: impl FnMut(ListWatchEvent<T>),
    mut on_failure: impl FnMut(&kube::Error),
) where
    T: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut failures = 0;
    loop {
        match list_and_watch(&client, &query, &mut on_event).await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                on_failure(&error);
                let pause = backoff(&query, failures);
                warn!(resource = query.path, fields = query.field_selector, error = %error, ?pause, "watch failed; listing again");
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Lists once, then watches until the next list is due. A watch that the server ends earlier, as it does when it cannot keep up,
/// continues where it ended. `Ok` where the watch ended in the expected way.
async fn list_and_watch<T>(
    client: &Client,
    query: &ResourceQuery,
    on_event: &mut impl FnMut(ListWatchEvent<T>),
) -> Result<(), kube::Error>
where
    T: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let path = query.path.as_str();
    let request = Request::new(path);
    let (all, mut version) = list::<T>(client, query).await?;
    on_event(ListWatchEvent::Listed(all));
    let whole = Duration::from_secs(watch_seconds(query).into());
    let (list_at, mut empty) = (instant_after(whole * WATCHES_PER_LIST), 0);
    loop {
        let (started, mut has_events) = (Instant::now(), false);
        let seconds = (list_at - started).min(whole).as_secs();
        if seconds == 0 {
            return Ok(());
        }
        let mut params = WatchParams::default().timeout(seconds.try_into().unwrap_or(WATCH_SECONDS.0));
        params.label_selector = query.label_selector.clone();
        params.field_selector = query.field_selector.clone();
        let watch = match query.projection {
            Projection::Object => request.watch(&params, &version),
            Projection::Metadata => request.watch_metadata(&params, &version),
        };
        let watch = watch.map_err(kube::Error::BuildRequest)?;
        let mut events = client.request_events::<Box<RawValue>>(watch).await?.boxed();
        while let Some(event) = events.try_next().await? {
            has_events = true;
            match event {
                WatchEvent::Added(raw) | WatchEvent::Modified(raw) => {
                    record_version(&raw, &mut version);
                    decode(&raw, path).into_iter().for_each(|object| on_event(ListWatchEvent::Applied(object)));
                }
                WatchEvent::Deleted(raw) => {
                    record_version(&raw, &mut version);
                    decode(&raw, path).into_iter().for_each(|object| on_event(ListWatchEvent::Deleted(object)));
                }
                WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) if status.code == 410 => {
                    debug!(resource = path, "version is too old; listing again");
                    return Ok(());
                }
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
        empty = if has_events || started.elapsed() >= WATCH_SHORT { 0 } else { empty + 1 };
        if empty > 0 {
            tokio::time::sleep(backoff(query, empty)).await;
        }
    }
}

/// Spreads the ends of watches, so that not all of them re-list at the same time.
fn watch_seconds(query: &ResourceQuery) -> u32 {
    let span = WATCH_SECONDS.1 - WATCH_SECONDS.0;
    WATCH_SECONDS.0
        + u32::try_from(phase(&query.phase_text(), Duration::from_secs(span.into())).as_secs()).unwrap_or(span)
}

/// A page of a list, within the text of the response; its objects are not decoded yet.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMetadata,
    /// Null where only metadata was requested and the list is empty.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

/// All objects, and the resource version of the list.
pub async fn list<T: DeserializeOwned>(
    client: &Client,
    query: &ResourceQuery,
) -> Result<(Vec<T>, String), kube::Error> {
    let request = Request::new(&query.path);
    let mut params = ListParams::default().limit(PAGE);
    params.label_selector = query.label_selector.clone();
    params.field_selector = query.field_selector.clone();
    let mut all = Vec::new();
    loop {
        let page = match query.projection {
            Projection::Object => request.list(&params),
            Projection::Metadata => request.list_metadata(&params),
        };
        let page = page.map_err(kube::Error::BuildRequest)?;
        let text = client.request_text(page).await?;
        let page: Page<'_> = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
        all.extend(page.items.iter().flatten().filter_map(|raw| decode(raw, &query.path)));
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok((all, page.metadata.resource_version.unwrap_or_default())),
        }
    }
}

/// Decodes one object. A malformed object is logged and left out; the others are not affected.
fn decode<T: DeserializeOwned>(raw: &RawValue, path: &str) -> Option<T> {
    match serde_json::from_str(raw.get()) {
        Ok(object) => Some(object),
        Err(error) => {
            warn!(resource = path, error = %error, "malformed object ignored");
            None
        }
    }
}

/// Records the resource version that the watch has reached.
fn record_version(raw: &RawValue, version: &mut String) {
    #[derive(Deserialize)]
    struct Versioned {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: Option<String>,
    }
    if let Ok(Versioned { metadata: Metadata { resource_version: Some(reached) } }) = serde_json::from_str(raw.get()) {
        *version = reached;
    }
}

/// The pause after failures. The resource decides half of it, so that retries are spread.
fn backoff(query: &ResourceQuery, failures: u32) -> Duration {
    let full = BACKOFF.pause(failures);
    full / 2 + phase(&query.phase_text(), full / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn everything_is_listed_again_within_ten_minutes() {
        let plane = kedge_plane::Plane::new(kedge_plane::Options::default());
        let query = ResourceQuery::all("/api/v1/namespaces/default/configmaps");
        let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
        let on_event = move |event: ListWatchEvent<serde_json::Value>| {
            report.send(matches!(event, ListWatchEvent::Listed(_))).unwrap()
        };
        let started = tokio::time::Instant::now();
        tokio::spawn(list_watch(plane.client("operator"), query, on_event));
        assert_eq!((reported.recv().await, started.elapsed().as_secs()), (Some(true), 0));
        assert_eq!(reported.recv().await, Some(true), "nothing changed, and yet everything is listed");
        assert!((480..=600).contains(&started.elapsed().as_secs()), "after {:?}", started.elapsed());
    }

    /// What a server whose watches end at once is asked for within an hour.
    async fn asked_within_an_hour() -> Vec<String> {
        let (asked, mut paths) = tokio::sync::mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let uri = request.uri().to_string();
            let body = match uri.contains("watch=true") {
                true => "",
                false => r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#,
            };
            asked.send(uri).unwrap();
            async move {
                Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::from(
                    body.as_bytes().to_vec(),
                )))
            }
        });
        let query = ResourceQuery::all("/api/v1/configmaps");
        let watch = list_watch(Client::new(service, "default"), query, |_: ListWatchEvent<serde_json::Value>| {});
        let hour = Duration::from_secs(3600);
        drop(tokio::time::timeout(hour, watch).await);
        let mut all = Vec::new();
        while let Ok(path) = paths.try_recv() {
            all.push(path);
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_every_watch_at_once_is_neither_asked_without_pause_nor_listed_each_time() {
        let asked = asked_within_an_hour().await;
        let lists = asked.iter().filter(|path| !path.contains("watch=true")).count();
        assert!((6..=8).contains(&lists), "every ten minutes or sooner: {lists}");
        assert!(asked.len() < 300, "{} requests", asked.len());
    }

    #[test]
    fn an_empty_page_may_have_null_for_items() {
        // kube-apiserver 1.36 answers a metadata list of custom resources like this.
        let text = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3287"},"items":null}"#;
        let page: Page<'_> = serde_json::from_str(text).unwrap();
        assert!(page.items.is_none() && page.metadata.resource_version.as_deref() == Some("3287"));
    }
}
