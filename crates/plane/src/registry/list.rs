//! LIST: selected objects, in pages, at one revision.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_schema::FieldError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::go_json;
use crate::api::request::{AsOf, Call};
use crate::api::resource::Resource;
use crate::api::response::{ApiResponse, ItemNaming, List};
use crate::api::selector::{FieldSelector, LabelSelector};
use crate::apiextensions::conversion;
use crate::plane::{Plane, RequestContext};
use crate::storage::state::State;
use crate::storage::store::CollectionAt;

/// The timeout of a read that waits for a future revision.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The selectors of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    labels: Option<LabelSelector>,
    fields: Option<FieldSelector>,
}

impl Selected {
    pub(crate) fn read(context: &RequestContext<'_>) -> Result<Self, ApiError> {
        let (call, selectable) = (context.call, &context.resource.selectable);
        let labels = call.param("labelSelector").map(LabelSelector::parse).transpose()?;
        let fields = call
            .param("fieldSelector")
            .map(|text| FieldSelector::parse(text, &call.resource, selectable))
            .transpose()?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.matches(object))
            && self.fields.as_ref().is_none_or(|fields| fields.matches(object))
    }

    fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }
}

/// The continue token: where the next page starts, and at which revision the first one was read. A negative revision means the current one.
#[derive(Debug, Serialize, Deserialize)]
struct Continue {
    v: String,
    rv: i64,
    start: String,
}

impl Continue {
    fn read(token: &str) -> Result<Self, ApiError> {
        let refuse = |detail: &str| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid: {detail}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|e| refuse(&e.to_string()))?;
        let value = go_json::parse(&bytes).map_err(|problem| refuse(&problem))?;
        let read: Self = serde_json::from_value(value).map_err(|error| refuse(&error.to_string()))?;
        match (read.v.as_str(), read.rv, read.start.is_empty()) {
            ("meta.k8s.io/v1", 0, _) => Err(refuse("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
            ("meta.k8s.io/v1", _, true) => Err(refuse("encoded start key empty (version meta.k8s.io/v1)")),
            ("meta.k8s.io/v1", ..) => Ok(read),
            _ => Err(refuse(&format!("server does not recognize this encoded version {}", read.v))),
        }
    }

    fn written(start: String, rv: i64) -> String {
        let token = Self { v: "meta.k8s.io/v1".to_owned(), rv, start };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).expect("a token can be written"))
    }
}

/// One page.
struct Page {
    items: Vec<Arc<Value>>,
    revision: u64,
    next: Option<String>,
    remaining: Option<usize>,
}

pub(crate) async fn handle(context: &RequestContext<'_>, as_of: AsOf) -> Result<ApiResponse, ApiError> {
    check_options(context.call)?;
    let selected = Selected::read(context)?;
    let wanted = version(context.call.param("resourceVersion"))
        .map_err(|error| ApiError::bad_request(format!("invalid resource version: {}", error.message)))?;
    wait_for(context.plane, wanted).await?;
    let page = read_page(&context.plane.state(), context, as_of, &selected, wanted)?;
    Ok(ApiResponse::list(written(context.resource, page)))
}

fn written(resource: &Resource, page: Page) -> List {
    let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
    if let Some(next) = page.next {
        metadata["continue"] = json!(next);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    List {
        api_version: resource.gvr.api_version(),
        kind: resource.list_kind.clone(),
        metadata,
        items: page.items,
        naming: if resource.is_custom() { ItemNaming::Named } else { ItemNaming::Bare },
    }
}

fn read_page(
    state: &State,
    context: &RequestContext<'_>,
    as_of: AsOf,
    selected: &Selected,
    wanted: u64,
) -> Result<Page, ApiError> {
    let token = context.call.param("continue").map(Continue::read).transpose()?;
    if token.is_some() && wanted > 0 {
        return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
    }
    let is_exact = context.call.param("resourceVersionMatch") == Some("Exact");
    let revision = match &token {
        Some(token) if token.rv > 0 => token.rv as u64,
        Some(_) => state.store.revision(),
        None if is_exact => wanted,
        None => state.store.behind(as_of.revisions_behind).max(wanted),
    };
    let collection = state.store.collection_at(&context.resource.collection, revision);
    let collection = collection.ok_or_else(|| too_old(token.as_ref()))?;
    let start = token.as_ref().map(|token| full_start(context, &token.start));
    Ok(cut_page(&collection, context, selected, start.as_deref(), revision))
}

/// Continue tokens hold keys relative to the listed namespace.
fn full_start(context: &RequestContext<'_>, start: &str) -> String {
    match context.namespace() {
        Some(namespace) => format!("{namespace}/{start}"),
        None => start.to_owned(),
    }
}

fn cut_page(
    collection: &CollectionAt<'_>,
    context: &RequestContext<'_>,
    selected: &Selected,
    start: Option<&str>,
    revision: u64,
) -> Page {
    let limit = context.call.param("limit").and_then(|limit| limit.parse::<usize>().ok()).filter(|limit| *limit > 0);
    let mut rest = collection.objects_from(context.namespace(), start);
    let mut page = Page { items: Vec::new(), revision, next: None, remaining: None };
    let mut last = "";
    for (key, stored) in rest.by_ref() {
        let served = conversion::to_served(context.resource, stored);
        if !selected.matches(&served) {
            continue;
        }
        if limit.is_some_and(|limit| page.items.len() == limit) {
            page.next = Some(Continue::written(next_start(context, last), revision as i64));
            page.remaining = selected.is_everything().then(|| rest.count() + 1);
            break;
        }
        page.items.push(served);
        last = key;
    }
    page
}

/// The smallest key after the last one.
fn next_start(context: &RequestContext<'_>, last: &str) -> String {
    let below = context.namespace().and_then(|namespace| last.strip_prefix(namespace)?.strip_prefix('/'));
    format!("{}\0", below.unwrap_or(last))
}

fn too_old(token: Option<&Continue>) -> ApiError {
    match token {
        None => ApiError::expired("The resourceVersion for the provided list is too old."),
        Some(token) => {
            let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
            let mut error = ApiError::expired(message);
            error.metadata = Some(json!({ "continue": Continue::written(token.start.clone(), -1) }));
            error
        }
    }
}

/// A resourceVersion; absent is 0.
pub(crate) fn version(text: Option<&str>) -> Result<u64, ApiError> {
    let Some(text) = text else { return Ok(0) };
    text.parse().map_err(|_| {
        let problem = FieldError::invalid(
            "resourceVersion",
            &json!(text),
            &format!("strconv.ParseUint: parsing {text:?}: invalid syntax"),
        );
        ApiError::new(500, "", format!("resourceVersion: {}", problem.message))
    })
}

/// Waits for a future revision, up to a timeout.
pub(crate) async fn wait_for(plane: &Plane, wanted: u64) -> Result<(), ApiError> {
    if plane.state().store.revision() >= wanted {
        return Ok(());
    }
    let mut revision = plane.revision();
    let reach = async {
        while revision.see() < wanted {
            revision.changed().await;
        }
    };
    let reached = tokio::time::timeout(TIMEOUT, reach).await.is_ok();
    let current = plane.state().store.revision();
    if reached { Ok(()) } else { Err(ApiError::too_large_version(wanted, current)) }
}

fn check_options(call: &Call) -> Result<(), ApiError> {
    if let Some(limit) = call.param("limit").filter(|limit| limit.parse::<i64>().is_err()) {
        return Err(ApiError::bad_request(format!("strconv.ParseInt: parsing {limit:?}: invalid syntax")));
    }
    let mut errors = Vec::new();
    if let Some(matching) = call.param("resourceVersionMatch") {
        let mut forbid = |detail: &str| errors.push(FieldError::forbidden("resourceVersionMatch", detail));
        if call.param("resourceVersion").is_none() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if call.param("continue").is_some() {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == "Exact" && call.param("resourceVersion") == Some("0") {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let message =
                format!("Unsupported value: {matching:?}: supported values: \"Exact\", \"NotOlderThan\", \"\"");
            errors.push(FieldError::new("FieldValueNotSupported", "resourceVersionMatch", message));
        }
    }
    if call.param("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors)),
    }
}
