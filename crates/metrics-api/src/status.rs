//! Errors as Kubernetes writes them. The message is what people read in the HPA's condition.

use std::time::Duration;

use http::StatusCode;
use serde::Serialize;

use crate::group::{GROUP, RESOURCE};
use crate::source::MetricError;

/// The `Status` object of a failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    code: StatusCode,
    reason: Option<&'static str>,
    message: String,
    details: Option<Details>,
}

/// What the failure is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
}

impl Status {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason: Some(reason), message: message.into(), details: None }
    }

    fn about(self, metric: &str) -> Self {
        let details = Details { name: String::new(), group: GROUP.to_owned(), kind: metric.to_owned() };
        Self { details: Some(details), ..self }
    }

    pub(crate) fn code(&self) -> StatusCode {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The caller may not do this. The details name no object where the request is for a plain path.
    pub(crate) fn forbidden(message: String, details: Details) -> Self {
        Self { details: Some(details), ..Self::new(StatusCode::FORBIDDEN, "Forbidden", message) }
    }

    pub(crate) fn unknown_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn watch_not_supported() -> Self {
        let message = format!(r#"watch is not supported on resources of kind "{RESOURCE}.{GROUP}""#);
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The review of the caller failed.
    pub(crate) fn review_failed(uri: &str, error: &str) -> Self {
        let message = format!("Internal Server Error: {uri:?}: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// The deadline passed. Not 504, which proxies use for their own timeouts.
    pub(crate) fn too_late(limit: Duration, waiting_for: &str) -> Self {
        let message = format!("no answer within {limit:?}: still waiting for {waiting_for}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// A source that knows the metric but has not one value for it: an empty list would lose even this sentence.
    pub(crate) fn no_values(metric: &str) -> Self {
        Self::metric_failed(metric, MetricError::NotFound(format!("no value was found for metric {metric}")))
    }

    pub(crate) fn metric_failed(metric: &str, error: MetricError) -> Self {
        let status = match error {
            MetricError::NotFound(text) => Self::new(StatusCode::NOT_FOUND, "NotFound", text),
            MetricError::Unavailable(text) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", text),
            MetricError::Failed(message) => {
                Self { code: StatusCode::INTERNAL_SERVER_ERROR, reason: None, message, details: None }
            }
        };
        status.about(metric)
    }
}

impl Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire {
            kind: "Status",
            api_version: "v1",
            metadata: NoMetadata {},
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            details: self.details.as_ref(),
            code: self.code.as_u16(),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: NoMetadata,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct NoMetadata {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;

    fn metric_attributes() -> Attributes {
        Attributes::Resource {
            verb: "list".to_owned(),
            group: GROUP.to_owned(),
            version: "v1beta1".to_owned(),
            namespace: "shop".to_owned(),
            resource: "queue-depth".to_owned(),
            subresource: String::new(),
            name: String::new(),
        }
    }

    #[test]
    fn statuses_read_as_those_of_kubernetes() {
        let path = Attributes::Path { verb: "get".to_owned(), path: "/metrics".to_owned() };
        let lost = |error| Status::metric_failed("queue-depth", error);
        let rows = [
            (Status::unauthorized(), 401, Some("Unauthorized"), "Unauthorized"),
            (Status::unknown_path(), 404, Some("NotFound"), "the server could not find the requested resource"),
            (
                Status::method_not_allowed(),
                405,
                Some("MethodNotAllowed"),
                "the server does not allow this method on the requested resource",
            ),
            (
                Status::watch_not_supported(),
                405,
                Some("MethodNotAllowed"),
                r#"watch is not supported on resources of kind "externalmetrics.external.metrics.k8s.io""#,
            ),
            (
                Status::not_acceptable(),
                406,
                Some("NotAcceptable"),
                "only the following media types are accepted: application/json",
            ),
            (
                metric_attributes().forbidden("bob", ""),
                403,
                Some("Forbidden"),
                r#"queue-depth.external.metrics.k8s.io is forbidden: User "bob" cannot list resource "queue-depth" in API group "external.metrics.k8s.io" in the namespace "shop""#,
            ),
            (path.forbidden("bob", ""), 403, Some("Forbidden"), r#"forbidden: User "bob" cannot get path "/metrics""#),
            (
                path.forbidden("bob", "no such role"),
                403,
                Some("Forbidden"),
                r#"forbidden: User "bob" cannot get path "/metrics": no such role"#,
            ),
            (
                Status::review_failed("/apis", "connection refused"),
                500,
                Some("InternalError"),
                r#"Internal Server Error: "/apis": connection refused"#,
            ),
            (
                Status::too_late(Duration::from_secs(10), "the source"),
                503,
                Some("ServiceUnavailable"),
                "no answer within 10s: still waiting for the source",
            ),
            (Status::no_values("queue-depth"), 404, Some("NotFound"), "no value was found for metric queue-depth"),
            (lost(MetricError::NotFound("gone".to_owned())), 404, Some("NotFound"), "gone"),
            (lost(MetricError::Unavailable("later".to_owned())), 503, Some("ServiceUnavailable"), "later"),
            (lost(MetricError::Failed("broken".to_owned())), 500, None, "broken"),
        ];
        for (status, code, reason, message) in rows {
            assert_eq!(status.message(), message);
            assert_eq!((status.code().as_u16(), status.reason), (code, reason), "{message}");
        }
    }

    #[test]
    fn a_status_has_the_shape_that_clients_know() {
        let text = serde_json::to_string(&metric_attributes().forbidden("bob", "")).expect("JSON");
        assert!(
            text.starts_with(r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#),
            "{text}"
        );
        let end =
            r#","reason":"Forbidden","details":{"group":"external.metrics.k8s.io","kind":"queue-depth"},"code":403}"#;
        assert!(text.ends_with(end), "{text}");
        let failed = Status::metric_failed("m", MetricError::Failed("x".to_owned()));
        let text = serde_json::to_string(&failed).expect("JSON");
        assert!(!text.contains("reason"), "an unknown reason is left out: {text}");
    }
}
