//! Label keys and values: which ones Kubernetes accepts, and its messages about others.

use crate::object_name::is_dns_subdomain;

const KEY_MAX_BYTES: usize = 63;

/// The longest value of a label.
pub const VALUE_MAX_BYTES: usize = 63;

const PREFIX_MAX_BYTES: usize = 253;

const KEY_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Everything that is invalid in a label key; empty for a valid one.
pub fn check_key(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY_NAME} {prefix}")];
        }
    };
    let mut errors = match prefix {
        None => Vec::new(),
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => check("prefix part ", prefix, PREFIX_MAX_BYTES, is_dns_subdomain(prefix), SUBDOMAIN),
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    }
    errors.extend(check("name part ", name, KEY_MAX_BYTES, is_name(name), KEY_NAME));
    errors
}

/// Everything that is invalid in a label value; empty for a valid one.
pub fn check_value(value: &str) -> Vec<String> {
    check("", value, VALUE_MAX_BYTES, value.is_empty() || is_name(value), VALUE)
}

fn check(part: &str, text: &str, max: usize, is_well_formed: bool, format: &str) -> Vec<String> {
    let long = (text.len() > max).then(|| format!("{part}must be no more than {max} bytes"));
    let malformed = (!is_well_formed).then(|| format!("{part}{format}"));
    long.into_iter().chain(malformed).collect()
}

/// Letters and digits, with `-`, `_` and `.` in between.
fn is_name(text: &str) -> bool {
    has_alphanumeric_ends(text) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn has_alphanumeric_ends(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_end(text.as_bytes().first()) && is_end(text.as_bytes().last())
}
