//! The `fieldPath` of a rule: names after dots, or in brackets and single quotes.

use crate::messages::{child, key};
use crate::node::Node;

/// The path as messages write it; none if the schema has no such field.
pub(super) fn normalised(path: &str, node: &Node) -> Option<String> {
    let mut rest = path;
    let mut node = node;
    let mut normalised = String::new();
    while !rest.is_empty() {
        let (name, after) = step(rest)?;
        if node.properties.is_empty() {
            node = node.additional.node()?;
            normalised = key(&normalised, &name);
        } else {
            node = node.properties.get(&name)?;
            normalised = child(&normalised, &name);
        }
        rest = after;
    }
    Some(normalised).filter(|normalised| !normalised.is_empty())
}

pub(crate) fn is_valid(path: &str, node: &Node) -> bool {
    normalised(path, node).is_some()
}

/// The next name, and what follows it.
fn step(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return (end > 0).then(|| (rest[..end].to_owned(), &rest[end..]));
    }
    let quoted = path.strip_prefix("['")?;
    let mut name = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => return Some((name, quoted[at + 1..].strip_prefix(']')?)),
            '\\' => name.push(unescaped(characters.next()?.1)?),
            other => name.push(other),
        }
    }
    None
}

fn unescaped(character: char) -> Option<char> {
    Some(match character {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\'' | '\\' => character,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::normalised;
    use crate::node::Node;

    #[test]
    fn paths_lead_to_fields_that_the_schema_names() {
        let node = Node::parse(&json!({ "type": "object", "properties": {
            "a": { "type": "object", "properties": { "b": { "type": "string" }, "c.d": { "type": "string" } } },
            "map": { "type": "object", "additionalProperties": { "type": "string" } },
        } }));
        let rows = [
            (".a", Some("a")),
            (".a.b", Some("a.b")),
            (".a['c.d']", Some("a.c.d")),
            (".map['it\\'s']", Some("map[it's]")),
            ("a", None),
            (".x", None),
            (".a.", None),
            ("", None),
        ];
        for (path, expected) in rows {
            assert_eq!(normalised(path, &node).as_deref(), expected, "{path}");
        }
    }
}
