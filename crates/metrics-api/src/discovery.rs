//! Discovery: documents that are the same in every cluster, kept as they are sent.
//!
//! The aggregated form is complete. A server that claims it and leaves its group out hides its resources from everyone.

use crate::accept::DiscoveryForm;
use crate::response::Document;

#[derive(Debug)]
pub(crate) struct Discovery {
    groups: Document,
    aggregated: Document,
    group: Document,
    resources: Document,
}

impl Discovery {
    pub(crate) fn new() -> Self {
        let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        Self {
            groups: Document::new(include_str!("discovery/groups.json")),
            aggregated: Document::new(include_str!("discovery/aggregated.json")).published_as(aggregated),
            group: Document::new(include_str!("discovery/group.json")),
            resources: Document::new(include_str!("discovery/resources.json")),
        }
    }

    pub(crate) fn groups(&self, form: DiscoveryForm) -> &Document {
        match form {
            DiscoveryForm::Plain => &self.groups,
            DiscoveryForm::Aggregated => &self.aggregated,
        }
    }

    pub(crate) fn group(&self) -> &Document {
        &self.group
    }

    pub(crate) fn resources(&self) -> &Document {
        &self.resources
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
    use serde_json::{Value, json};

    use crate::group::{GROUP, GROUP_VERSION, LIST_KIND, RESOURCE, VERSION};

    #[test]
    fn plain_documents_name_the_group_and_its_one_resource() {
        let group: APIGroup = serde_json::from_str(include_str!("discovery/group.json")).expect("an APIGroup");
        assert_eq!(group.name, GROUP);
        assert_eq!(group.versions[0].group_version, GROUP_VERSION);
        assert_eq!(group.preferred_version.expect("a preferred version").version, VERSION);
        let list: APIResourceList =
            serde_json::from_str(include_str!("discovery/resources.json")).expect("an APIResourceList");
        assert_eq!(list.group_version, GROUP_VERSION);
        let [resource] = list.resources.as_slice() else { panic!("one resource, found {:?}", list.resources) };
        assert_eq!((resource.name.as_str(), resource.kind.as_str(), resource.namespaced), (RESOURCE, LIST_KIND, true));
        assert_eq!(resource.verbs, ["get"], "controllers act on resources with more verbs");
        let groups: Value = serde_json::from_str(include_str!("discovery/groups.json")).expect("JSON");
        assert_eq!(groups["kind"], "APIGroupList");
        let [entry] = groups["groups"].as_array().expect("groups").as_slice() else { panic!("one group") };
        let entry: APIGroup = serde_json::from_value(with_type(entry.clone())).expect("an APIGroup");
        assert_eq!(entry.name, GROUP);
    }

    /// Entries of a list leave their type out.
    fn with_type(mut entry: Value) -> Value {
        entry["kind"] = json!("APIGroup");
        entry["apiVersion"] = json!("v1");
        entry
    }

    #[test]
    fn the_aggregated_document_is_complete() {
        let list: Value = serde_json::from_str(include_str!("discovery/aggregated.json")).expect("JSON");
        assert_eq!(
            (&list["kind"], &list["apiVersion"]),
            (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
        );
        assert_eq!(list["items"][0]["metadata"]["name"], GROUP);
        let version = &list["items"][0]["versions"][0];
        assert_eq!((&version["version"], &version["freshness"]), (&json!(VERSION), &json!("Current")));
        let expected = json!([{
            "resource": RESOURCE,
            "responseKind": {"group": GROUP, "version": VERSION, "kind": LIST_KIND},
            "scope": "Namespaced",
            "singularResource": RESOURCE,
            "verbs": ["get"],
        }]);
        assert_eq!(version["resources"], expected);
    }
}
