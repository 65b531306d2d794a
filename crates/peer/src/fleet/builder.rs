//! Builds a member of the fleet and the objects that it consists of.

use kedge_test_cluster::http_source::SourceResponse;
use serde_json::{Value, json};

use super::{Member, THRESHOLD};

pub(super) struct MemberBuilder {
    member: Member,
    initial_replicas: i64,
    annotations: Value,
    spec: Value,
    triggers: Vec<Value>,
}

impl MemberBuilder {
    pub(super) fn new(name: &str) -> Self {
        let member = Member {
            namespace: String::new(),
            name: name.to_owned(),
            target_kind: "Deployment",
            expected_replicas: 0,
            expected_ready: "True",
            is_polled: true,
            objects: Vec::new(),
            responses: Vec::new(),
            authorization: None,
        };
        Self { member, initial_replicas: 0, annotations: json!({}), spec: json!({}), triggers: Vec::new() }
    }

    pub(super) fn triggers(mut self, triggers: impl IntoIterator<Item = Value>) -> Self {
        self.triggers = triggers.into_iter().collect();
        self
    }

    /// Adds the response of the source to a query.
    pub(super) fn response(mut self, query: &str, response: SourceResponse) -> Self {
        self.member.responses.push((query.to_owned(), response));
        self
    }

    /// Makes every query to the source fail.
    pub(super) fn failing_source(mut self) -> Self {
        self.member.responses = vec![(self.member.name.clone(), SourceResponse::broken())];
        self
    }

    /// Sets the `Authorization` header that the source requires.
    pub(super) fn authorization(mut self, authorization: &'static str) -> Self {
        self.member.authorization = Some(authorization);
        self
    }

    pub(super) fn expected_replicas(mut self, replicas: i64) -> Self {
        self.member.expected_replicas = replicas;
        self
    }

    /// Sets the replicas that the target is created with.
    pub(super) fn initial_replicas(mut self, replicas: i64) -> Self {
        self.initial_replicas = replicas;
        self
    }

    pub(super) fn spec(mut self, spec: Value) -> Self {
        self.spec = spec;
        self
    }

    pub(super) fn annotations(mut self, annotations: Value) -> Self {
        self.annotations = annotations;
        self
    }

    pub(super) fn not_polled(mut self) -> Self {
        self.member.is_polled = false;
        self
    }

    pub(super) fn not_ready(mut self) -> Self {
        self.member.expected_ready = "False";
        self
    }

    pub(super) fn target_kind(mut self, kind: &'static str) -> Self {
        self.member.target_kind = kind;
        self
    }

    /// Adds an object that is created before the ScaledObject.
    pub(super) fn object(mut self, object: Value) -> Self {
        self.member.objects.push(object);
        self
    }

    pub(super) fn build(mut self, namespace: &str) -> Member {
        let (name, kind) = (self.member.name.as_str(), self.member.target_kind);
        self.spec["scaleTargetRef"] = json!({ "name": name, "kind": kind });
        self.spec["triggers"] = json!(self.triggers);
        let scaled_object = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": { "name": name, "annotations": self.annotations },
            "spec": self.spec,
        });
        let mut objects = vec![workload(kind, name, self.initial_replicas)];
        objects.append(&mut self.member.objects);
        objects.push(scaled_object);
        for object in &mut objects {
            object["metadata"]["namespace"] = json!(namespace);
        }
        Member { namespace: namespace.to_owned(), objects, ..self.member }
    }
}

pub(super) fn prometheus(url: &str, query: &str) -> Value {
    let threshold = THRESHOLD.to_string();
    json!({ "type": "prometheus", "metadata": { "serverAddress": url, "query": query, "threshold": threshold } })
}

pub(super) fn cron(start: &str, end: &str, replicas: u32) -> Value {
    let desired = replicas.to_string();
    json!({
        "type": "cron",
        "metadata": { "timezone": "Etc/UTC", "start": start, "end": end, "desiredReplicas": desired },
    })
}

pub(super) fn workload(kind: &str, name: &str, replicas: i64) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            },
        },
    });
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = json!(name);
        object["spec"]["podManagementPolicy"] = json!("Parallel");
    }
    object
}
