//! The audit log: one JSON line for each request, without bodies, as the API server's log backend writes
//! them at the level `Metadata`. A watch is logged when it starts.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::identity::Identity;
use crate::api::request::{Call, Verb};
use crate::server::http::path::Target;

/// The log. Clones write into the same file.
#[derive(Clone, Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: Mutex<File>,
    count: AtomicU64,
}

/// One request that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) user: Identity,
    pub(crate) verb: &'static str,
    /// Path and query.
    pub(crate) uri: String,
    pub(crate) agent: String,
    pub(crate) target: Option<Target>,
    pub(crate) code: u16,
    pub(crate) received_at: DateTime<Utc>,
    pub(crate) answered_at: DateTime<Utc>,
}

/// A line, with its fields in the order of the API server's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: &'static str,
    #[serde(rename = "requestURI")]
    request_uri: &'a str,
    verb: &'static str,
    user: Value,
    #[serde(rename = "sourceIPs")]
    source_ips: [&'static str; 1],
    #[serde(skip_serializing_if = "str::is_empty")]
    user_agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_ref: Option<ObjectRef<'a>>,
    response_status: Value,
    request_received_timestamp: String,
    stage_timestamp: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef<'a> {
    resource: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_group: &'a str,
    api_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subresource: Option<&'a str>,
}

impl AuditLog {
    /// Begins a new log.
    pub fn create(path: &Path) -> io::Result<Self> {
        let shared = Shared { file: Mutex::new(File::create(path)?), count: AtomicU64::new(0) };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn note(&self, noted: &Noted) {
        let id = format!("00000000-0000-4000-8000-{:012x}", self.shared.count.fetch_add(1, Ordering::Relaxed));
        let mut line = serde_json::to_vec(&line(noted, id)).expect("JSON can be written");
        line.push(b'\n');
        let mut file = self.shared.file.lock().expect("no thread panics while it holds the lock");
        if let Err(error) = file.write_all(&line) {
            tracing::error!(%error, "a request could not be noted");
        }
    }

    /// Logs a call that did not come over a connection.
    pub fn note_call(&self, call: &Call, code: u16, at: DateTime<Utc>) {
        let target = Target {
            resource: call.resource.clone(),
            namespace: call.namespace.clone(),
            name: call.name.clone(),
            subresource: call.subresource.clone(),
            is_watch: false,
        };
        self.note(&Noted {
            user: Identity::named(&call.user),
            verb: word(call.verb),
            uri: target.path(),
            agent: String::new(),
            target: Some(target),
            code,
            received_at: at,
            answered_at: at,
        });
    }
}

fn line<'a>(noted: &'a Noted, audit_id: String) -> Line<'a> {
    let micros = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Micros, true);
    Line {
        kind: "Event",
        api_version: "audit.k8s.io/v1",
        level: "Metadata",
        audit_id,
        stage: if noted.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" },
        request_uri: &noted.uri,
        verb: noted.verb,
        user: json!({ "username": noted.user.name, "groups": noted.user.groups }),
        source_ips: ["127.0.0.1"],
        user_agent: &noted.agent,
        object_ref: noted.target.as_ref().map(reference),
        response_status: json!({ "metadata": {}, "code": noted.code }),
        request_received_timestamp: micros(noted.received_at),
        stage_timestamp: micros(noted.answered_at),
    }
}

fn reference(target: &Target) -> ObjectRef<'_> {
    ObjectRef {
        resource: &target.resource.plural,
        namespace: target.namespace.as_deref(),
        name: target.name.as_deref(),
        api_group: &target.resource.group,
        api_version: &target.resource.version,
        subresource: target.subresource.as_deref(),
    }
}

/// A verb as RBAC and the log call it.
pub(crate) fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::List => "list",
        Verb::Watch => "watch",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch(_) => "patch",
        Verb::Delete => "delete",
        Verb::DeleteCollection => "deletecollection",
    }
}
