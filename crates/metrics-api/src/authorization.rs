//! Authorizes callers. The API server decides by a SubjectAccessReview; two cases need none.

use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{NonResourceAttributes, ResourceAttributes, SubjectAccessReviewSpec};

use crate::attributes::Attributes;
use crate::identity::{Identity, MASTERS};
use crate::review::{AccessVerdict, ReviewCache, ReviewError};

/// Open to everyone: probes are anonymous. Exact, so that nothing below them is open too.
const ALWAYS_ALLOWED: [&str; 3] = ["/healthz", "/livez", "/readyz"];

#[derive(Debug)]
pub(crate) struct Authorizer {
    reviews: Arc<ReviewCache>,
}

impl Authorizer {
    pub(crate) fn new(reviews: Arc<ReviewCache>) -> Self {
        Self { reviews }
    }

    pub(crate) async fn authorize(&self, caller: &Identity, wanted: &Attributes) -> Result<AccessVerdict, ReviewError> {
        if caller.is_in(MASTERS) || is_always_allowed(wanted) {
            return Ok(AccessVerdict::Allowed);
        }
        self.reviews.access(&render_review(caller, wanted)).await
    }
}

fn is_always_allowed(wanted: &Attributes) -> bool {
    matches!(wanted, Attributes::Path { path, .. } if ALWAYS_ALLOWED.contains(&path.as_str()))
}

fn render_review(caller: &Identity, wanted: &Attributes) -> SubjectAccessReviewSpec {
    let present = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let (resource_attributes, non_resource_attributes) = match wanted {
        Attributes::Path { verb, path } => {
            (None, Some(NonResourceAttributes { path: present(path), verb: present(verb) }))
        }
        Attributes::Resource { verb, group, version, namespace, resource, subresource, name } => {
            let attributes = ResourceAttributes {
                group: present(group),
                name: present(name),
                namespace: present(namespace),
                resource: present(resource),
                subresource: present(subresource),
                verb: present(verb),
                version: present(version),
                ..ResourceAttributes::default()
            };
            (Some(attributes), None)
        }
    };
    SubjectAccessReviewSpec {
        user: present(&caller.user),
        uid: caller.uid.clone(),
        groups: Some(caller.groups.clone()),
        extra: Some(caller.extra.clone()).filter(|extra| !extra.is_empty()),
        resource_attributes,
        non_resource_attributes,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn reviews_contain_the_caller_and_the_attributes() {
        let hpa = Identity {
            user: "system:serviceaccount:kube-system:horizontal-pod-autoscaler".to_owned(),
            uid: Some("42".to_owned()),
            groups: vec!["system:serviceaccounts".to_owned(), "system:authenticated".to_owned()],
            extra: BTreeMap::from([("scopes".to_owned(), vec!["read".to_owned()])]),
        };
        let metric = Attributes::Resource {
            verb: "list".to_owned(),
            group: "external.metrics.k8s.io".to_owned(),
            version: "v1beta1".to_owned(),
            namespace: "shop".to_owned(),
            resource: "queue-depth".to_owned(),
            subresource: String::new(),
            name: String::new(),
        };
        let expected = json!({
            "user": "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
            "uid": "42",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "extra": {"scopes": ["read"]},
            "resourceAttributes": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "resource": "queue-depth",
                "namespace": "shop",
                "verb": "list",
            },
        });
        assert_eq!(serde_json::to_value(render_review(&hpa, &metric)).expect("JSON"), expected);
        let path = Attributes::Path { verb: "get".to_owned(), path: "/openapi/v2".to_owned() };
        let expected = json!({
            "user": "system:anonymous",
            "groups": ["system:unauthenticated"],
            "nonResourceAttributes": {"path": "/openapi/v2", "verb": "get"},
        });
        assert_eq!(serde_json::to_value(render_review(&Identity::anonymous(), &path)).expect("JSON"), expected);
    }

    #[test]
    fn only_the_exact_health_paths_are_open() {
        let path = |path: &str| Attributes::Path { verb: "get".to_owned(), path: path.to_owned() };
        for open in ["/livez", "/readyz", "/healthz"] {
            assert!(is_always_allowed(&path(open)), "{open}");
        }
        for closed in ["/", "/livez/", "/livez/ping", "/metrics", "/apis", "/version"] {
            assert!(!is_always_allowed(&path(closed)), "{closed}");
        }
    }
}
