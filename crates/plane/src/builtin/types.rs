//! The shapes of the API server's own kinds: of each type its fields, what they hold, and what the server makes of empty
//! ones and of patches. Read from a table, `types.txt`, that says of each Go type of the API (v1.36):
//!
//! ```text
//! core.v1.PullPolicy = string                        another name for a type
//! core.v1.Container                                  a struct, followed by its fields:
//!   name string always                               always: written even if empty
//!   ports []core.v1.ContainerPort merge=containerPort  strategic merge patches merge the list by this key
//!   securityContext *core.v1.SecurityContext         *: absent and empty are two things
//!   emptyDir *core.v1.EmptyDirVolumeSource in=VolumeSource  embedded by Go, which its messages show
//!   image string @2                                  the number in protobuf; `@2.1` within the message of what is embedded
//! ```
//!
//! One word is not Go's: the `policies` of an autoscaler are marked `*`, as its defaults tell none from an empty list.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::api::resource::Gvr;

/// A struct of the API.
#[derive(Debug)]
pub(crate) struct Struct {
    /// As in the table: `core.v1.Container`.
    pub(crate) name: &'static str,
    pub(crate) fields: BTreeMap<&'static str, Field>,
}

impl Struct {
    /// Without its package: `Container`.
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) typed: Type,
    pub(crate) empty: WhenEmpty,
    pub(crate) patched: Patched,
    /// The struct that Go embeds it by, which appears in messages.
    pub(crate) via: Option<&'static str>,
    /// Its number in protobuf; for a field of an embedded struct, the number of that struct and the field's own. 0 for what is not encoded.
    pub(crate) number: (u32, Option<u32>),
}

/// What becomes of a field without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenEmpty {
    /// It is left out, except for structs, which are written as `{}`.
    Omitted,
    /// It is left out, structs too.
    OmittedEvenStructs,
    Written,
}

/// What a strategic merge patch does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patched {
    /// Objects are merged, lists replaced.
    Plainly,
    /// An object is replaced.
    Whole,
    /// A list of values that becomes the union.
    AsSet,
    /// A list of objects that are merged by this field.
    ByKey(&'static str),
}

/// What a field, an item of a list or a value of a map holds, and how the table writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    text: &'static str,
}

/// What there is in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    Int32,
    Int64,
    Float,
    Bool,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// Not looked into.
    Any,
    List(Type),
    Map(Type),
    Struct(&'static Struct),
}

/// Whether absent and empty differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Tracked,
    NotTold,
}

impl Type {
    pub(crate) fn presence(self) -> Presence {
        if self.text.starts_with('*') { Presence::Tracked } else { Presence::NotTold }
    }

    pub(crate) fn shape(self) -> Shape {
        let text = self.pointed();
        if let Some(item) = text.strip_prefix("[]") {
            return Shape::List(Type { text: item });
        }
        if let Some((_, value)) = text.strip_prefix("map[").and_then(|map| map.split_once(']')) {
            return Shape::Map(Type { text: value });
        }
        match text {
            "string" | "types.UID" | "types.NodeName" => Shape::Text,
            "int32" => Shape::Int32,
            "int64" | "int" => Shape::Int64,
            "float64" => Shape::Float,
            "bool" => Shape::Bool,
            "bytes" => Shape::Bytes,
            "quantity" => Shape::Quantity,
            "intOrString" => Shape::IntOrString,
            "time" => Shape::Time,
            "microTime" => Shape::MicroTime,
            "any" => Shape::Any,
            name => TABLE.named(name),
        }
    }

    /// What Go calls it: `v1.PullPolicy`, `[]v1.Container`, `int32`.
    pub(crate) fn go_name(self) -> String {
        let text = self.pointed();
        if let Some(item) = text.strip_prefix("[]") {
            let pointer = if item.starts_with('*') { "*" } else { "" };
            return format!("[]{pointer}{}", Type { text: item }.go_name());
        }
        if let Some((key, value)) = text.strip_prefix("map[").and_then(|map| map.split_once(']')) {
            return format!("map[{}]{}", Type { text: key }.go_name(), Type { text: value }.go_name());
        }
        match text {
            "quantity" => "resource.Quantity".to_owned(),
            "intOrString" => "intstr.IntOrString".to_owned(),
            "time" => "v1.Time".to_owned(),
            "microTime" => "v1.MicroTime".to_owned(),
            "bytes" => "[]uint8".to_owned(),
            text => text.splitn(3, '.').skip(usize::from(text.matches('.').count() == 2)).collect::<Vec<_>>().join("."),
        }
    }

    fn pointed(self) -> &'static str {
        self.text.strip_prefix('*').unwrap_or(self.text)
    }
}

/// The shape of a resource of the API server's own; none for custom ones.
pub(crate) fn for_resource(resource: &Gvr) -> Option<&'static Struct> {
    let (.., name) = KINDS.iter().find(|(group, version, plural, _)| {
        resource.group == *group && resource.version == *version && resource.plural == *plural
    })?;
    TABLE.structs.get(name)
}

/// The shape of a type: of a kind, or of the options of a request.
pub(crate) fn named(api_version: &str, kind: &str) -> Option<&'static Struct> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    let own = TABLE.structs.get(format!("{package}.{version}.{kind}").as_str());
    own.or_else(|| TABLE.structs.get(format!("meta.v1.{kind}").as_str()))
}

/// The shape of the metadata of all objects.
pub(crate) fn metadata() -> &'static Struct {
    &TABLE.structs["meta.v1.ObjectMeta"]
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("types.txt")));

struct Table {
    structs: BTreeMap<&'static str, Struct>,
    aliases: BTreeMap<&'static str, Type>,
}

impl Table {
    fn read(text: &'static str) -> Self {
        let mut table = Self { structs: BTreeMap::new(), aliases: BTreeMap::new() };
        let mut current = "";
        for line in text.lines() {
            match (line.strip_prefix("  "), line.split_once(" = ")) {
                (Some(field), _) => {
                    let (name, field) = read_field(field);
                    let within = table.structs.get_mut(current).expect("fields follow their struct");
                    within.fields.insert(name, field);
                }
                (None, Some((alias, text))) => {
                    table.aliases.insert(alias, Type { text });
                }
                (None, None) => {
                    current = line;
                    table.structs.insert(current, Struct { name: current, fields: BTreeMap::new() });
                }
            }
        }
        table
    }

    fn named(&'static self, name: &str) -> Shape {
        match self.aliases.get(name) {
            Some(alias) => alias.shape(),
            None => Shape::Struct(self.structs.get(name).expect("the table holds every type that it names")),
        }
    }
}

fn read_field(line: &'static str) -> (&'static str, Field) {
    let mut words = line.split(' ');
    let name = words.next().expect("a line has a word");
    let text = words.next().expect("a field has a type");
    let typed = Type { text };
    let mut field = Field { typed, empty: WhenEmpty::Omitted, patched: Patched::Plainly, via: None, number: (0, None) };
    for word in words {
        match word {
            "always" => field.empty = WhenEmpty::Written,
            "omitzero" => field.empty = WhenEmpty::OmittedEvenStructs,
            "merge" => field.patched = Patched::AsSet,
            "replace" => field.patched = Patched::Whole,
            word if word.starts_with('@') => field.number = read_number(&word[1..]),
            word => match word.split_once('=') {
                Some(("merge", key)) => field.patched = Patched::ByKey(key),
                Some(("in", embedded)) => field.via = Some(embedded),
                _ => unreachable!("no word of the table: {word}"),
            },
        }
    }
    (name, field)
}

fn read_number(text: &str) -> (u32, Option<u32>) {
    let number = |text: &str| text.parse().expect("a number follows the @");
    text.split_once('.').map_or_else(|| (number(text), None), |(outer, own)| (number(outer), Some(number(own))))
}

/// Group, version, plural, and the type of the objects.
#[rustfmt::skip]
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("", "v1", "configmaps", "core.v1.ConfigMap"),
    ("", "v1", "endpoints", "core.v1.Endpoints"),
    ("", "v1", "events", "core.v1.Event"),
    ("", "v1", "limitranges", "core.v1.LimitRange"),
    ("", "v1", "namespaces", "core.v1.Namespace"),
    ("", "v1", "nodes", "core.v1.Node"),
    ("", "v1", "persistentvolumeclaims", "core.v1.PersistentVolumeClaim"),
    ("", "v1", "pods", "core.v1.Pod"),
    ("", "v1", "podtemplates", "core.v1.PodTemplate"),
    ("", "v1", "replicationcontrollers", "core.v1.ReplicationController"),
    ("", "v1", "resourcequotas", "core.v1.ResourceQuota"),
    ("", "v1", "secrets", "core.v1.Secret"),
    ("", "v1", "serviceaccounts", "core.v1.ServiceAccount"),
    ("", "v1", "services", "core.v1.Service"),
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "admissionregistration.v1.MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "admissionregistration.v1.ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "apiextensions.v1.CustomResourceDefinition"),
    ("apiregistration.k8s.io", "v1", "apiservices", "apiregistration.v1.APIService"),
    ("apps", "v1", "controllerrevisions", "apps.v1.ControllerRevision"),
    ("apps", "v1", "daemonsets", "apps.v1.DaemonSet"),
    ("apps", "v1", "deployments", "apps.v1.Deployment"),
    ("apps", "v1", "replicasets", "apps.v1.ReplicaSet"),
    ("apps", "v1", "statefulsets", "apps.v1.StatefulSet"),
    ("authentication.k8s.io", "v1", "tokenreviews", "authentication.v1.TokenReview"),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "authorization.v1.SelfSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "authorization.v1.SubjectAccessReview"),
    ("autoscaling", "v1", "horizontalpodautoscalers", "autoscaling.v1.HorizontalPodAutoscaler"),
    ("autoscaling", "v1", "scales", "autoscaling.v1.Scale"),
    ("autoscaling", "v2", "horizontalpodautoscalers", "autoscaling.v2.HorizontalPodAutoscaler"),
    ("batch", "v1", "cronjobs", "batch.v1.CronJob"),
    ("batch", "v1", "jobs", "batch.v1.Job"),
    ("coordination.k8s.io", "v1", "leases", "coordination.v1.Lease"),
    ("discovery.k8s.io", "v1", "endpointslices", "discovery.v1.EndpointSlice"),
    ("events.k8s.io", "v1", "events", "events.v1.Event"),
    ("networking.k8s.io", "v1", "ingresses", "networking.v1.Ingress"),
    ("networking.k8s.io", "v1", "networkpolicies", "networking.v1.NetworkPolicy"),
    ("policy", "v1", "poddisruptionbudgets", "policy.v1.PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "rbac.v1.ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "v1", "clusterroles", "rbac.v1.ClusterRole"),
    ("rbac.authorization.k8s.io", "v1", "rolebindings", "rbac.v1.RoleBinding"),
    ("rbac.authorization.k8s.io", "v1", "roles", "rbac.v1.Role"),
    ("scheduling.k8s.io", "v1", "priorityclasses", "scheduling.v1.PriorityClass"),
];

#[cfg(test)]
mod tests;
