//! The names of the API that is served.

pub const GROUP: &str = "external.metrics.k8s.io";
pub const VERSION: &str = "v1beta1";
pub const GROUP_VERSION: &str = "external.metrics.k8s.io/v1beta1";

/// The one resource that discovery lists: which metrics exist changes with every ScaledObject, and no client reads the list.
pub const RESOURCE: &str = "externalmetrics";

/// The kind of the response to a metric request.
pub const LIST_KIND: &str = "ExternalMetricValueList";
