//! Conditions on the elements of a list: `#(state=="waiting")`, `#(age>5)`, `#(name%"a*")`, `#(tags.#(=="x"))`.

use super::{Path, Pattern, error, parse_parts};
use crate::document::json::document::{JsonType, Node};
use crate::metadata::convert::Converted;

/// The longest first: the first that fits is the one.
const OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("!%", Operator::Unlike),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::MoreOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::More),
    ("%", Operator::Like),
];

/// What an element must be like: something at a path from it, and how that compares with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) path: Path,
    /// Without one, it is enough that something is there.
    comparison: Option<Comparison>,
}

#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    operator: Operator,
    text: String,
    /// The text as a pattern, for those operators that want one.
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    Like,
    Unlike,
}

impl Condition {
    pub(super) fn holds(&self, element: &Node<'_>) -> bool {
        match (self.path.follow(element.clone()), &self.comparison) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(found), Some(comparison)) => comparison.holds(&found),
        }
    }
}

impl Comparison {
    // GJSON: what is compared decides how; a value that is neither text, number nor boolean fulfils nothing.
    fn holds(&self, found: &Node<'_>) -> bool {
        let text = self.text.as_str();
        match found {
            Node::Count(count) => self.compare_number(*count as f64),
            Node::Many(_) => false,
            Node::One(value) => match value.json_type() {
                JsonType::Text => value.text().is_some_and(|value| self.compare_text(&value)),
                JsonType::Number => value.number().is_some_and(|value| self.compare_number(value)),
                JsonType::True => match self.operator {
                    Operator::Equal => text == "true",
                    Operator::Unequal => text != "true",
                    Operator::More => text == "false",
                    Operator::MoreOrEqual => true,
                    _ => false,
                },
                JsonType::False => match self.operator {
                    Operator::Equal => text == "false",
                    Operator::Unequal => text != "false",
                    Operator::Less => text == "true",
                    Operator::LessOrEqual => true,
                    _ => false,
                },
                JsonType::Object | JsonType::Array | JsonType::Null => false,
            },
        }
    }

    fn compare_text(&self, value: &str) -> bool {
        match self.operator {
            Operator::Like => self.pattern.fits(value),
            Operator::Unlike => !self.pattern.fits(value),
            operator => operator.accepts(value.partial_cmp(self.text.as_str())),
        }
    }

    fn compare_number(&self, value: f64) -> bool {
        let other = self.text.parse::<f64>().ok();
        self.operator.accepts(other.and_then(|other| value.partial_cmp(&other)))
    }
}

impl Operator {
    fn accepts(self, order: Option<std::cmp::Ordering>) -> bool {
        match self {
            Self::Equal => order.is_some_and(|order| order.is_eq()),
            Self::Unequal => order.is_none_or(|order| order.is_ne()),
            Self::Less => order.is_some_and(|order| order.is_lt()),
            Self::LessOrEqual => order.is_some_and(|order| order.is_le()),
            Self::More => order.is_some_and(|order| order.is_gt()),
            Self::MoreOrEqual => order.is_some_and(|order| order.is_ge()),
            Self::Like | Self::Unlike => false,
        }
    }
}

/// Where a condition that a text begins with ends, with the `#` that may follow it.
pub(super) fn end(text: &str) -> Converted<usize> {
    for (at, c, depth) in outline(text) {
        if depth == 0 && (c == ')' || c == ']') {
            let end = at + 1;
            return Ok(if text[end..].starts_with('#') { end + 1 } else { end });
        }
    }
    Err(error("has a query that does not end"))
}

/// Reads `#(…)` or, as it once was written, `#[…]`.
pub(super) fn parse(word: &str) -> Converted<Condition> {
    let inside = word.get(2..word.len() - 1).unwrap_or_default();
    let operator = outline(inside).find_map(|(at, _, depth)| {
        let rest = if depth == 0 { &inside[at..] } else { "" };
        OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)).map(|(sign, operator)| (at, *sign, *operator))
    });
    let Some((at, sign, operator)) = operator else {
        return Ok(Condition { path: parse_parts(inside.trim())?, comparison: None });
    };
    let (path, value) = (inside[..at].trim(), inside[at + sign.len()..].trim());
    // Without a path, the element itself is compared.
    let path = parse_parts(if path.is_empty() { "@this" } else { path })?;
    let text = parse_value(value)?;
    Ok(Condition { path, comparison: Some(Comparison { operator, pattern: parse_pattern(operator, &text)?, text }) })
}

fn parse_pattern(operator: Operator, text: &str) -> Converted<Pattern> {
    match operator {
        Operator::Like | Operator::Unlike => Pattern::parse(text),
        _ => Pattern::parse(""),
    }
}

/// A text in quotes, or a word.
fn parse_value(value: &str) -> Converted<String> {
    if value.starts_with('~') {
        return Err(error("has a query that compares with `~`, which is not supported"));
    }
    match value.starts_with('"') {
        true => serde_json::from_str(value).map_err(|_| error("has a query with a text whose quotes are not in order")),
        false => Ok(value.to_owned()),
    }
}

/// The characters of a path outside of quotes and escapes, each with the number of parentheses around it.
fn outline(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    text.char_indices().filter_map(move |(at, c)| {
        match c {
            _ if escaped => {
                escaped = false;
                return None;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth = depth.saturating_sub(1),
            _ => return (!quoted).then_some((at, c, depth)),
        }
        (!quoted && matches!(c, ')' | ']')).then_some((at, c, depth))
    })
}
