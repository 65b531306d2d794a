//! The requests of the operator for each ScaledObject, as RBAC rules.

use kedge_api::ScaledObject;
use kedge_api::scaled_object::ModifierMetricType;
use kedge_scalers::registry;

use super::credentials;
use super::input::{Input, NamespacedName, Plural};
use super::operator::{Certificates, Operator, Webhooks};
use super::rules::{Access, READ, RbacRules, Scope};

const WATCH: &[&str] = &["list", "watch"];
const LIST: &[&str] = &["list"];
const PATCH: &[&str] = &["patch"];
const CREATE: &[&str] = &["create"];
const MAINTAIN: &[&str] = &["get", "list", "watch", "update"];

/// The reason of rules that do not depend on the objects.
const ALWAYS: &str = "the operator, whatever it manages";

pub(super) fn collect(input: &Input, operator: &Operator) -> RbacRules {
    let mut rules = RbacRules::default();
    for (object_name, object) in &input.objects {
        rules.watched.insert(object_name.0.clone());
        watched(&mut rules, input, object_name);
        target(&mut rules, input, object_name, object);
        triggers(&mut rules, object_name, object);
        credentials::collect(&mut rules, input, operator, object_name, object);
    }
    authentications(&mut rules, input);
    own(&mut rules, operator);
    rules
}

/// The kinds that are watched in each namespace.
fn watched(rules: &mut RbacRules, input: &Input, object_name: &NamespacedName) {
    let scope = Scope::Namespace(object_name.0.clone());
    let this = format!("ScaledObject {}", object_name.1);
    let of_keda = |resource, verbs| Access { group: "keda.sh", resource, verbs };
    rules.allow_named(&scope, of_keda("scaledobjects", &["get", "patch"]), &object_name.1, this.as_str());
    rules.allow_named(&scope, of_keda("scaledobjects/status", PATCH), &object_name.1, this.as_str());
    // The OwnerReferencesPermissionEnforcement plugin requires it for an owner reference that blocks deletion.
    rules.allow_named(&scope, of_keda("scaledobjects/finalizers", &["update"]), &object_name.1, this.as_str());
    let mut all =
        |group, resource, verbs, reason: &str| rules.allow_all(&scope, Access { group, resource, verbs }, reason);
    all("autoscaling", "horizontalpodautoscalers", &["get", "list", "watch", "create", "update", "delete"], &this);
    all("events.k8s.io", "events", CREATE, &this);
    for resource in ["scaledobjects", "scaledjobs", "triggerauthentications"] {
        all("keda.sh", resource, WATCH, ALWAYS);
    }
    for (_, name) in input.jobs.iter().filter(|(namespace, _)| *namespace == object_name.0) {
        all("keda.sh", "scaledjobs/status", PATCH, &format!("ScaledJob {name}, whose status says that it is not run"));
    }
}

/// The target and its scale.
fn target(rules: &mut RbacRules, input: &Input, object_name: &NamespacedName, object: &ScaledObject) {
    let scope = Scope::Namespace(object_name.0.clone());
    let reference = &object.spec.scale_target_ref;
    let (version, kind) = reference.api_version_and_kind();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let plural = match input.plural(kind) {
        Plural::Known(plural) => plural,
        Plural::Guessed(plural) => {
            rules.unknown.insert(format!(
                "the plural of {kind}, which ScaledObject {}/{} scales, is guessed to be {plural}; add its CRD, or give --plural {kind}={plural}",
                object_name.0, object_name.1
            ));
            plural
        }
    };
    let reason = format!("ScaledObject {}, whose target is the {kind} {}", object_name.1, reference.name);
    let scale = format!("{plural}/scale");
    rules.allow_named(
        &scope,
        Access { group, resource: &scale, verbs: &["get", "update"] },
        &reference.name,
        reason.as_str(),
    );
    // Read when its scale is missing, to report why, and for the variables of containers.
    rules.allow_named(&scope, Access { group, resource: &plural, verbs: &["get"] }, &reference.name, reason.as_str());
    rules.allow_all(&scope, Access { group, resource: &plural, verbs: WATCH }, reason);
}

/// The reads of the cluster for triggers and fallbacks.
fn triggers(rules: &mut RbacRules, object_name: &NamespacedName, object: &ScaledObject) {
    let scope = Scope::Namespace(object_name.0.clone());
    let pods = Access { group: "", resource: "pods", verbs: LIST };
    let mut by_value = false;
    for (index, trigger) in object.spec.triggers.iter().enumerate() {
        let reason = format!("ScaledObject {}, trigger {index} ({})", object_name.1, trigger.r#type);
        by_value |= trigger.metric_type.as_deref() == Some("Value");
        let reads = registry::find(&trigger.r#type).map_or(&[][..], |known| known.cluster_reads);
        for read in reads.iter().filter(|read| read.is_needed(&trigger.metadata)) {
            let named = read.named_namespace(&trigger.metadata).map(Scope::Namespace);
            let what = Access { group: read.group, resource: read.resource, verbs: read.verbs };
            let scope = named.unwrap_or_else(|| scope.clone());
            match read.object_name(&trigger.metadata) {
                Some(name) => rules.allow_named(&scope, what, name, reason.as_str()),
                None => rules.allow_all(&scope, what, reason.as_str()),
            }
        }
    }
    let modifiers = object.spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    by_value |= modifiers.is_some_and(|modifiers| modifiers.metric_type == Some(ModifierMetricType::Value));
    if object.spec.fallback.is_some() && by_value {
        rules.allow_all(&scope, pods, format!("ScaledObject {}, whose fallback counts ready pods", object_name.1));
    }
}

/// Authentication objects get a finalizer, and a status that lists their users.
fn authentications(rules: &mut RbacRules, input: &Input) {
    for (namespace, name) in input.authentications.keys() {
        let scope = Scope::Namespace(namespace.clone());
        let reason = format!("TriggerAuthentication {name}");
        let what = |resource, verbs| Access { group: "keda.sh", resource, verbs };
        rules.allow_named(&scope, what("triggerauthentications", &["get", "patch"]), name, reason.as_str());
        rules.allow_named(&scope, what("triggerauthentications/status", PATCH), name, reason.as_str());
        rules.allow_all(&scope, Access { group: "events.k8s.io", resource: "events", verbs: CREATE }, reason);
    }
    for name in input.shared.keys() {
        let reason = format!("ClusterTriggerAuthentication {name}");
        let what = |resource, verbs| Access { group: "keda.sh", resource, verbs };
        rules.allow_named(
            &Scope::Cluster,
            what("clustertriggerauthentications", &["get", "patch"]),
            name,
            reason.as_str(),
        );
        rules.allow_named(&Scope::Cluster, what("clustertriggerauthentications/status", PATCH), name, reason.as_str());
        // Events of cluster-scoped objects are published there.
        let events = Access { group: "events.k8s.io", resource: "events", verbs: CREATE };
        rules.allow_all(&Scope::Namespace("default".to_owned()), events, reason);
    }
}

/// The rules of the operator itself.
fn own(rules: &mut RbacRules, operator: &Operator) {
    let home = Scope::Namespace(operator.namespace.clone());
    let what = |group, resource, verbs| Access { group, resource, verbs };
    rules.allow_all(&Scope::Cluster, what("keda.sh", "clustertriggerauthentications", WATCH), ALWAYS);
    rules.allow_all(&home, what("coordination.k8s.io", "leases", CREATE), "leader election");
    rules.allow_named(
        &home,
        what("coordination.k8s.io", "leases", &["get", "update"]),
        "operator.keda.sh",
        "leader election",
    );
    if operator.certificates == Certificates::Generated {
        let reason = "certificates that the operator generates";
        rules.allow_all(&home, what("", "secrets", CREATE), reason);
        rules.allow_named(&home, what("", "secrets", MAINTAIN), "kedaorg-certs", reason);
        let api = what("apiregistration.k8s.io", "apiservices", MAINTAIN);
        rules.allow_named(&Scope::Cluster, api, "v1beta1.external.metrics.k8s.io", reason);
    }
    if operator.webhooks == Webhooks::Served {
        webhooks(rules, operator);
    }
}

/// The webhooks keep an index of the managed namespaces.
fn webhooks(rules: &mut RbacRules, operator: &Operator) {
    let what = |group, resource, verbs| Access { group, resource, verbs };
    if operator.certificates == Certificates::Generated {
        let registration = what("admissionregistration.k8s.io", "validatingwebhookconfigurations", MAINTAIN);
        rules.allow_named(&Scope::Cluster, registration, "keda-admission", "certificates that the operator generates");
    }
    for namespace in rules.watched.clone() {
        let scope = Scope::Namespace(namespace);
        let reads =
            [what("apps", "deployments", READ), what("apps", "statefulsets", READ), what("", "limitranges", WATCH)];
        for read in reads {
            rules.allow_all(&scope, read, "the webhooks, which keep an index");
        }
    }
}
