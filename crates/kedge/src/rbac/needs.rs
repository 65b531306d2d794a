//! What the operator does for each ScaledObject, as rights.

use kedge_api::ScaledObject;
use kedge_api::scaled_object::ModifierMetricType;
use kedge_scalers::registry;

use super::credentials;
use super::input::{Input, NamespacedName, Plural};
use super::operator::{Certificates, Operator, Webhooks};
use super::rules::{READ, Rights, Scope, What};

const WATCH: &[&str] = &["list", "watch"];
const LIST: &[&str] = &["list"];
const PATCH: &[&str] = &["patch"];
const CREATE: &[&str] = &["create"];
const KEEP_UP: &[&str] = &["get", "list", "watch", "update"];

/// Why the operator needs what it always needs.
const ALWAYS: &str = "the operator, whatever it looks after";

pub(super) fn of(input: &Input, operator: &Operator) -> Rights {
    let mut rights = Rights::default();
    for (object_name, object) in &input.objects {
        rights.watched.insert(object_name.0.clone());
        watched(&mut rights, input, object_name);
        target(&mut rights, input, object_name, object);
        triggers(&mut rights, object_name, object);
        credentials::of(&mut rights, input, operator, object_name, object);
    }
    authentications(&mut rights, input);
    own(&mut rights, operator);
    rights
}

/// What is watched in each namespace, used or not.
fn watched(rights: &mut Rights, input: &Input, object_name: &NamespacedName) {
    let scope = Scope::Namespace(object_name.0.clone());
    let this = format!("ScaledObject {}", object_name.1);
    let of_keda = |resource, verbs| What { group: "keda.sh", resource, verbs };
    rights.one(&scope, of_keda("scaledobjects", &["get", "patch"]), &object_name.1, this.as_str());
    rights.one(&scope, of_keda("scaledobjects/status", PATCH), &object_name.1, this.as_str());
    // Some clusters ask for it when an HPA is made that keeps its owner from going first.
    rights.one(&scope, of_keda("scaledobjects/finalizers", &["update"]), &object_name.1, this.as_str());
    let mut all = |group, resource, verbs, reason: &str| rights.all(&scope, What { group, resource, verbs }, reason);
    all("autoscaling", "horizontalpodautoscalers", &["get", "list", "watch", "create", "update", "delete"], &this);
    all("events.k8s.io", "events", CREATE, &this);
    for resource in ["scaledobjects", "scaledjobs", "triggerauthentications"] {
        all("keda.sh", resource, WATCH, ALWAYS);
    }
    for resource in ["deployments", "statefulsets", "replicasets"] {
        all("apps", resource, WATCH, ALWAYS);
    }
    for (_, name) in input.jobs.iter().filter(|(namespace, _)| *namespace == object_name.0) {
        all("keda.sh", "scaledjobs/status", PATCH, &format!("ScaledJob {name}, which is told that it is not run"));
    }
}

/// The target and its scale.
fn target(rights: &mut Rights, input: &Input, object_name: &NamespacedName, object: &ScaledObject) {
    let scope = Scope::Namespace(object_name.0.clone());
    let reference = &object.spec.scale_target_ref;
    let (version, kind) = reference.api_version_and_kind();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let plural = match input.plural(&kind) {
        Plural::Known(plural) => plural,
        Plural::Guessed(plural) => {
            rights.unknown.insert(format!(
                "the plural of {kind}, which ScaledObject {}/{} scales, is guessed to be {plural}; add its CRD, or give --plural {kind}={plural}",
                object_name.0, object_name.1
            ));
            plural
        }
    };
    let reason = format!("ScaledObject {}, whose target is the {kind} {}", object_name.1, reference.name);
    let scale = format!("{plural}/scale");
    rights.one(&scope, What { group, resource: &scale, verbs: &["get", "update"] }, &reference.name, reason.as_str());
    // Read when its scale is not there, to tell why, and for variables of containers.
    rights.one(&scope, What { group, resource: &plural, verbs: &["get"] }, &reference.name, reason.as_str());
    if group != "apps" {
        rights.all(&scope, What { group, resource: &plural, verbs: WATCH }, reason);
    }
}

/// What is read of the cluster for triggers and fallbacks.
fn triggers(rights: &mut Rights, object_name: &NamespacedName, object: &ScaledObject) {
    let scope = Scope::Namespace(object_name.0.clone());
    let pods = What { group: "", resource: "pods", verbs: LIST };
    let mut by_value = false;
    for (index, trigger) in object.spec.triggers.iter().enumerate() {
        let reason = format!("ScaledObject {}, trigger {index} ({})", object_name.1, trigger.r#type);
        by_value |= trigger.metric_type.as_deref() == Some("Value");
        let reads = registry::find(&trigger.r#type).map_or(&[][..], |known| known.cluster_reads);
        for read in reads.iter().filter(|read| read.is_needed(&trigger.metadata)) {
            let named = read.named_namespace(&trigger.metadata).map(Scope::Namespace);
            let what = What { group: read.group, resource: read.resource, verbs: read.verbs };
            rights.all(&named.unwrap_or_else(|| scope.clone()), what, reason.as_str());
        }
    }
    let modifiers = object.spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    by_value |= modifiers.is_some_and(|modifiers| modifiers.metric_type == Some(ModifierMetricType::Value));
    if object.spec.fallback.is_some() && by_value {
        rights.all(&scope, pods, format!("ScaledObject {}, whose fallback counts pods that are ready", object_name.1));
    }
}

/// Authentication objects get a finalizer, and the list of who uses them.
fn authentications(rights: &mut Rights, input: &Input) {
    for (namespace, name) in input.authentications.keys() {
        let scope = Scope::Namespace(namespace.clone());
        let reason = format!("TriggerAuthentication {name}");
        let what = |resource, verbs| What { group: "keda.sh", resource, verbs };
        rights.one(&scope, what("triggerauthentications", &["get", "patch"]), name, reason.as_str());
        rights.one(&scope, what("triggerauthentications/status", PATCH), name, reason.as_str());
        rights.all(&scope, What { group: "events.k8s.io", resource: "events", verbs: CREATE }, reason);
    }
    for name in input.shared.keys() {
        let reason = format!("ClusterTriggerAuthentication {name}");
        let what = |resource, verbs| What { group: "keda.sh", resource, verbs };
        rights.one(&Scope::Cluster, what("clustertriggerauthentications", &["get", "patch"]), name, reason.as_str());
        rights.one(&Scope::Cluster, what("clustertriggerauthentications/status", PATCH), name, reason.as_str());
        // Events about what has no namespace are written there.
        let events = What { group: "events.k8s.io", resource: "events", verbs: CREATE };
        rights.all(&Scope::Namespace("default".to_owned()), events, reason);
    }
}

/// What the operator needs for itself.
fn own(rights: &mut Rights, operator: &Operator) {
    let home = Scope::Namespace(operator.namespace.clone());
    let what = |group, resource, verbs| What { group, resource, verbs };
    rights.all(&Scope::Cluster, what("keda.sh", "clustertriggerauthentications", WATCH), ALWAYS);
    rights.all(&home, what("coordination.k8s.io", "leases", CREATE), "choosing the replica that acts");
    rights.one(
        &home,
        what("coordination.k8s.io", "leases", &["get", "update"]),
        "operator.keda.sh",
        "choosing the replica that acts",
    );
    if operator.certificates == Certificates::Generated {
        let reason = "certificates that the operator makes";
        rights.all(&home, what("", "secrets", CREATE), reason);
        rights.one(&home, what("", "secrets", KEEP_UP), "kedaorg-certs", reason);
        let api = what("apiregistration.k8s.io", "apiservices", KEEP_UP);
        rights.one(&Scope::Cluster, api, "v1beta1.external.metrics.k8s.io", reason);
    }
    if operator.webhooks == Webhooks::Served {
        webhooks(rights, operator);
    }
}

/// The webhooks keep an index of the namespaces that are looked after.
fn webhooks(rights: &mut Rights, operator: &Operator) {
    let what = |group, resource, verbs| What { group, resource, verbs };
    if operator.certificates == Certificates::Generated {
        let registration = what("admissionregistration.k8s.io", "validatingwebhookconfigurations", KEEP_UP);
        rights.one(&Scope::Cluster, registration, "keda-admission", "certificates that the operator makes");
    }
    for namespace in rights.watched.clone() {
        let scope = Scope::Namespace(namespace);
        let reads =
            [what("apps", "deployments", READ), what("apps", "statefulsets", READ), what("", "limitranges", WATCH)];
        for read in reads {
            rights.all(&scope, read, "the webhooks, which keep an index");
        }
    }
}
