//! One request: checked, routed, answered.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode, request};
use serde::Serialize;

use crate::access::{Access, Denied, Visible};
use crate::controls::{Action, Controls, Dial};
use crate::guard::{self, Hosts};
use crate::response::{self, HttpResponse};
use crate::route::{Route, parse_route};
use crate::source::DashboardSource;
use crate::view::{ObjectDetail, ObjectSummary, Standby};

/// The answer to actions where nothing can be changed.
pub const READ_ONLY: &str = "this page only shows; use kubectl to change objects";

/// What a body may have: actions are small.
pub const BODY_BYTES_MAX: usize = 4096;

/// The dashboard of a process.
pub struct Dashboard {
    pub source: Arc<dyn DashboardSource>,
    pub access: Arc<dyn Access>,
    /// Where things can be changed.
    pub controls: Option<Arc<dyn Controls>>,
    pub hosts: Hosts,
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    now: i64,
    /// Absent where nothing can be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
    /// Absent on the leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    standby: Option<Standby>,
    objects: Vec<ObjectSummary>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    now: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
    object: ObjectDetail,
    dials: Vec<Dial>,
}

impl Dashboard {
    /// Answers one request. The body has [`BODY_BYTES_MAX`] bytes at most.
    pub async fn handle(&self, head: &request::Parts, body: &Bytes) -> HttpResponse {
        let response = match guard::check(head, &self.hosts) {
            Ok(()) => self.respond(head, body).await,
            Err(refusal) => response::error(StatusCode::FORBIDDEN, &refusal.to_string()),
        };
        tracing::debug!(method = %head.method, path = head.uri.path(), code = response.status().as_u16(), "request served");
        response
    }

    async fn respond(&self, head: &request::Parts, body: &Bytes) -> HttpResponse {
        let route = parse_route(&head.method, head.uri.path());
        // The page shows nothing by itself.
        match &route {
            Route::Asset(asset) => {
                let body = if head.method == Method::HEAD { "" } else { asset.content };
                return response::content(asset.content_type, Bytes::from_static(body.as_bytes()));
            }
            Route::NotFound => return response::error(StatusCode::NOT_FOUND, "there is no such page"),
            Route::MethodNotAllowed => {
                return response::error(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here");
            }
            Route::Objects | Route::Object { .. } | Route::Act { .. } => {}
        }
        let visible = match self.access.visible(head).await {
            Ok(visible) => visible,
            Err(denied) => return response::error(code_of(&denied), &denied.to_string()),
        };
        match route {
            Route::Objects => response::json(&self.list(&visible)),
            Route::Object { namespace, name } => match self.detail(&visible, &namespace, &name) {
                Some(detail) => response::json(&detail),
                None => no_object(&namespace, &name),
            },
            Route::Act { namespace, name } if visible.includes(&namespace) => self.act(&namespace, &name, body).await,
            Route::Act { namespace, name } => no_object(&namespace, &name),
            Route::Asset(_) | Route::NotFound | Route::MethodNotAllowed => unreachable!("answered above"),
        }
    }

    fn list(&self, visible: &Visible) -> List {
        let mut objects = self.source.objects();
        objects.retain(|object| visible.includes(&object.namespace));
        List { now: self.source.now(), speed: self.speed(), standby: self.source.standby(), objects }
    }

    fn detail(&self, visible: &Visible, namespace: &str, name: &str) -> Option<Detail> {
        let found = visible.includes(namespace).then(|| self.source.object(namespace, name));
        let object = found.flatten()?;
        let dials = self.controls.as_ref().map(|controls| controls.dials(namespace, name)).unwrap_or_default();
        Some(Detail { now: self.source.now(), speed: self.speed(), object, dials })
    }

    fn speed(&self) -> Option<f64> {
        self.controls.as_ref().map(|controls| controls.speed())
    }

    async fn act(&self, namespace: &str, name: &str, body: &Bytes) -> HttpResponse {
        let Some(controls) = &self.controls else {
            return response::error(StatusCode::FORBIDDEN, READ_ONLY);
        };
        let action: Action = match serde_json::from_slice(body) {
            Ok(action) => action,
            Err(error) => return response::error(StatusCode::BAD_REQUEST, &format!("this is no action: {error}")),
        };
        match controls.apply(namespace, name, action).await {
            Ok(()) => response::json(&serde_json::json!({})),
            Err(error) => response::error(StatusCode::UNPROCESSABLE_ENTITY, &error),
        }
    }
}

/// The same whether there is none, or the caller may not see it.
fn no_object(namespace: &str, name: &str) -> HttpResponse {
    response::error(StatusCode::NOT_FOUND, &format!("there is no ScaledObject {namespace}/{name} that you may see"))
}

fn code_of(denied: &Denied) -> StatusCode {
    match denied {
        Denied::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Denied::Forbidden(_) => StatusCode::FORBIDDEN,
        Denied::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use futures::FutureExt;
    use futures::future::BoxFuture;
    use http::Request;
    use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST};
    use proptest::prelude::*;

    use super::*;
    use crate::view::LoggedStep;

    /// A cluster without objects, whose callers may see one namespace.
    struct Empty;

    impl DashboardSource for Empty {
        fn now(&self) -> i64 {
            0
        }

        fn standby(&self) -> Option<Standby> {
            None
        }

        fn namespaces(&self) -> BTreeSet<String> {
            BTreeSet::new()
        }

        fn objects(&self) -> Vec<ObjectSummary> {
            Vec::new()
        }

        fn object(&self, _: &str, _: &str) -> Option<ObjectDetail> {
            None
        }

        fn steps_after(&self, _: u64) -> Vec<LoggedStep> {
            Vec::new()
        }
    }

    impl Access for Empty {
        fn visible<'a>(&'a self, _: &'a request::Parts) -> BoxFuture<'a, Result<Visible, Denied>> {
            Box::pin(async { Ok(Visible::Namespaces(BTreeSet::from(["shop".to_owned()]))) })
        }
    }

    fn path() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("api"),
            Just("objects"),
            Just("shop"),
            Just("actions"),
            Just("%2e%2e"),
            Just(".."),
            Just("%00"),
            Just("%ff")
        ];
        let parts = prop::collection::vec(prop_oneof![part.prop_map(str::to_owned), "[!-~&&[^#?/]]{0,12}"], 0..6);
        (parts, "[!-~&&[^#]]{0,40}").prop_map(|(parts, query)| format!("/{}?{query}", parts.join("/")))
    }

    /// Headers that a browser or an attacker may send; most requests have none of them.
    fn header(valid: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
        let value = prop_oneof![prop::sample::select(valid).prop_map(str::to_owned), "[ -~]{0,40}"];
        prop::option::weighted(0.3, value)
    }

    proptest! {
        #[test]
        fn no_request_makes_it_panic_or_answers_without_its_headers(
            path in path(),
            method in prop_oneof![Just("GET"), Just("HEAD"), Just("POST"), Just("PUT"), Just("X")],
            origin in header(&["http://localhost", "null"]),
            authorization in header(&["Bearer token"]),
            site in header(&["same-origin", "none", "cross-site"]),
            mode in header(&["navigate", "cors"]),
            body in prop_oneof![any::<Vec<u8>>(), Just(br#"{"action":"pause"}"#.to_vec())],
        ) {
            let request = Request::builder().method(method).uri(&path).header(HOST, "localhost").header(CONTENT_TYPE, "application/json");
            let headers = [("origin", origin), ("authorization", authorization), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
            let request = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).fold(request, |request, (name, value)| request.header(name, value));
            let Ok(request) = request.body(()) else { return Ok(()) };
            for hosts in [Hosts::Loopback, Hosts::Any] {
                let answer = answer(&request, &body, hosts);
                prop_assert!(matches!(answer.status().as_u16(), 200 | 400 | 403..=405), "{path}: {}", answer.status());
                prop_assert!(answer.headers().contains_key(CONTENT_SECURITY_POLICY));
            }
        }
    }

    #[test]
    fn odd_requests_get_past_the_guard() {
        let rows = [
            ("GET", "/api/objects?%00=%ff&&=", 200),
            ("GET", "/api/objects/shop/%2e%2e?x", 404),
            ("GET", "/api/objects/bank/web", 404),
            ("GET", "//api/objects", 404),
            ("PUT", "/api/objects", 405),
            ("POST", "/api/objects/shop/web/actions", 403),
        ];
        for (method, path, expected) in rows {
            let request = Request::builder().method(method).uri(path).header(HOST, "localhost");
            let request = request.header(CONTENT_TYPE, "application/json").body(()).unwrap();
            assert_eq!(answer(&request, b"{}", Hosts::Loopback).status().as_u16(), expected, "{method} {path}");
        }
    }

    fn answer(request: &Request<()>, body: &[u8], hosts: Hosts) -> HttpResponse {
        let dashboard = Dashboard { source: Arc::new(Empty), access: Arc::new(Empty), controls: None, hosts };
        let (head, ()) = request.clone().into_parts();
        dashboard.handle(&head, &Bytes::copy_from_slice(body)).now_or_never().expect("nothing waits")
    }
}
