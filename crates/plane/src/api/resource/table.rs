//! The built-in resources, one row each.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kedge_schema::metadata::Scope;

use super::{Generation, GroupResource, Gvr, Origin, Persistence, PutRules, Resource, ScalePaths, Selector};

/// All of them.
pub(crate) static BUILT_IN: LazyLock<BTreeMap<Gvr, Arc<Resource>>> =
    LazyLock::new(|| rows().into_iter().map(|row| (row.gvr.clone(), Arc::new(row))).collect());

fn rows() -> Vec<Resource> {
    [core(), apps_and_batch(), cluster_wide(), policies(), reviews()].concat()
}

fn core() -> Vec<Resource> {
    use Scope::{Cluster, Namespaced};
    vec![
        row("", "v1", "namespaces", "Namespace", Cluster).short("ns").with_status().returning(),
        row("", "v1", "pods", "Pod", Namespaced)
            .short("po")
            .in_all()
            .with_status()
            .counting(Generation::Spec)
            .returning(),
        row("", "v1", "services", "Service", Namespaced).short("svc").in_all().with_status().returning().creating(),
        row("", "v1", "secrets", "Secret", Namespaced),
        row("", "v1", "configmaps", "ConfigMap", Namespaced).short("cm"),
        row("", "v1", "serviceaccounts", "ServiceAccount", Namespaced).short("sa").returning(),
        row("", "v1", "nodes", "Node", Cluster).short("no").with_status(),
        row("", "v1", "events", "Event", Namespaced).short("ev").creating(),
        row("events.k8s.io", "v1", "events", "Event", Namespaced)
            .short("ev")
            .creating()
            .stored_as(Gvr::new("", "v1", "events")),
        row("", "v1", "endpoints", "Endpoints", Namespaced).short("ep").creating(),
        row("", "v1", "limitranges", "LimitRange", Namespaced).short("limits").creating(),
        row("", "v1", "resourcequotas", "ResourceQuota", Namespaced).short("quota").with_status().returning(),
        row("", "v1", "replicationcontrollers", "ReplicationController", Namespaced)
            .short("rc")
            .in_all()
            .with_status()
            .counting(Generation::Spec)
            .scaled(Selector::Map),
    ]
}

fn apps_and_batch() -> Vec<Resource> {
    use Generation::{Spec, SpecAndAnnotations};
    let row = |group, plural, kind| row(group, "v1", plural, kind, Scope::Namespaced).in_all().with_status();
    vec![
        row("apps", "deployments", "Deployment").short("deploy").counting(SpecAndAnnotations).scaled(Selector::Object),
        row("apps", "statefulsets", "StatefulSet").short("sts").counting(Spec).scaled(Selector::Object),
        row("apps", "replicasets", "ReplicaSet").short("rs").counting(Spec).scaled(Selector::Object),
        row("apps", "daemonsets", "DaemonSet").short("ds").counting(Spec),
        row("batch", "jobs", "Job").counting(Spec),
        row("batch", "cronjobs", "CronJob").short("cj").counting(Spec),
        self::row("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", Scope::Namespaced)
            .short("hpa")
            .in_all()
            .with_status(),
    ]
}

fn cluster_wide() -> Vec<Resource> {
    let row = |group, plural, kind| row(group, "v1", plural, kind, Scope::Cluster);
    vec![
        row("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition")
            .short("crd")
            .short("crds")
            .category("api-extensions")
            .with_status()
            .counting(Generation::Spec)
            .conditional(),
        row("apiregistration.k8s.io", "apiservices", "APIService").category("api-extensions").with_status(),
        row("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
            .category("api-extensions")
            .counting(Generation::Content)
            .conditional(),
        row("scheduling.k8s.io", "priorityclasses", "PriorityClass").short("pc").counting(Generation::Content),
        row("rbac.authorization.k8s.io", "clusterroles", "ClusterRole").creating(),
        row("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding").creating(),
    ]
}

fn policies() -> Vec<Resource> {
    let row = |group, plural, kind| row(group, "v1", plural, kind, Scope::Namespaced);
    vec![
        row("coordination.k8s.io", "leases", "Lease").creating().conditional(),
        row("discovery.k8s.io", "endpointslices", "EndpointSlice").counting(Generation::Content),
        row("policy", "poddisruptionbudgets", "PodDisruptionBudget")
            .short("pdb")
            .with_status()
            .counting(Generation::Spec)
            .conditional(),
        row("networking.k8s.io", "networkpolicies", "NetworkPolicy").short("netpol").counting(Generation::Spec),
        row("rbac.authorization.k8s.io", "roles", "Role").creating(),
        row("rbac.authorization.k8s.io", "rolebindings", "RoleBinding").creating(),
    ]
}

fn reviews() -> Vec<Resource> {
    let row = |group, plural, kind, scope| Resource {
        persistence: Persistence::Virtual,
        ..row(group, "v1", plural, kind, scope)
    };
    vec![
        row("authentication.k8s.io", "tokenreviews", "TokenReview", Scope::Cluster),
        row("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", Scope::Cluster),
        row("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", Scope::Cluster),
        row("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", Scope::Namespaced),
    ]
}

fn row(group: &str, version: &str, plural: &str, kind: &str, scope: Scope) -> Resource {
    let gvr = Gvr::new(group, version, plural);
    Resource {
        stored: gvr.clone(),
        collection: GroupResource::new(group, plural),
        gvr,
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        scope,
        persistence: Persistence::Stored,
        generation: Generation::Absent,
        put: PutRules { creates: false, unconditional: true },
        has_status: false,
        scale: None,
        selectable: Vec::new(),
        returns_deleted: false,
        columns: Vec::new(),
        origin: Origin::BuiltIn,
    }
}

/// What a row says beyond its name.
impl Resource {
    fn short(mut self, name: &str) -> Self {
        self.short_names.push(name.to_owned());
        self
    }

    fn category(mut self, name: &str) -> Self {
        self.categories.push(name.to_owned());
        self
    }

    fn in_all(self) -> Self {
        self.category("all")
    }

    fn with_status(mut self) -> Self {
        self.has_status = true;
        self
    }

    fn counting(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    fn returning(mut self) -> Self {
        self.returns_deleted = true;
        self
    }

    fn creating(mut self) -> Self {
        self.put.creates = true;
        self
    }

    fn conditional(mut self) -> Self {
        self.put.unconditional = false;
        self
    }

    fn stored_as(mut self, stored: Gvr) -> Self {
        self.collection = GroupResource::new(&stored.group, &stored.plural);
        self.stored = stored;
        self
    }

    fn scaled(mut self, selector: Selector) -> Self {
        let path = |part: &str| format!(".{part}.replicas");
        self.scale = Some(ScalePaths { spec_replicas: path("spec"), status_replicas: path("status"), selector });
        self
    }
}
