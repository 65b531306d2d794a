use serde_json::json;

use super::values::{ValueKind, parse};
use super::{KedaValue, Outcome, page, schema};

const VALUES: &str = r#"
# Of the file.

web:
  # How many.
  # @schema {"minimum": 0}
  count: 1
  # As a whole,
  # and more.
  # @schema {"type": "object"}
  limits:
    cpu: 1

# Which.
# @schema {"enum": ["a", "b"]}
kind: a
"#;

fn keda(value: &str, then: Outcome) -> KedaValue {
    KedaValue { value: value.to_owned(), then, because: "there is none".to_owned() }
}

#[test]
fn a_value_has_the_comments_above_it() {
    let entries = parse(VALUES).unwrap();
    let found: Vec<_> = entries.iter().map(|one| (one.path.join("."), one.kind, one.description.as_str())).collect();
    let row = |path: &str, kind, description| (path.to_owned(), kind, description);
    assert_eq!(
        found,
        [
            row("web", ValueKind::Section, ""),
            row("web.count", ValueKind::Value, "How many."),
            row("web.limits", ValueKind::Value, "As a whole, and more."),
            row("kind", ValueKind::Value, "Which."),
        ]
    );
    assert_eq!(entries[2].default, json!({ "cpu": 1 }));
}

#[test]
fn the_schema_refuses_what_it_does_not_know() {
    let schema = schema::render(&parse(VALUES).unwrap(), &[keda("web.old.name", Outcome::Ignored)]).unwrap();
    let web = &schema["properties"]["web"];
    assert_eq!((&schema["additionalProperties"], &web["additionalProperties"]), (&json!(false), &json!(false)));
    let count = json!({ "description": "How many.", "type": "integer", "default": 1, "minimum": 0 });
    assert_eq!(web["properties"]["count"], count);
    let old = &web["properties"]["old"]["properties"]["name"];
    assert_eq!(old, &json!({ "description": "Has no effect here: there is none." }));
}

#[test]
fn mistakes_in_the_files_are_named() {
    let missing = parse("web:\n  count: 1\n").unwrap_err().to_string();
    assert!(missing.contains("web.count has no description"), "{missing}");
    let twice = schema::render(&parse(VALUES).unwrap(), &[keda("kind", Outcome::Refused)]).unwrap_err().to_string();
    assert!(twice.contains("the value kind is in both values.yaml and in keda-values.yaml"), "{twice}");
    let inside = schema::render(&parse(VALUES).unwrap(), &[keda("kind.name", Outcome::Refused)]).unwrap_err();
    assert!(inside.to_string().contains("kind.name lies inside of a value"), "{inside}");
}

#[test]
fn the_page_has_a_row_for_each_value() {
    let page = page::render(&parse(VALUES).unwrap(), &[keda("old", Outcome::Refused)]);
    for row in
        ["| `web.count` | `1` | How many. |", "| `kind` | `a` | Which. One of `a`, `b`. |", "| `old` | there is none |"]
    {
        assert!(page.contains(row), "{page}");
    }
    assert!(!page.contains("`web` |"), "a section is no value: {page}");
}
