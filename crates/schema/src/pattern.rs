//! Regular expressions as Go reads them, for the `regex` crate: its classes reach beyond ASCII where Go's do not.

use regex::Regex;

/// Compiles a Go pattern; the error names what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&translate(pattern)).map_err(|error| error.to_string())
}

/// The same pattern with `\d`, `\w`, `\s` and `\b` confined to ASCII, and classes without operators.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut inside_class = false;
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let taken = match (character, inside_class) {
            ('\\', _) => push_escape(&mut out, rest, inside_class),
            ('[', false) => push_opening(&mut out, rest),
            (_, true) => push_in_class(&mut out, rest, character),
            _ => push(&mut out, character),
        };
        inside_class = match character {
            '[' => true,
            ']' => false,
            _ => inside_class,
        };
        rest = &rest[taken..];
    }
    out
}

fn push(out: &mut String, character: char) -> usize {
    out.push(character);
    character.len_utf8()
}

fn push_escape(out: &mut String, rest: &str, inside_class: bool) -> usize {
    let next = rest.chars().nth(1);
    out.push_str(&escape(next, inside_class));
    1 + next.map_or(0, char::len_utf8)
}

/// The start of a class; a bracket that closes at once is a literal.
fn push_opening(out: &mut String, rest: &str) -> usize {
    let opening = if rest.starts_with("[^") { "[^" } else { "[" };
    out.push_str(opening);
    if rest[opening.len()..].starts_with(']') {
        out.push_str("\\]");
        return opening.len() + 1;
    }
    opening.len()
}

/// In Go a bracket within a class is a literal unless it opens a named class, and there are no set operators.
fn push_in_class(out: &mut String, rest: &str, character: char) -> usize {
    let named = rest.strip_prefix("[:").and_then(|after| after.find(":]"));
    match (character, named) {
        ('[', Some(length)) => {
            out.push_str(&rest[..length + 4]);
            length + 4
        }
        ('[' | '&' | '~', _) => {
            out.push('\\');
            push(out, character)
        }
        ('-', _) if rest.starts_with("--") => {
            out.push_str("\\-");
            1
        }
        _ => push(out, character),
    }
}

fn escape(next: Option<char>, inside_class: bool) -> String {
    let (class, negated) = match next {
        Some('d') => ("0-9", false),
        Some('D') => ("0-9", true),
        Some('w') => ("0-9A-Za-z_", false),
        Some('W') => ("0-9A-Za-z_", true),
        Some('s') => (r"\t\n\f\r ", false),
        Some('S') => (r"\t\n\f\r ", true),
        Some('b') if !inside_class => return r"(?-u:\b)".to_owned(),
        Some(other) => return format!("\\{other}"),
        None => return "\\".to_owned(),
    };
    match (inside_class, negated) {
        (true, false) => class.to_owned(),
        (_, true) => format!("[^{class}]"),
        (false, false) => format!("[{class}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn go_patterns_match_what_go_matches() {
        let rows = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\w.-]+$", "a-b.c_d", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[\D]+$", "ab", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[[:alpha:]]+$", "a1", false),
            (r"^[a-z&&[]+$", "a&[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "]a", false),
            (r"^(?i)abc$", "ABC", true),
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-1", true),
        ];
        for (pattern, text, expected) in rows {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
        assert!(compile("(a").is_err());
    }
}
