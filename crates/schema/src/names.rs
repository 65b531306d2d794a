//! The formats of names, in the terms of `k8s.io/apimachinery/pkg/util/validation`. Each function returns one message per
//! broken rule, worded as the API server words it; none for a well-formed name.

use std::sync::LazyLock;

use regex::Regex;

/// A format: a pattern, a maximum length, and the messages for both.
struct Format {
    pattern: &'static str,
    regex: Regex,
    description: &'static str,
    examples: &'static [&'static str],
    length_max: usize,
}

impl Format {
    fn new(
        pattern: &'static str,
        description: &'static str,
        examples: &'static [&'static str],
        length_max: usize,
    ) -> Self {
        let regex = Regex::new(&format!("^(?:{pattern})$")).expect("a constant pattern compiles");
        Self { pattern, regex, description, examples, length_max }
    }

    fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The message for a text that does not match the pattern.
    fn message(&self) -> String {
        let examples: Vec<_> = self.examples.iter().map(|example| format!("'{example}', ")).collect();
        format!("{} (e.g. {}regex used for validation is '{}')", self.description, examples.join(" or "), self.pattern)
    }

    fn violations(&self, text: &str, unit: &str) -> Vec<String> {
        let too_long =
            (text.len() > self.length_max).then(|| format!("must be no more than {} {unit}", self.length_max));
        let malformed = (!self.matches(text)).then(|| self.message());
        too_long.into_iter().chain(malformed).collect()
    }
}

macro_rules! formats {
    ($($name:ident = $pattern:literal, $description:literal, $examples:expr, $length_max:literal;)*) => {
        $(static $name: LazyLock<Format> = LazyLock::new(|| Format::new($pattern, $description, &$examples, $length_max));)*
    };
}

formats! {
    SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        ["example.com"], 253;
    LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        ["my-name", "123-abc"], 63;
    LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?",
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        ["my-name", "abc-123"], 63;
    KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ["MyName", "my.name", "123-abc"], 63;
    LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ["MyValue", "my_value", "12345"], 63;
    CONFIG_KEY = "[-._a-zA-Z0-9]+",
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        ["key.name", "KEY_NAME", "key-name"], 253;
    PERCENT = "[0-9]+%",
        "a valid percent string must be a numeric string followed by an ending '%'",
        ["1%", "93%"], 1000;
}

/// `IsDNS1123Subdomain`: the format of most object names.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    SUBDOMAIN.violations(text, "characters")
}

/// `IsDNS1123Label`: the format of the names of namespaces and containers.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut messages = LABEL.violations(text, "characters");
    if !LABEL.matches(text) && SUBDOMAIN.matches(text) {
        messages.pop();
        messages.push("must not contain dots".to_owned());
    }
    messages
}

/// `IsDNS1035Label`: the format of kinds, plurals and versions.
pub fn dns1035_label(text: &str) -> Vec<String> {
    LABEL_1035.violations(text, "bytes")
}

/// `IsDNS1123Subdomain` with the length counted in bytes, as the API extensions server words it.
pub(crate) fn dns1123_subdomain_in_bytes(text: &str) -> Vec<String> {
    SUBDOMAIN.violations(text, "bytes")
}

/// `IsQualifiedName`: the format of label and annotation keys, and of finalizers.
pub fn qualified_name(text: &str) -> Vec<String> {
    let parts: Vec<_> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let message = KEY_NAME.message();
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {message} {prefix}")];
        }
    };
    let mut messages: Vec<_> = match prefix {
        None => Vec::new(),
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => {
            SUBDOMAIN.violations(prefix, "bytes").iter().map(|message| format!("prefix part {message}")).collect()
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    }
    messages.extend(KEY_NAME.violations(name, "bytes").iter().map(|message| format!("name part {message}")));
    messages
}

/// `IsValidLabelValue`.
pub fn label_value(text: &str) -> Vec<String> {
    LABEL_VALUE.violations(text, "bytes")
}

/// `IsConfigMapKey`: the format of keys of a ConfigMap or a Secret.
pub fn config_map_key(text: &str) -> Vec<String> {
    let mut messages = CONFIG_KEY.violations(text, "characters");
    messages.extend(match text {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        text if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    });
    messages
}

/// `IsValidPercent`.
pub fn percent(text: &str) -> Vec<String> {
    PERCENT.violations(text, "characters")
}

/// `IsValidPortName`.
pub fn port_name(text: &str) -> Vec<String> {
    let charset = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let rules = [
        (text.len() > 15, "must be no more than 15 characters"),
        (
            text.is_empty() || !text.bytes().all(charset),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (text.contains("--"), "must not contain consecutive hyphens"),
        (text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, message)| message.to_owned()).collect()
}

/// `IsValidPortNum`.
pub fn port_number(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) { Vec::new() } else { vec!["must be between 1 and 65535, inclusive".to_owned()] }
}

/// `IsValidPathSegmentName`: the format of names that become a part of a URL path.
pub fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => {
            let found = ["/", "%"].into_iter().filter(|part| text.contains(part));
            found.map(|part| format!("may not contain '{part}'")).collect()
        }
    }
}

/// All messages in one, as the API extensions server joins them; none if there are none.
pub(crate) fn joined(messages: &[String]) -> Option<String> {
    (!messages.is_empty()).then(|| messages.join(","))
}
