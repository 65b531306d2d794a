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
        // The HPA controller may read every metric: one review serves all its reads.
        if let Some(every) = wanted.every_metric() {
            match self.reviews.access(&render_review(caller, &every)).await {
                Ok(AccessVerdict::Allowed) => return Ok(AccessVerdict::Allowed),
                Err(unreachable @ ReviewError::Unreachable(_)) => return Err(unreachable),
                Ok(AccessVerdict::Denied { .. }) | Err(ReviewError::Refused(_)) => {}
            }
        }
        self.review(caller, wanted).await
    }

    /// Asks the API server for exactly this.
    pub(crate) async fn review(&self, caller: &Identity, wanted: &Attributes) -> Result<AccessVerdict, ReviewError> {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::api::authentication::v1::TokenReviewStatus;
    use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;
    use serde_json::json;

    use super::*;
    use crate::bearer_token::BearerToken;
    use crate::review::{ReviewFuture, Reviewer};
    use crate::settings::Settings;

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

    /// Allows what is listed: a namespace and a resource.
    struct Allows(&'static [(&'static str, &'static str)], AtomicUsize);

    impl Reviewer for Allows {
        fn token_review<'a>(&'a self, _: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus> {
            Box::pin(async { Ok(TokenReviewStatus::default()) })
        }

        fn subject_access_review<'a>(
            &'a self,
            spec: &'a SubjectAccessReviewSpec,
        ) -> ReviewFuture<'a, SubjectAccessReviewStatus> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let attributes = spec.resource_attributes.clone().unwrap_or_default();
            let asked = (attributes.namespace.unwrap_or_default(), attributes.resource.unwrap_or_default());
            let allowed = self.0.contains(&(asked.0.as_str(), asked.1.as_str()));
            Box::pin(async move { Ok(SubjectAccessReviewStatus { allowed, ..SubjectAccessReviewStatus::default() }) })
        }
    }

    /// Which of these metrics may be read, and how many reviews that took.
    async fn readable(allowed: &'static [(&'static str, &'static str)], metrics: [&str; 3]) -> ([bool; 3], usize) {
        let reviewer = Arc::new(Allows(allowed, AtomicUsize::new(0)));
        let authorizer = Authorizer::new(Arc::new(ReviewCache::new(reviewer.clone(), &Settings::default())));
        let mut readable = [false; 3];
        for (metric, readable) in metrics.into_iter().zip(&mut readable) {
            let path = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/{metric}");
            let target = crate::target::Target::parse(&path.parse().expect("a path")).expect("a target");
            let wanted = Attributes::from_request(&http::Method::GET, &target);
            let verdict = authorizer.authorize(&Identity::anonymous(), &wanted).await.expect("a verdict");
            *readable = verdict == AccessVerdict::Allowed;
        }
        (readable, reviewer.1.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_caller_that_may_read_every_metric_is_reviewed_once() {
        assert_eq!(readable(&[("", "*")], ["a", "b", "c"]).await, ([true; 3], 1));
    }

    #[tokio::test]
    async fn a_caller_that_may_not_is_reviewed_for_each_metric() {
        assert_eq!(readable(&[("shop", "b")], ["a", "b", "a"]).await, ([false, true, false], 3));
        assert_eq!(readable(&[("other", "*")], ["a", "b", "c"]).await, ([false; 3], 4), "of another namespace");
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
