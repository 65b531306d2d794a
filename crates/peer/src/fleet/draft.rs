//! One of the fleet while it is being made up, and the objects it is made of.

use serde_json::{Value, json};

use super::{Member, SHARE};
use kedge_test_cluster::http_source::SourceResponse;

pub(super) struct Draft {
    member: Member,
    before: i64,
    annotations: Value,
    spec: Value,
    triggers: Vec<Value>,
}

impl Draft {
    pub(super) fn new(name: &str) -> Self {
        let member = Member {
            namespace: String::new(),
            name: name.to_owned(),
            target_kind: "Deployment",
            settles_at: 0,
            ready: "True",
            polled: true,
            objects: Vec::new(),
            responses: Vec::new(),
            authorization: None,
        };
        Self { member, before: 0, annotations: json!({}), spec: json!({}), triggers: Vec::new() }
    }

    pub(super) fn triggers(mut self, triggers: impl IntoIterator<Item = Value>) -> Self {
        self.triggers = triggers.into_iter().collect();
        self
    }

    pub(super) fn answer(mut self, query: &str, response: SourceResponse) -> Self {
        self.member.responses.push((query.to_owned(), response));
        self
    }

    pub(super) fn broken(mut self) -> Self {
        self.member.responses = vec![(self.member.name.clone(), SourceResponse::broken())];
        self
    }

    /// Requires this `Authorization` of those who query the source.
    pub(super) fn protected(mut self, authorization: &'static str) -> Self {
        self.member.authorization = Some(authorization);
        self
    }

    pub(super) fn settles_at(mut self, replicas: i64) -> Self {
        self.member.settles_at = replicas;
        self
    }

    /// The replicas of the target when it is created.
    pub(super) fn before(mut self, replicas: i64) -> Self {
        self.before = replicas;
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

    pub(super) fn unpolled(mut self) -> Self {
        self.member.polled = false;
        self
    }

    pub(super) fn not_ready(mut self) -> Self {
        self.member.ready = "False";
        self
    }

    pub(super) fn of_kind(mut self, kind: &'static str) -> Self {
        self.member.target_kind = kind;
        self
    }

    pub(super) fn with(mut self, object: Value) -> Self {
        self.member.objects.push(object);
        self
    }

    pub(super) fn finish(mut self, namespace: &str) -> Member {
        let (name, kind) = (self.member.name.as_str(), self.member.target_kind);
        self.spec["scaleTargetRef"] = json!({ "name": name, "kind": kind });
        self.spec["triggers"] = json!(self.triggers);
        let scaled_object = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": { "name": name, "annotations": self.annotations },
            "spec": self.spec,
        });
        let mut objects = vec![workload(kind, name, self.before)];
        objects.append(&mut self.member.objects);
        objects.push(scaled_object);
        for object in &mut objects {
            object["metadata"]["namespace"] = json!(namespace);
        }
        Member { namespace: namespace.to_owned(), objects, ..self.member }
    }
}

pub(super) fn prometheus(url: &str, query: &str) -> Value {
    let share = SHARE.to_string();
    json!({ "type": "prometheus", "metadata": { "serverAddress": url, "query": query, "threshold": share } })
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
