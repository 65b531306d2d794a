//! The table, beside the OpenAPI of the same types.

use std::collections::BTreeSet;

use k8s_openapi::api::{admissionregistration, apps, autoscaling, batch, coordination, core, discovery, events};
use k8s_openapi::api::{networking, policy, rbac, scheduling};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
use k8s_openapi::schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::*;

macro_rules! definitions {
    ($($kind:ty),* $(,)?) => {{
        let mut generator = SchemaGenerator::default();
        $(generator.subschema_for::<$kind>(); let _ = <$kind as JsonSchema>::schema_name();)*
        generator.take_definitions(true)
    }};
}

/// The schemas of all types that the kinds are made of, by their full names.
fn definitions() -> Map<String, Value> {
    definitions![
        admissionregistration::v1::MutatingWebhookConfiguration,
        admissionregistration::v1::ValidatingWebhookConfiguration,
        apiextensions::v1::CustomResourceDefinition,
        apiregistration::v1::APIService,
        apps::v1::DaemonSet,
        apps::v1::Deployment,
        apps::v1::ReplicaSet,
        apps::v1::StatefulSet,
        autoscaling::v1::Scale,
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::CronJob,
        batch::v1::Job,
        coordination::v1::Lease,
        core::v1::ConfigMap,
        core::v1::Endpoints,
        core::v1::Event,
        core::v1::Namespace,
        core::v1::Node,
        core::v1::Pod,
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

/// `io.k8s.api.core.v1.Pod` is `core.v1.Pod` in the table.
fn table_name(definition: &str) -> String {
    let parts: Vec<_> = definition.rsplitn(4, '.').take(3).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join(".")
}

#[test]
fn every_type_has_the_fields_that_its_openapi_has() {
    let mut compared = 0;
    for (definition, schema) in definitions() {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let name = table_name(&definition);
        let shape = TABLE.structs.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the table"));
        let expected: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let found: BTreeSet<_> = shape.fields.keys().copied().collect();
        assert_eq!(found, expected, "{name}");
        compared += 1;
    }
    assert!(compared > 250, "only {compared} types");
}

#[test]
fn every_field_has_the_type_that_its_openapi_has() {
    for (definition, schema) in definitions() {
        let name = table_name(&definition);
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let shape = TABLE.structs[name.as_str()].fields[field.as_str()].typed.shape();
            let fits = match (schema["type"].as_str(), shape) {
                (Some("string"), Shape::Text | Shape::Bytes) => true,
                (Some("integer"), Shape::Int32) => schema["format"] == "int32",
                (Some("integer"), Shape::Int64) => schema["format"] == "int64",
                (Some("boolean"), Shape::Bool) | (Some("array"), Shape::List(_)) => true,
                (Some("object"), Shape::Map(_)) | (Some("number"), Shape::Float) => true,
                // A reference to another type, or to one with a form of its own.
                (None, shape) => !matches!(shape, Shape::Text | Shape::Int32 | Shape::Int64 | Shape::Bool),
                _ => false,
            };
            assert!(fits, "{name}.{field} is {shape:?}, and in OpenAPI {schema}");
        }
    }
}

#[test]
fn every_kind_and_every_type_is_in_the_table() {
    for (group, version, plural, name) in KINDS {
        assert_eq!(for_resource(&Gvr::new(group, version, plural)).map(|shape| shape.name), Some(*name));
    }
    for shape in TABLE.structs.values() {
        shape.fields.values().for_each(|field| reach(field.typed));
    }
}

fn reach(typed: Type) {
    match typed.shape() {
        Shape::List(item) | Shape::Map(item) => reach(item),
        _ => {}
    }
}
