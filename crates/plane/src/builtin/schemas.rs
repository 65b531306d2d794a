//! The OpenAPI schemas of the API server's own kinds, with their descriptions, as `k8s-openapi` has them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use k8s_openapi::api::{
    admissionregistration, apps, authentication, authorization, autoscaling, batch, coordination, core, discovery,
    events,
};
use k8s_openapi::api::{networking, policy, rbac, scheduling};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
use k8s_openapi::schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::types::Struct;

/// What references begin with where schemas are generated, and where they are published.
const GENERATED: &str = "#/$defs/";
const PUBLISHED: &str = "#/components/schemas/";

/// The schemas of all types that the kinds consist of, by their full names.
pub(crate) static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(definitions);

macro_rules! generate {
    ($($kind:ty),* $(,)?) => {{
        let mut generator = SchemaGenerator::default();
        $(generator.subschema_for::<$kind>();)*
        generator.take_definitions(true)
    }};
}

fn definitions() -> Map<String, Value> {
    generate![
        admissionregistration::v1::MutatingWebhookConfiguration,
        admissionregistration::v1::ValidatingWebhookConfiguration,
        apiextensions::v1::CustomResourceDefinition,
        apiregistration::v1::APIService,
        apps::v1::ControllerRevision,
        apps::v1::DaemonSet,
        apps::v1::Deployment,
        apps::v1::ReplicaSet,
        apps::v1::StatefulSet,
        authentication::v1::TokenRequest,
        authentication::v1::TokenReview,
        authorization::v1::SelfSubjectAccessReview,
        authorization::v1::SubjectAccessReview,
        autoscaling::v1::HorizontalPodAutoscaler,
        autoscaling::v1::Scale,
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::CronJob,
        batch::v1::Job,
        coordination::v1::Lease,
        core::v1::ConfigMap,
        core::v1::Endpoints,
        core::v1::Event,
        core::v1::LimitRange,
        core::v1::Namespace,
        core::v1::Node,
        core::v1::PersistentVolumeClaim,
        core::v1::Pod,
        core::v1::PodTemplate,
        core::v1::ReplicationController,
        core::v1::ResourceQuota,
        core::v1::Secret,
        core::v1::Service,
        core::v1::ServiceAccount,
        discovery::v1::EndpointSlice,
        events::v1::Event,
        networking::v1::Ingress,
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
        rbac::v1::ClusterRole,
        rbac::v1::ClusterRoleBinding,
        rbac::v1::Role,
        rbac::v1::RoleBinding,
        scheduling::v1::PriorityClass,
    ]
}

/// The name of a definition in the table of types: `io.k8s.api.core.v1.Pod` is `core.v1.Pod` there.
pub(crate) fn table_name(definition: &str) -> &str {
    let dots = definition.rmatch_indices('.').map(|(at, _)| at);
    dots.clone().nth(2).map_or(definition, |at| &definition[at + 1..])
}

/// The full name of a type's definition.
pub(crate) fn definition_of(shape: &Struct) -> Option<&'static str> {
    DEFINITIONS.keys().map(String::as_str).find(|name| table_name(name) == shape.name)
}

/// The schemas with these names and all that they refer to, as they are published.
pub(crate) fn published(names: impl IntoIterator<Item = &'static str>) -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut wanted: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
    while let Some(name) = wanted.pop_first() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(mut schema) = DEFINITIONS.get(&name).cloned() else { continue };
        rewrite_references(&mut schema, &mut wanted);
        schemas.insert(name, schema);
    }
    schemas
}

fn rewrite_references(schema: &mut Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(GENERATED));
            if let Some(target) = target.map(str::to_owned) {
                // OpenAPI 3.0 allows nothing beside a reference.
                fields.remove("$ref");
                fields.insert("allOf".to_owned(), json!([{ "$ref": format!("{PUBLISHED}{target}") }]));
                found.insert(target);
            }
            fields.values_mut().for_each(|value| rewrite_references(value, found));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::resource::Gvr;
    use crate::builtin::types;

    #[test]
    fn a_kind_is_published_with_everything_it_refers_to() {
        let deployment = types::for_resource(&Gvr::new("apps", "v1", "deployments")).unwrap();
        let name = definition_of(deployment).unwrap();
        let schemas = published([name]);
        assert!(schemas.len() > 100, "{}", schemas.len());
        assert!(!schemas.contains_key("io.k8s.api.rbac.v1.Role"));
        let text = Value::Object(schemas.clone()).to_string();
        assert!(!text.contains(GENERATED));
        let referred = text.split(PUBLISHED).skip(1).map(|rest| rest.split('"').next().unwrap());
        referred.for_each(|name| assert!(schemas.contains_key(name), "{name}"));
    }
}
