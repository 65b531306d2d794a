//! Maps a request to its route, or to the status that rejects it.

use http::{HeaderMap, Method};

use crate::accept::{self, DiscoveryForm};
use crate::group::{GROUP, VERSION};
use crate::health::{Detail, HealthRequest, Probe};
use crate::selector;
use crate::status::Status;
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health(HealthRequest),
    Version,
    Groups(DiscoveryForm),
    Group,
    Resources,
    Metric { namespace: String, metric: String, scaled_object: String },
    OpenApiV2,
    OpenApiV3,
    OpenApiV3Document,
}

/// Parses the route of a request. Authorization is separate.
pub(crate) fn parse_route(method: &Method, target: &Target, headers: &HeaderMap) -> Result<Route, Status> {
    let path = RoutePath::parse(target.path()).ok_or_else(Status::unknown_path)?;
    if method != Method::GET && method != Method::HEAD {
        return Err(Status::method_not_allowed());
    }
    match path {
        RoutePath::Health(probe, check) => Ok(Route::Health(parse_health(probe, check, target))),
        RoutePath::Groups => accept::choose_discovery(headers).map(Route::Groups),
        RoutePath::Metric { namespace, metric } => {
            accept::require_json(headers)?;
            let scaled_object = parse_parameters(target)?;
            Ok(Route::Metric { namespace: namespace.to_owned(), metric: metric.to_owned(), scaled_object })
        }
        RoutePath::Plain(route) => accept::require_json(headers).map(|()| route),
    }
}

/// A path that is served.
enum RoutePath<'a> {
    Health(Probe, Option<&'a str>),
    Groups,
    Metric {
        namespace: &'a str,
        metric: &'a str,
    },
    /// All that needs nothing but JSON to be acceptable.
    Plain(Route),
}

impl<'a> RoutePath<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let path = match parts.as_slice() {
            ["apis"] | ["apis", ""] => Self::Groups,
            ["apis", GROUP] | ["apis", GROUP, ""] => Self::Plain(Route::Group),
            ["apis", GROUP, VERSION] | ["apis", GROUP, VERSION, ""] => Self::Plain(Route::Resources),
            ["apis", GROUP, VERSION, "namespaces", namespace, metric]
                if !namespace.is_empty() && !metric.is_empty() =>
            {
                Self::Metric { namespace, metric }
            }
            ["openapi", "v2"] => Self::Plain(Route::OpenApiV2),
            ["openapi", "v3"] => Self::Plain(Route::OpenApiV3),
            ["openapi", "v3", "apis", GROUP, VERSION] => Self::Plain(Route::OpenApiV3Document),
            ["version"] => Self::Plain(Route::Version),
            [probe] => Self::Health(Probe::parse(probe)?, None),
            [probe, check] if !check.is_empty() => Self::Health(Probe::parse(probe)?, Some(check)),
            _ => return None,
        };
        Some(path)
    }
}

fn parse_health(probe: Probe, check: Option<&str>, target: &Target) -> HealthRequest {
    HealthRequest {
        probe,
        check: check.map(str::to_owned),
        detail: if target.parameter("verbose").is_some() { Detail::Verbose } else { Detail::Brief },
        excluded: target.parameters("exclude").map(str::to_owned).collect(),
    }
}

/// Reads the parameters that matter to a metric; the others of a list are taken and mean nothing.
fn parse_parameters(target: &Target) -> Result<String, Status> {
    if target.is_watch() {
        return Err(Status::watch_not_supported());
    }
    if let Some(selector) = target.parameter("fieldSelector").filter(|text| !text.is_empty()) {
        return Err(Status::bad_request(format!("field selectors are not supported on metrics: {selector:?}")));
    }
    selector::parse_scaled_object(target.parameter("labelSelector"))
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;

    const BASE: &str = "/apis/external.metrics.k8s.io/v1beta1";

    fn route(method: &str, uri: &str, accept: Option<&str>) -> Result<Route, Status> {
        let target = Target::parse(&uri.parse().expect("a URI")).expect("a target");
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, accept.parse().expect("a header"));
        }
        parse_route(&method.parse().expect("a method"), &target, &headers)
    }

    fn metric(namespace: &str, metric: &str) -> Route {
        Route::Metric { namespace: namespace.to_owned(), metric: metric.to_owned(), scaled_object: "web".to_owned() }
    }

    #[test]
    fn paths_map_to_routes() {
        let named = "labelSelector=scaledobject.keda.sh%2Fname%3Dweb";
        let rows = [
            ("/apis".to_owned(), Route::Groups(DiscoveryForm::Plain)),
            ("/apis/".to_owned(), Route::Groups(DiscoveryForm::Plain)),
            ("/apis/external.metrics.k8s.io".to_owned(), Route::Group),
            ("/apis/external.metrics.k8s.io/".to_owned(), Route::Group),
            (BASE.to_owned(), Route::Resources),
            (format!("{BASE}/"), Route::Resources),
            (format!("{BASE}?timeout=32s"), Route::Resources),
            ("/openapi/v2".to_owned(), Route::OpenApiV2),
            ("/openapi/v3".to_owned(), Route::OpenApiV3),
            ("/openapi/v3/apis/external.metrics.k8s.io/v1beta1?hash=STALE".to_owned(), Route::OpenApiV3Document),
            ("/version".to_owned(), Route::Version),
            (format!("{BASE}/namespaces/shop/s0-cron?{named}"), metric("shop", "s0-cron")),
            (format!("{BASE}/namespaces/shop/S0%3AQueue%7Ca?{named}&limit=5"), metric("shop", "S0:Queue|a")),
            (format!("{BASE}/namespaces/shop/s0-cron?watch=0&fieldSelector=&{named}"), metric("shop", "s0-cron")),
        ];
        for (uri, expected) in rows {
            assert_eq!(route("GET", &uri, None), Ok(expected.clone()), "{uri}");
            assert_eq!(route("HEAD", &uri, Some("*/*")), Ok(expected), "HEAD {uri}");
        }
    }

    #[test]
    fn health_paths_carry_their_options() {
        let question = |probe, check: Option<&str>, detail, excluded: &[&str]| {
            let excluded = excluded.iter().map(|name| (*name).to_owned()).collect();
            Ok(Route::Health(HealthRequest { probe, check: check.map(str::to_owned), detail, excluded }))
        };
        let rows = [
            ("/livez", question(Probe::Livez, None, Detail::Brief, &[])),
            ("/readyz?verbose", question(Probe::Readyz, None, Detail::Verbose, &[])),
            ("/healthz?exclude=ping&exclude=x", question(Probe::Healthz, None, Detail::Brief, &["ping", "x"])),
            ("/livez/ping", question(Probe::Livez, Some("ping"), Detail::Brief, &[])),
        ];
        for (uri, expected) in rows {
            assert_eq!(route("GET", uri, Some("text/plain")), expected, "{uri}");
        }
    }

    #[test]
    fn other_requests_are_rejected_with_their_code() {
        let path = format!("{BASE}/namespaces/shop/queue");
        let rows = [
            ("GET", "/".to_owned(), None, 404),
            ("GET", "/livez/".to_owned(), None, 404),
            ("GET", "//apis".to_owned(), None, 404),
            ("GET", "/api".to_owned(), None, 404),
            ("GET", "/apis/external.metrics.k8s.io/v1".to_owned(), None, 404),
            ("GET", "/apis/custom.metrics.k8s.io/v1beta1".to_owned(), None, 404),
            ("GET", format!("{BASE}/queue"), None, 404),
            ("GET", format!("{BASE}/namespaces/shop"), None, 404),
            ("GET", format!("{BASE}/namespaces//queue"), None, 404),
            ("GET", format!("{BASE}/namespaces/shop/"), None, 404),
            ("GET", format!("{BASE}/namespaces/shop/a%2Fb"), None, 404),
            ("GET", format!("{path}/x"), None, 404),
            ("POST", "/nowhere".to_owned(), None, 404),
            ("POST", path.clone(), None, 405),
            ("DELETE", BASE.to_owned(), None, 405),
            ("OPTIONS", "/livez".to_owned(), None, 405),
            ("GET", format!("{path}?watch=true"), None, 405),
            ("GET", path.clone(), None, 400),
            ("GET", format!("{path}?labelSelector=app%3Dweb"), None, 400),
            ("GET", format!("{path}?fieldSelector=metadata.name%3Dx"), None, 400),
            ("GET", path, Some("application/vnd.kubernetes.protobuf"), 406),
            ("GET", BASE.to_owned(), Some("application/yaml"), 406),
            ("GET", "/apis".to_owned(), Some("text/html"), 406),
            ("GET", "/openapi/v2".to_owned(), Some("application/com.github.proto-openapi.spec.v2.v1.0+protobuf"), 406),
        ];
        for (method, uri, accept, code) in rows {
            let status = route(method, &uri, accept).expect_err(&uri);
            assert_eq!(status.code().as_u16(), code, "{method} {uri}");
        }
    }
}
