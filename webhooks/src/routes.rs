//! The path and webhook name of each kind. They are KEDA's, so that the webhook configuration of either works with the other.

/// One webhook: its resource and its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The resource that is validated, in the group `keda.sh`.
    pub resource: Resource,
    /// The name of the webhook within its configuration.
    pub webhook: &'static str,
    /// The path of the server that the API server calls.
    pub path: &'static str,
}

/// A resource that is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    ScaledObjects,
    ScaledJobs,
    TriggerAuthentications,
    ClusterTriggerAuthentications,
}

impl Resource {
    /// The plural name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::ScaledObjects => "scaledobjects",
            Self::ScaledJobs => "scaledjobs",
            Self::TriggerAuthentications => "triggerauthentications",
            Self::ClusterTriggerAuthentications => "clustertriggerauthentications",
        }
    }
}

/// The route of a path.
pub fn find(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}

/// All routes.
// KEDA: the names of the last two begin with `vs`.
pub static ROUTES: [Route; 4] = [
    Route {
        resource: Resource::ScaledObjects,
        webhook: "vscaledobject.kb.io",
        path: "/validate-keda-sh-v1alpha1-scaledobject",
    },
    Route { resource: Resource::ScaledJobs, webhook: "vscaledjob.kb.io", path: "/validate-keda-sh-v1alpha1-scaledjob" },
    Route {
        resource: Resource::TriggerAuthentications,
        webhook: "vstriggerauthentication.kb.io",
        path: "/validate-keda-sh-v1alpha1-triggerauthentication",
    },
    Route {
        resource: Resource::ClusterTriggerAuthentications,
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
            let kind = route.resource.name().strip_suffix('s').unwrap();
            assert_eq!(route.path, format!("/validate-keda-sh-v1alpha1-{kind}"));
            assert!(route.webhook.ends_with(&format!("{kind}.kb.io")), "{}", route.webhook);
        }
    }
}
