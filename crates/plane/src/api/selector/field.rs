//! Field selectors: each resource has a few selectable fields, and its own message for others.

use serde_json::Value;

use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::api::resource::table::BUILT_IN;

/// Terms that must all match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    sign: Sign,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Is,
    IsNot,
}

impl FieldSelector {
    /// Parses a `fieldSelector`; an empty one matches everything. `selectable` are fields of a custom resource: `spec.color`.
    pub(crate) fn parse(text: &str, resource: &Gvr, selectable: &[String]) -> Result<Self, ApiError> {
        let mut parts = split(text);
        // The order decides which of several errors is returned.
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let terms = parts.map(|part| Term::parse(part, text)).collect::<Result<Vec<_>, _>>();
        let fields = Fields::for_resource(resource, selectable);
        let terms = terms.and_then(|terms| terms.into_iter().map(|term| fields.allow(term)).collect());
        terms.map(|terms| Self { terms }).map_err(|message| ApiError::new(400, "BadRequest", message))
    }

    /// Whether the fields of an object match.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (value(object, &term.field) == term.value) == (term.sign == Sign::Is))
    }
}

/// At commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let separates = |c: char| {
        let separates = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    };
    text.split(separates).collect()
}

impl Term {
    fn parse(part: &str, whole: &str) -> Result<Self, String> {
        let sign_at = |sign| part.find(sign).map(|at| (at, sign));
        // The first operator counts, and of two at one position the longer one.
        let first = ["!=", "==", "="].into_iter().filter_map(sign_at).min_by_key(|(at, sign)| (*at, 2 - sign.len()));
        let (at, sign) = first.ok_or_else(|| format!("invalid selector: '{whole}'; can't understand '{part}'"))?;
        let value = unescaped(&part[at + sign.len()..])?;
        let sign = if sign == "!=" { Sign::IsNot } else { Sign::Is };
        Ok(Self { field: part[..at].to_owned(), sign, value })
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let c = match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some(c @ ('\\' | ',' | '=')) => c,
                other => {
                    let sequence: String = ['\\'].into_iter().chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            (',' | '=', false) => {
                return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c)));
            }
            (c, false) => c,
        };
        value.push(c);
    }
    Ok(value)
}

/// The selectable fields of a resource.
enum Fields<'a> {
    /// Its own list.
    Own(&'static [&'static str]),
    /// The fields of jobs, with another message for unsupported fields.
    OfJobs,
    /// Custom resources: their name and namespace, and what the definition adds.
    OfCustom(&'a [String]),
    /// Their name and namespace, with the message of most built-in kinds.
    Common,
}

const PLACED: [&str; 2] = ["metadata.name", "metadata.namespace"];

impl<'a> Fields<'a> {
    fn for_resource(resource: &Gvr, selectable: &'a [String]) -> Self {
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => Self::Own(&[
                "metadata.name",
                "metadata.namespace",
                "spec.host",
                "spec.hostNetwork",
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "status.nominatedNodeName",
                "status.phase",
                "status.podIP",
                "status.podIPs",
            ]),
            ("", "nodes") => Self::Own(&["metadata.name", "spec.unschedulable"]),
            ("", "namespaces") => Self::Own(&["metadata.name", "status.phase"]),
            ("", "secrets") => Self::Own(&["metadata.name", "metadata.namespace", "type"]),
            ("", "services") => Self::Own(&["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"]),
            ("", "replicationcontrollers") => Self::Own(&["metadata.name", "metadata.namespace", "status.replicas"]),
            ("", "events") => Self::Own(&[
                "involvedObject.apiVersion",
                "involvedObject.fieldPath",
                "involvedObject.kind",
                "involvedObject.name",
                "involvedObject.namespace",
                "involvedObject.resourceVersion",
                "involvedObject.uid",
                "metadata.name",
                "metadata.namespace",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ]),
            ("events.k8s.io", "events") => Self::Own(&[
                "metadata.name",
                "metadata.namespace",
                "reason",
                "regarding.apiVersion",
                "regarding.fieldPath",
                "regarding.kind",
                "regarding.name",
                "regarding.namespace",
                "regarding.resourceVersion",
                "regarding.uid",
                "reportingController",
                "type",
            ]),
            ("batch", "jobs") => Self::OfJobs,
            _ if !BUILT_IN.contains_key(resource) => Self::OfCustom(selectable),
            _ => Self::Common,
        }
    }

    fn allow(&self, term: Term) -> Result<Term, String> {
        let field = term.field.as_str();
        let unknown = match self {
            Self::Own(fields) if !fields.contains(&field) => format!("field label not supported: {field}"),
            Self::OfCustom(own) if !PLACED.contains(&field) && !own.iter().any(|other| other == field) => {
                format!("field label not supported: {field}")
            }
            Self::OfJobs if !PLACED.contains(&field) && field != "status.successful" => {
                format!("field label {field:?} not supported for Job")
            }
            Self::Common if !PLACED.contains(&field) => {
                format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }
            _ => return Ok(term),
        };
        Err(unknown)
    }
}

/// A field as selectors see it: as text, empty where there is none.
fn value(object: &Value, field: &str) -> String {
    let at = |path: &str| object.pointer(path).cloned().unwrap_or_default();
    let found = match field {
        "spec.host" => at("/spec/nodeName"),
        "status.successful" => return number(&at("/status/succeeded")),
        "status.replicas" => return number(&at("/status/replicas")),
        "spec.unschedulable" | "spec.hostNetwork" => {
            return at(&format!("/{}", field.replace('.', "/"))).as_bool().unwrap_or_default().to_string();
        }
        "source" => match at("/source/component") {
            Value::String(component) if !component.is_empty() => Value::String(component),
            _ => at("/reportingComponent"),
        },
        // As a selector, it is always empty.
        "status.podIPs" => Value::Null,
        field => at(&format!("/{}", field.replace('.', "/"))),
    };
    match found {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn number(value: &Value) -> String {
    value.as_i64().unwrap_or_default().to_string()
}
