//! Listing and watching a kind of objects, for ever: a lost watch, an expired version, an API server that is away and an
//! object that cannot be read are all normal.

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
use tracing::{debug, warn};

use crate::queue::phase;

/// The first and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Objects a page of a list; the API server's own clients take this many.
const PAGE: u32 = 500;

/// How long a watch lasts, at least and at most; kube's client reads no longer than 295 s from one.
const WATCH_SECONDS: (u32, u32) = (240, 290);

/// How many watches follow a list. Then everything is listed anew: an event that was lost on its way is made good after ten
/// minutes, whatever lost it.
const WATCHES_A_LIST: u32 = 2;

/// What is told of the objects of a kind.
#[derive(Debug)]
pub enum Seen<T> {
    /// All there are, after a list: whatever is not among them is gone.
    All(Vec<T>),
    /// One was created or changed.
    Applied(T),
    /// One was deleted.
    Deleted(T),
}

/// How much of each object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    Metadata,
}

/// What to list and watch.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The path of the resource, e.g. `/apis/apps/v1/deployments`.
    pub path: String,
    pub selector: Option<String>,
    /// Which objects, by fields: `metadata.name=web`.
    pub fields: Option<String>,
    pub extent: Extent,
}

impl Subject {
    /// Tells it from others.
    fn text(&self) -> String {
        format!("{}?{}", self.path, self.fields.as_deref().unwrap_or_default())
    }
}

/// Lists and watches, and tells what it sees. Never returns.
pub async fn watch<T>(client: Client, subject: Subject, mut tell: impl FnMut(Seen<T>))
where
    T: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut failures = 0;
    loop {
        match list_and_watch(&client, &subject, &mut tell).await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                let pause = backoff(&subject, failures);
                warn!(resource = subject.path, fields = subject.fields, error = %error, ?pause, "watch failed; listing again");
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Lists once, then watches until it is time to list again. `Ok` when it ended as watches do.
async fn list_and_watch<T>(
    client: &Client,
    subject: &Subject,
    tell: &mut impl FnMut(Seen<T>),
) -> Result<(), kube::Error>
where
    T: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let path = subject.path.as_str();
    let request = Request::new(path);
    let (all, mut version) = list::<T>(client, subject).await?;
    tell(Seen::All(all));
    for _ in 0..WATCHES_A_LIST {
        let mut params = WatchParams::default().timeout(watch_seconds(subject));
        params.label_selector = subject.selector.clone();
        params.field_selector = subject.fields.clone();
        let watch = match subject.extent {
            Extent::Whole => request.watch(&params, &version),
            Extent::Metadata => request.watch_metadata(&params, &version),
        };
        let watch = watch.map_err(kube::Error::BuildRequest)?;
        let mut events = client.request_events::<Box<RawValue>>(watch).await?.boxed();
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(raw) | WatchEvent::Modified(raw) => {
                    note_version(&raw, &mut version);
                    decode(&raw, path).into_iter().for_each(|object| tell(Seen::Applied(object)));
                }
                WatchEvent::Deleted(raw) => {
                    note_version(&raw, &mut version);
                    decode(&raw, path).into_iter().for_each(|object| tell(Seen::Deleted(object)));
                }
                WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) if status.code == 410 => {
                    debug!(resource = path, "version is too old; listing again");
                    return Ok(());
                }
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
    }
    Ok(())
}

/// Not all watches end, and then list, at the same time.
fn watch_seconds(subject: &Subject) -> u32 {
    let span = WATCH_SECONDS.1 - WATCH_SECONDS.0;
    WATCH_SECONDS.0 + u32::try_from(phase(&subject.text(), Duration::from_secs(span.into())).as_secs()).unwrap_or(span)
}

/// A page of a list, its objects not yet read.
#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    /// Null where metadata alone was asked for and there is none.
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

/// Everything there is, and the version at which it was so.
pub async fn list<T: DeserializeOwned>(client: &Client, subject: &Subject) -> Result<(Vec<T>, String), kube::Error> {
    let request = Request::new(&subject.path);
    let mut params = ListParams::default().limit(PAGE);
    params.label_selector = subject.selector.clone();
    params.field_selector = subject.fields.clone();
    let mut all = Vec::new();
    loop {
        let page = match subject.extent {
            Extent::Whole => request.list(&params),
            Extent::Metadata => request.list_metadata(&params),
        };
        let page = page.map_err(kube::Error::BuildRequest)?;
        let page: Page = client.request(page).await?;
        all.extend(page.items.iter().flatten().filter_map(|raw| decode(raw, &subject.path)));
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok((all, page.metadata.resource_version.unwrap_or_default())),
        }
    }
}

/// Reads one object. One that cannot be read is reported and left out; the others go on.
fn decode<T: DeserializeOwned>(raw: &RawValue, path: &str) -> Option<T> {
    match serde_json::from_str(raw.get()) {
        Ok(object) => Some(object),
        Err(error) => {
            warn!(resource = path, error = %error, "an object cannot be read and is left alone");
            None
        }
    }
}

/// Follows the version that the watch has reached.
fn note_version(raw: &RawValue, version: &mut String) {
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

/// Doubles from half a second to half a minute; which share of it depends on the resource, so that not all come at once.
fn backoff(subject: &Subject, failures: u32) -> Duration {
    let full = BACKOFF.0.saturating_mul(1 << failures.min(10)).min(BACKOFF.1);
    full / 2 + phase(&subject.text(), full / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_watch_lost_is_listed_after_ten_minutes() {
        let plane = kedge_plane::Plane::new(kedge_plane::Options::default());
        let path = "/api/v1/namespaces/default/configmaps".to_owned();
        let subject = Subject { path, selector: None, fields: None, extent: Extent::Whole };
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let note = move |seen: Seen<serde_json::Value>| tell.send(matches!(seen, Seen::All(_))).unwrap();
        let started = tokio::time::Instant::now();
        tokio::spawn(watch(plane.client("operator"), subject, note));
        assert_eq!((told.recv().await, started.elapsed().as_secs()), (Some(true), 0));
        assert_eq!(told.recv().await, Some(true), "nothing changed, and yet everything is listed");
        assert!((480..=600).contains(&started.elapsed().as_secs()), "after {:?}", started.elapsed());
    }

    #[test]
    fn an_empty_page_may_have_null_for_items() {
        // As kube-apiserver 1.36 answers a list of metadata of custom resources.
        let text = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3287"},"items":null}"#;
        let page: Page = serde_json::from_str(text).unwrap();
        assert!(page.items.is_none() && page.metadata.resource_version.as_deref() == Some("3287"));
    }
}
