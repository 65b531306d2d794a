//! Where each kind is judged: the paths and names that KEDA registers, so that a registration of either serves the other.

/// One webhook: what it judges, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The resource whose objects are judged, in the group `keda.sh`.
    pub resource: &'static str,
    /// The name of the webhook within its configuration.
    pub webhook: &'static str,
    /// The path of the server that the API server calls.
    pub path: &'static str,
}

/// All of them.
// KEDA: the names of the last two begin with `vs`.
pub const ROUTES: [Route; 4] = [
    Route {
        resource: "scaledobjects",
        webhook: "vscaledobject.kb.io",
        path: "/validate-keda-sh-v1alpha1-scaledobject",
    },
    Route { resource: "scaledjobs", webhook: "vscaledjob.kb.io", path: "/validate-keda-sh-v1alpha1-scaledjob" },
    Route {
        resource: "triggerauthentications",
        webhook: "vstriggerauthentication.kb.io",
        path: "/validate-keda-sh-v1alpha1-triggerauthentication",
    },
    Route {
        resource: "clustertriggerauthentications",
        webhook: "vsclustertriggerauthentication.kb.io",
        path: "/validate-keda-sh-v1alpha1-clustertriggerauthentication",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_made_of_group_version_and_kind() {
        for route in ROUTES {
            let kind = route.resource.strip_suffix('s').unwrap();
            assert_eq!(route.path, format!("/validate-keda-sh-v1alpha1-{kind}"));
            assert!(route.webhook.ends_with(&format!("{kind}.kb.io")), "{}", route.webhook);
        }
    }
}
