//! Numbers in YAML, by a path of names with dots between them; elements of lists by their index. Only what the path
//! leads to is kept; the rest is read, bounded, and forgotten.

mod seek;

use serde::de::DeserializeSeed;
use serde_saphyr::Options;
use serde_saphyr::options::NonFiniteFloatPolicy;

use super::value::{Found, Unusable};
use seek::{Leaf, Seek};

/// Nodes of a document that are read, aliases counted as what they refer to.
const NODES_MAX: usize = 250_000;
const DEPTH_MAX: usize = 64;

/// A path. No character has a meaning but the dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlPath(Vec<String>);

impl YamlPath {
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    /// What the path leads to in a document.
    pub(crate) fn find(&self, body: &str) -> Result<Found, Unusable> {
        let seek = |document: serde_saphyr::Deserializer<'_, '_>| Seek(&self.0).deserialize(document);
        match serde_saphyr::with_deserializer_from_str_with_options(body, options(), seek) {
            Ok(Leaf::Number(number)) => Ok(Found::Number(number)),
            Ok(Leaf::Text(text)) => Ok(Found::Text(text)),
            Ok(Leaf::Other(what)) => Err(Unusable::leads_to(what)),
            // Its words would repeat the document.
            Err(error) => Err(Unusable::malformed(match error.location() {
                Some(place) => format!("it is not YAML, or too large: line {}", place.line()),
                None => "it is not YAML, or too large".to_owned(),
            })),
        }
    }
}

/// Documents come from others: small ones can expand to huge ones, and deep ones would cost the stack.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: NODES_MAX,
            max_depth: DEPTH_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
        },
        // A value outside of the path does not matter, and a text is no number.
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        // `n` and `on` are names.
        strict_booleans: true,
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find(path: &str, body: &str) -> Result<f64, Unusable> {
        YamlPath::parse(path).find(body).and_then(Found::number_or_quantity)
    }

    #[test]
    fn numbers_and_quantities_are_found() {
        let document = "queue:\n  depth: 12\n  rate: 0.5\n  size: 1k\n  text: '7'\n  list:\n  - {n: 3}\n  - -4\n1: 2\n";
        let rows = [
            ("queue.depth", 12.0),
            ("queue.rate", 0.5),
            ("queue.size", 1000.0),
            ("queue.text", 7.0),
            ("queue.list.0.n", 3.0),
            ("queue.list.1", -4.0),
            ("1", 2.0),
        ];
        for (path, expected) in rows {
            assert_eq!(find(path, document), Ok(expected), "{path}");
        }
        assert_eq!(find("0.a", "- {a: 5}"), Ok(5.0));
        assert_eq!(find("b.n", "a: &x {n: 5}\nb: *x\n"), Ok(5.0));
        assert_eq!(find("b.n", "a: &x {n: 5}\nb: {<<: *x, m: 1}\n"), Ok(5.0));
    }

    #[test]
    fn values_outside_the_path_may_be_odd() {
        for odd in [
            "340282366920938463463374607431768211455",
            ".inf",
            "!own {a: b}",
            "{? [a, b] : c}",
            "2026-08-20",
            "!!binary aGk=",
        ] {
            assert_eq!(find("n", &format!("odd: {odd}\nn: 5\n")), Ok(5.0), "{odd}");
        }
        assert_eq!(find("n", "[a]: 1\n~: 2\n1.5: 3\nn: 5\n"), Ok(5.0));
    }

    #[test]
    fn what_is_no_number_is_reported_without_showing_it() {
        let document = "a: {b: hunter2, c: [1], d: true, e: ~, f: .inf, g: .nan}";
        let rows = [
            ("a", "a map"),
            ("a.b", "a text that is no quantity"),
            ("a.c", "a list"),
            ("a.c.1", "nothing"),
            ("a.c.-1", "nothing"),
            ("a.x", "nothing"),
            ("a.b.c", "nothing"),
            ("a.d", "true or false"),
            ("a.e", "null"),
            ("a.f", "a text that is no quantity"),
            ("a.g", "a text that is no quantity"),
        ];
        for (path, expected) in rows {
            let Err(Unusable::NoValue(problem)) = find(path, document) else { panic!("{path}") };
            assert!(problem.contains(expected) && !problem.contains("hunter2"), "{path}: {problem}");
        }
    }

    #[test]
    fn documents_that_would_cost_too_much_are_rejected() {
        let laughs: String = (1..30).map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}, *a{0}]\n", i - 1)).collect();
        let rows = [
            ("a billion laughs", format!("a0: &a0 [x, x, x, x]\n{laughs}")),
            ("a cycle", "a: &a [*a]".to_owned()),
            ("too deep", "[".repeat(10_000)),
            ("too deep, in blocks", (0..5000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect()),
            ("too many nodes", format!("[{}]", "1,".repeat(300_000))),
            ("not YAML", "a: b: hunter2".to_owned()),
            ("two documents", "a: 1\n---\na: 2\n".to_owned()),
        ];
        for (name, document) in rows {
            let Err(Unusable::Malformed(problem)) = find("a", &document) else { panic!("{name}") };
            assert!(!problem.contains("hunter2"), "{name}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn no_document_makes_it_panic(path in ".{0,8}", document in "(.|[a-z:&*\\[\\]{},!|>'\"\n -]){0,60}") {
            let _ = find(&path, &document);
        }
    }
}
