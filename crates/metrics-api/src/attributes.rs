//! What a request does, in the terms of Kubernetes' authorisation. Pure, and independent of which paths are served: an
//! unknown path is authorized before it is reported as unknown.

use http::Method;

use crate::status::{Details, Status};
use crate::target::Target;

/// An empty text means absent, as in a SubjectAccessReview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attributes {
    Path {
        verb: String,
        path: String,
    },
    Resource {
        verb: String,
        group: String,
        version: String,
        namespace: String,
        resource: String,
        subresource: String,
        name: String,
    },
}

impl Attributes {
    pub(crate) fn from_request(method: &Method, target: &Target) -> Self {
        let parts: Vec<&str> = target.path().trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["apis", group, version, rest @ ..] if !rest.is_empty() => {
                Self::from_resource_path(method, target, group, version, rest)
            }
            _ => Self::Path { verb: method.as_str().to_ascii_lowercase(), path: target.path().to_owned() },
        }
    }

    /// The same action on every metric of every namespace, where the wanted one is on a metric. In a review `*` stands for all
    /// resources, and no namespace for all namespaces.
    pub(crate) fn every_metric(&self) -> Option<Self> {
        match self {
            Self::Resource { verb, group, version, namespace, subresource, name, .. }
                if !namespace.is_empty() && subresource.is_empty() && name.is_empty() =>
            {
                Some(Self::Resource {
                    verb: verb.clone(),
                    group: group.clone(),
                    version: version.clone(),
                    resource: "*".to_owned(),
                    namespace: String::new(),
                    subresource: String::new(),
                    name: String::new(),
                })
            }
            _ => None,
        }
    }

    fn from_resource_path(method: &Method, target: &Target, group: &str, version: &str, parts: &[&str]) -> Self {
        // Kubernetes takes these two for parts of the namespace itself, so that metrics of these names are out of
        // reach.
        let (namespace, parts) = match parts {
            ["namespaces", namespace, after @ ..] if !matches!(after, [] | ["status" | "finalize", ..]) => {
                (*namespace, after)
            }
            ["namespaces", namespace, ..] => (*namespace, parts),
            _ => ("", parts),
        };
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        let name = part(1);
        Self::Resource {
            verb: verb_of(method, target, &name).to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            resource: part(0),
            subresource: part(2),
            name,
        }
    }

    /// The denial of this request; `because` is the reason of the API server, often empty.
    pub(crate) fn forbidden(&self, user: &str, because: &str) -> Status {
        let mut message = self.describe_refusal(user);
        if !because.is_empty() {
            message = format!("{message}: {because}");
        }
        let details = match self {
            Self::Path { .. } => Details::default(),
            Self::Resource { group, resource, name, .. } => {
                Details { name: name.clone(), group: group.clone(), kind: resource.clone() }
            }
        };
        Status::forbidden(message, details)
    }

    /// The message with which Kubernetes denies a request.
    fn describe_refusal(&self, user: &str) -> String {
        match self {
            Self::Path { verb, path } => format!("forbidden: User {user:?} cannot {verb} path {path:?}"),
            Self::Resource { verb, group, namespace, resource, subresource, name, .. } => {
                let subject = if name.is_empty() {
                    format!("{resource}.{group}")
                } else {
                    format!("{resource}.{group} {name:?}")
                };
                let part = if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
                let place = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {namespace:?}")
                };
                format!(
                    "{subject} is forbidden: User {user:?} cannot {verb} resource {part:?} in API group {group:?} {place}"
                )
            }
        }
    }
}

fn verb_of(method: &Method, target: &Target, name: &str) -> &'static str {
    match (method.as_str(), name.is_empty()) {
        ("GET" | "HEAD", true) if target.is_watch() => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(method: &str, uri: &str) -> Attributes {
        let target = Target::parse(&uri.parse().expect("a URI")).expect("a target");
        Attributes::from_request(&method.parse().expect("a method"), &target)
    }

    #[test]
    fn paths_below_a_version_have_resource_attributes() {
        let base = "/apis/external.metrics.k8s.io/v1beta1";
        let rows = [
            // method, path, verb, namespace, resource, subresource, name
            ("GET", "/namespaces/shop/queue-depth", "list", "shop", "queue-depth", "", ""),
            ("HEAD", "/namespaces/shop/queue-depth", "list", "shop", "queue-depth", "", ""),
            ("GET", "/namespaces/shop/queue-depth?watch=true", "watch", "shop", "queue-depth", "", ""),
            ("GET", "/namespaces/shop/queue-depth/x", "get", "shop", "queue-depth", "", "x"),
            ("GET", "/namespaces/shop/queue-depth/x/scale", "get", "shop", "queue-depth", "scale", "x"),
            ("GET", "/queue-depth", "list", "", "queue-depth", "", ""),
            ("GET", "/namespaces/shop", "get", "shop", "namespaces", "", "shop"),
            ("GET", "/namespaces/shop/status", "get", "shop", "namespaces", "status", "shop"),
            ("POST", "/namespaces/shop/queue-depth", "create", "shop", "queue-depth", "", ""),
            ("PUT", "/namespaces/shop/queue-depth", "update", "shop", "queue-depth", "", ""),
            ("PATCH", "/namespaces/shop/queue-depth", "patch", "shop", "queue-depth", "", ""),
            ("DELETE", "/namespaces/shop/queue-depth", "deletecollection", "shop", "queue-depth", "", ""),
            ("DELETE", "/namespaces/shop/queue-depth/x", "delete", "shop", "queue-depth", "", "x"),
            ("GET", "/namespaces/shop/a%2Fb", "get", "shop", "a", "", "b"),
            ("GET", "/namespaces/shop/S0%3AQueue", "list", "shop", "S0:Queue", "", ""),
        ];
        for (method, path, verb, namespace, resource, subresource, name) in rows {
            let expected = Attributes::Resource {
                verb: verb.to_owned(),
                group: "external.metrics.k8s.io".to_owned(),
                version: "v1beta1".to_owned(),
                namespace: namespace.to_owned(),
                resource: resource.to_owned(),
                subresource: subresource.to_owned(),
                name: name.to_owned(),
            };
            assert_eq!(attributes(method, &format!("{base}{path}")), expected, "{method} {path}");
        }
    }

    #[test]
    fn other_paths_have_non_resource_attributes() {
        let rows = [
            ("GET", "/apis", "get"),
            ("GET", "/apis/external.metrics.k8s.io", "get"),
            ("GET", "/apis/external.metrics.k8s.io/v1beta1", "get"),
            ("GET", "/apis/external.metrics.k8s.io/v1beta1/", "get"),
            ("GET", "/openapi/v2", "get"),
            ("HEAD", "/version", "head"),
            ("POST", "/livez", "post"),
        ];
        for (method, path, verb) in rows {
            let expected = Attributes::Path { verb: verb.to_owned(), path: path.to_owned() };
            assert_eq!(attributes(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn denials_name_what_was_denied() {
        let base = "/apis/external.metrics.k8s.io/v1beta1";
        let rows = [
            (
                "/queue",
                r#"queue.external.metrics.k8s.io is forbidden: User "bob" cannot list resource "queue" in API group "external.metrics.k8s.io" at the cluster scope"#,
            ),
            (
                "/namespaces/a/queue/x/scale",
                r#"queue.external.metrics.k8s.io "x" is forbidden: User "bob" cannot get resource "queue/scale" in API group "external.metrics.k8s.io" in the namespace "a""#,
            ),
        ];
        for (path, expected) in rows {
            assert_eq!(attributes("GET", &format!("{base}{path}")).describe_refusal("bob"), expected);
        }
    }
}
