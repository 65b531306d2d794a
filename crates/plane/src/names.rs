//! What metadata is refused for: names, labels, annotations, finalizers, owners; in the API server's words.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::error::FieldProblem;
use crate::meta;
use crate::resource::{Naming, Resource};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// A form that texts must have.
struct Form {
    whole: Regex,
    bytes_max: usize,
    /// What is said of a text that has not this form.
    complaint: String,
}

impl Form {
    fn new(pattern: &str, bytes_max: usize, rule: &str, examples: &str) -> Self {
        let whole = Regex::new(&format!("^(?:{pattern})$")).expect("the patterns above are regular");
        Self {
            whole,
            bytes_max,
            complaint: format!("{rule} (e.g. {examples}, regex used for validation is '{pattern}')"),
        }
    }

    fn complaints(&self, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        if text.len() > self.bytes_max {
            all.push(too_long(self.bytes_max));
        }
        if !self.whole.is_match(text) {
            all.push(self.complaint.clone());
        }
        all
    }
}

fn too_long(bytes_max: usize) -> String {
    format!("must be no more than {bytes_max} bytes")
}

static LABEL_FORM: LazyLock<Form> = LazyLock::new(|| {
    let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
    Form::new(LABEL, 63, rule, "'my-name',  or '123-abc'")
});
static SUBDOMAIN_FORM: LazyLock<Form> = LazyLock::new(|| {
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
    Form::new(SUBDOMAIN, 253, rule, "'example.com'")
});
static OLD_LABEL_FORM: LazyLock<Form> = LazyLock::new(|| {
    let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
    Form::new(OLD_LABEL, 63, rule, "'my-name',  or 'abc-123'")
});
static KEY_FORM: LazyLock<Form> = LazyLock::new(|| {
    let rule = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    Form::new(KEY, 63, rule, "'MyName',  or 'my.name',  or '123-abc'")
});
static VALUE_FORM: LazyLock<Form> = LazyLock::new(|| {
    let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    Form::new(VALUE, 63, rule, "'MyValue',  or 'my_value',  or '12345'")
});

/// Everything that is wrong with the metadata of an object.
pub(crate) fn check(resource: &Resource, object: &Value) -> Vec<FieldProblem> {
    let mut problems = check_name(resource, meta::name(object));
    problems.extend(check_namespace(resource, object));
    problems.extend(check_labels(&object["metadata"]["labels"], "metadata.labels"));
    problems.extend(check_annotations(&object["metadata"]["annotations"]));
    problems.extend(check_owners(object));
    for finalizer in meta::finalizers(object) {
        problems.extend(invalid("metadata.finalizers", finalizer, key_complaints(finalizer)));
    }
    problems
}

/// What is wrong with changing an object's metadata from what it was.
pub(crate) fn check_change(new: &Value, old: &Value) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    let added: Vec<_> = meta::finalizers(new).filter(|name| !meta::has_finalizer(old, name)).collect();
    if meta::is_deleting(old) && !added.is_empty() {
        let listed = added.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
        );
        problems.push(FieldProblem::forbidden("metadata.finalizers", &detail));
    }
    for field in ["name", "namespace", "uid", "deletionGracePeriodSeconds"] {
        if new["metadata"][field] != old["metadata"][field] {
            problems.push(FieldProblem::invalid(
                format!("metadata.{field}"),
                &new["metadata"][field],
                "field is immutable",
            ));
        }
    }
    problems
}

fn check_name(resource: &Resource, name: &str) -> Vec<FieldProblem> {
    if name.is_empty() {
        return vec![FieldProblem::required("metadata.name", "name or generateName is required")];
    }
    let complaints = match resource.naming {
        Naming::Subdomain => SUBDOMAIN_FORM.complaints(name),
        Naming::Label => label_complaints(name),
        Naming::OldLabel => OLD_LABEL_FORM.complaints(name),
        Naming::PathSegment => path_complaints(name),
    };
    invalid("metadata.name", name, complaints)
}

fn label_complaints(name: &str) -> Vec<String> {
    let is_subdomain = SUBDOMAIN_FORM.whole.is_match(name);
    let dots = |complaint| {
        if complaint == LABEL_FORM.complaint && is_subdomain { "must not contain dots".to_owned() } else { complaint }
    };
    LABEL_FORM.complaints(name).into_iter().map(dots).collect()
}

fn path_complaints(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|part| name.contains(**part)).map(|part| format!("may not contain '{part}'")).collect()
}

fn check_namespace(resource: &Resource, object: &Value) -> Vec<FieldProblem> {
    match (resource.is_namespaced(), meta::namespace(object)) {
        (true, Some(namespace)) => invalid("metadata.namespace", namespace, label_complaints(namespace)),
        (true, None) => vec![FieldProblem::required("metadata.namespace", "")],
        (false, Some(_)) => vec![FieldProblem::forbidden("metadata.namespace", "not allowed on this type")],
        (false, None) => Vec::new(),
    }
}

fn check_labels(labels: &Value, field: &str) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or("");
        problems.extend(invalid(field, key, key_complaints(key)));
        problems.extend(invalid(field, value, VALUE_FORM.complaints(value)));
    }
    problems
}

fn check_annotations(annotations: &Value) -> Vec<FieldProblem> {
    const BYTES_MAX: usize = 256 * 1024;
    let all = || annotations.as_object().into_iter().flatten();
    let mut problems: Vec<_> =
        all().flat_map(|(key, _)| invalid("metadata.annotations", key, key_complaints(&key.to_lowercase()))).collect();
    if all().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum::<usize>() > BYTES_MAX {
        problems.push(FieldProblem::new(
            "FieldValueTooLong",
            "metadata.annotations",
            format!("Too long: may not be more than {BYTES_MAX} bytes"),
        ));
    }
    problems
}

fn key_complaints(key: &str) -> Vec<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.contains('/') {
        let rule = KEY_FORM.complaint.trim_start_matches("name part ");
        return vec![format!(
            "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )];
    }
    let mut all = match prefix {
        None => Vec::new(),
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => {
            SUBDOMAIN_FORM.complaints(prefix).into_iter().map(|complaint| format!("prefix part {complaint}")).collect()
        }
    };
    match name.len() {
        0 => all.push("name part must be non-empty".to_owned()),
        64.. => all.push(format!("name part {}", too_long(63))),
        _ => {}
    }
    if !KEY_FORM.whole.is_match(name) {
        all.push(KEY_FORM.complaint.clone());
    }
    all
}

fn check_owners(object: &Value) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    for owner in meta::owners(object) {
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or("").is_empty() {
                problems.push(FieldProblem::invalid(format!("metadata.ownerReferences.{field}"), &json!(""), detail));
            }
        }
    }
    let named =
        |owner: &Value| format!("{}/{}", owner["kind"].as_str().unwrap_or(""), owner["name"].as_str().unwrap_or(""));
    let mut controllers = meta::owners(object).iter().filter(|owner| owner["controller"] == true);
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            named(first),
            named(second)
        );
        problems.push(FieldProblem::invalid(
            "metadata.ownerReferences",
            &object["metadata"]["ownerReferences"],
            &detail,
        ));
    }
    problems
}

fn invalid(field: &str, text: &str, complaints: Vec<String>) -> Vec<FieldProblem> {
    complaints.iter().map(|complaint| FieldProblem::invalid(field, &json!(text), complaint)).collect()
}
