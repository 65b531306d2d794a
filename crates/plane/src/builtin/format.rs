//! The formats of names: what Kubernetes says of those that are not well formed.

use std::sync::LazyLock;

use regex::Regex;

/// A format: a pattern, a length, and the words for both.
struct Format {
    pattern: &'static str,
    regex: Regex,
    says: &'static str,
    examples: &'static [&'static str],
    length_max: usize,
}

impl Format {
    fn new(pattern: &'static str, says: &'static str, examples: &'static [&'static str], length_max: usize) -> Self {
        let regex = Regex::new(&format!("^(?:{pattern})$")).expect("the patterns are written here");
        Self { pattern, regex, says, examples, length_max }
    }

    fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The sentence for a text that does not fit.
    fn sentence(&self) -> String {
        let examples: Vec<_> = self.examples.iter().map(|example| format!("'{example}', ")).collect();
        format!("{} (e.g. {}regex used for validation is '{}')", self.says, examples.join(" or "), self.pattern)
    }

    fn problems(&self, text: &str, unit: &str) -> Vec<String> {
        let long = (text.len() > self.length_max).then(|| format!("must be no more than {} {unit}", self.length_max));
        let wrong = (!self.fits(text)).then(|| self.sentence());
        long.into_iter().chain(wrong).collect()
    }
}

macro_rules! formats {
    ($($name:ident = $pattern:literal, $says:literal, $examples:expr, $length_max:literal;)*) => {
        $(static $name: LazyLock<Format> = LazyLock::new(|| Format::new($pattern, $says, &$examples, $length_max));)*
    };
}

formats! {
    SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        ["example.com"], 253;
    LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        ["my-name", "123-abc"], 63;
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

/// What is wrong with a name that should be a DNS subdomain, as most names of objects should.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    SUBDOMAIN.problems(text, "characters")
}

/// … with a name that should be a DNS label, as those of namespaces and containers.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut problems = LABEL.problems(text, "characters");
    if !LABEL.fits(text) && SUBDOMAIN.fits(text) {
        problems.pop();
        problems.push("must not contain dots".to_owned());
    }
    problems
}

/// … with the key of a label.
pub(crate) fn key(text: &str) -> Vec<String> {
    let parts: Vec<_> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let sentence = KEY_NAME.sentence();
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {sentence} {prefix}")];
        }
    };
    let mut problems: Vec<_> = match prefix {
        None => Vec::new(),
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => {
            SUBDOMAIN.problems(prefix, "bytes").iter().map(|problem| format!("prefix part {problem}")).collect()
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    problems.extend(KEY_NAME.problems(name, "bytes").iter().map(|problem| format!("name part {problem}")));
    problems
}

/// … with the value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    LABEL_VALUE.problems(text, "bytes")
}

/// … with a key of a ConfigMap or a Secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut problems = CONFIG_KEY.problems(text, "characters");
    problems.extend(match text {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        text if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    });
    problems
}

/// … with a text that should be a percentage.
pub(crate) fn percent(text: &str) -> Vec<String> {
    PERCENT.problems(text, "characters")
}

/// … with the name of a port.
pub(crate) fn port_name(text: &str) -> Vec<String> {
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
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, says)| says.to_owned()).collect()
}

/// … with the number of a port.
pub(crate) fn port_number(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) { Vec::new() } else { vec!["must be between 1 and 65535, inclusive".to_owned()] }
}

/// … with a name that becomes part of a path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => {
            let found = ["/", "%"].into_iter().filter(|part| text.contains(part));
            found.map(|part| format!("may not contain '{part}'")).collect()
        }
    }
}
