//! What the API server fills in where nothing was given. Most of it belongs to a type and needs no more than that the
//! field is absent: that is the table here. Defaults that depend on other fields are in the modules below.
//!
//! Left out is what admission adds to pods (service account, priority, tolerations) and what needs a counter (addresses
//! and ports of services).

mod autoscaler;
mod pod;
mod service;
mod various;
mod workload;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::types::{self, Presence, Shape, Struct};
use crate::api::resource::Gvr;

type Fields = Map<String, Value>;

/// Fills in what was left out of a decoded object. Objects of custom resources are left as they are.
pub(crate) fn apply_defaults(resource: &Gvr, object: &mut Value) {
    if let (Some(shape), Value::Object(fields)) = (types::for_resource(resource), object) {
        fill(shape, fields);
    }
}

/// From the outside to the inside, as what is filled in may have defaults itself.
fn fill(shape: &'static Struct, fields: &mut Fields) {
    consider_neighbours(shape.name, fields);
    for (name, value) in TABLE.get(shape.name).into_iter().flatten() {
        if is_empty_text(shape, fields, name) {
            fields.remove(*name);
        }
        set(fields, name, value.clone());
    }
    for (name, value) in fields.iter_mut() {
        if let Some(field) = shape.fields.get(name.as_str()) {
            fill_within(field.typed.shape(), value);
        }
    }
}

/// Whether a text is written though there is none: where Go does not tell one from the other.
fn is_empty_text(shape: &Struct, fields: &Fields, name: &str) -> bool {
    let tracked = shape.fields.get(name).is_some_and(|field| field.typed.presence() == Presence::Tracked);
    !tracked && fields.get(name).is_some_and(|value| value == "")
}

fn fill_within(shape: Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(shape), Value::Object(fields)) => fill(shape, fields),
        (Shape::List(item), Value::Array(items)) => items.iter_mut().for_each(|value| fill_within(item.shape(), value)),
        (Shape::Map(item), Value::Object(entries)) => {
            entries.values_mut().for_each(|value| fill_within(item.shape(), value));
        }
        _ => {}
    }
}

fn consider_neighbours(name: &str, fields: &mut Fields) {
    match name {
        "admissionregistration.v1.MutatingWebhook" => various::webhook(fields),
        "admissionregistration.v1.ValidatingWebhook" => various::webhook(fields),
        "apiextensions.v1.CustomResourceDefinition" => various::definition(fields),
        "apps.v1.DaemonSetUpdateStrategy" => workload::daemon_set_strategy(fields),
        "apps.v1.DeploymentStrategy" => workload::deployment_strategy(fields),
        "apps.v1.StatefulSetUpdateStrategy" => workload::stateful_set_strategy(fields),
        "apps.v1.StatefulSetSpec" => workload::stateful_set_claims(fields),
        "autoscaling.v2.HorizontalPodAutoscalerSpec" => autoscaler::spec(fields),
        "batch.v1.Job" => workload::job(fields),
        "core.v1.Container" | "core.v1.EphemeralContainer" => pod::container(fields),
        "core.v1.Namespace" => various::namespace(fields),
        "core.v1.Pod" => pod::pod(fields),
        "core.v1.ReplicationController" => workload::replication_controller(fields),
        "core.v1.Secret" => various::secret(fields),
        "core.v1.ServicePort" => service::port(fields),
        "core.v1.ServiceSpec" => service::spec(fields),
        "core.v1.Volume" => pod::volume(fields),
        "networking.v1.NetworkPolicySpec" => various::network_policy(fields),
        "rbac.v1.Subject" => various::subject(fields),
        _ => {}
    }
}

/// Sets a field that is absent.
fn set(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    if !has(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

fn has(fields: &Fields, name: &str) -> bool {
    fields.get(name).is_some_and(|value| !value.is_null())
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The object in a field, made where it is absent; none where something else is there.
fn object<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    set(fields, name, Fields::new());
    fields.get_mut(name).and_then(Value::as_object_mut)
}

fn list<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> {
    fields.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

static TABLE: LazyLock<BTreeMap<&str, Vec<(&str, Value)>>> = LazyLock::new(|| {
    let mut table: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, field, json) in DEFAULTS {
        let value = serde_json::from_str(json).expect("the defaults are JSON");
        table.entry(*name).or_default().push((*field, value));
    }
    table
});

/// Type, field, and default.
#[rustfmt::skip]
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("admissionregistration.v1.RuleWithOperations", "scope", r#""*""#),
    ("admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", r#""Never""#),
    ("admissionregistration.v1.ServiceReference", "port", "443"),
    ("apiextensions.v1.CustomResourceDefinitionSpec", "conversion", r#"{"strategy":"None"}"#),
    ("apiextensions.v1.ServiceReference", "port", "443"),
    ("apiregistration.v1.ServiceReference", "port", "443"),
    ("apps.v1.DaemonSetSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("apps.v1.DeploymentSpec", "replicas", "1"),
    ("apps.v1.DeploymentSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.ReplicaSetSpec", "replicas", "1"),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", r#""Retain""#),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", r#""Retain""#),
    ("apps.v1.StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"),
    ("apps.v1.StatefulSetSpec", "podManagementPolicy", r#""OrderedReady""#),
    ("apps.v1.StatefulSetSpec", "replicas", "1"),
    ("apps.v1.StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("autoscaling.v1.HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    ("batch.v1.CronJobSpec", "concurrencyPolicy", r#""Allow""#),
    ("batch.v1.CronJobSpec", "failedJobsHistoryLimit", "1"),
    ("batch.v1.CronJobSpec", "successfulJobsHistoryLimit", "3"),
    ("batch.v1.CronJobSpec", "suspend", "false"),
    ("batch.v1.PodFailurePolicyOnPodConditionsPattern", "status", r#""True""#),
    ("core.v1.ConfigMapVolumeSource", "defaultMode", "420"),
    ("core.v1.Container", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.Container", "terminationMessagePolicy", r#""File""#),
    ("core.v1.ContainerPort", "protocol", r#""TCP""#),
    ("core.v1.DownwardAPIVolumeSource", "defaultMode", "420"),
    ("core.v1.EndpointPort", "protocol", r#""TCP""#),
    ("core.v1.EphemeralContainer", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.EphemeralContainer", "terminationMessagePolicy", r#""File""#),
    ("core.v1.GRPCAction", "service", r#""""#),
    ("core.v1.HTTPGetAction", "path", r#""/""#),
    ("core.v1.HTTPGetAction", "scheme", r#""HTTP""#),
    ("core.v1.HostPathVolumeSource", "type", r#""""#),
    ("core.v1.ISCSIVolumeSource", "iscsiInterface", r#""default""#),
    ("core.v1.NamespaceStatus", "phase", r#""Active""#),
    ("core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("core.v1.PersistentVolumeClaimStatus", "phase", r#""Pending""#),
    ("core.v1.PodSpec", "dnsPolicy", r#""ClusterFirst""#),
    ("core.v1.PodSpec", "restartPolicy", r#""Always""#),
    ("core.v1.PodSpec", "schedulerName", r#""default-scheduler""#),
    ("core.v1.PodSpec", "securityContext", "{}"),
    ("core.v1.PodSpec", "terminationGracePeriodSeconds", "30"),
    ("core.v1.Probe", "failureThreshold", "3"),
    ("core.v1.Probe", "periodSeconds", "10"),
    ("core.v1.Probe", "successThreshold", "1"),
    ("core.v1.Probe", "timeoutSeconds", "1"),
    ("core.v1.ProjectedVolumeSource", "defaultMode", "420"),
    ("core.v1.ReplicationControllerSpec", "replicas", "1"),
    ("core.v1.Secret", "type", r#""Opaque""#),
    ("core.v1.SecretVolumeSource", "defaultMode", "420"),
    ("core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("discovery.v1.EndpointPort", "name", r#""""#),
    ("discovery.v1.EndpointPort", "protocol", r#""TCP""#),
    ("networking.v1.NetworkPolicyPort", "protocol", r#""TCP""#),
    ("rbac.v1.RoleRef", "apiGroup", r#""rbac.authorization.k8s.io""#),
    ("scheduling.v1.PriorityClass", "preemptionPolicy", r#""PreemptLowerPriority""#),
];
