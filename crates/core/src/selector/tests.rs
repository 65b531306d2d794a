//! The tables hold what a real API server answered.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn matches(selector: &LabelSelector, labels: &Value) -> bool {
    selector.matches(|key| labels.get(key)?.as_str())
}

#[test]
fn labels_match_as_in_kubernetes() {
    let labels = json!({ "a": "b", "n": "5", "empty": "" });
    let rows = [
        ("", true),
        ("a=b", true),
        ("a==b", true),
        ("a = b , n", true),
        ("a=c", false),
        ("a!=b", false),
        ("a!=c", true),
        ("missing!=c", true),
        ("a in (x,b)", true),
        ("a in (x,y)", false),
        ("missing in (x)", false),
        ("a notin (x)", true),
        ("a notin (b)", false),
        ("missing notin (b)", true),
        ("a", true),
        ("missing", false),
        ("!missing", true),
        ("! missing", true),
        ("!a", false),
        ("empty=", true),
        ("a=,n=5", false),
        ("empty in ()", true),
        ("empty in (x,,y)", true),
        ("n>4", true),
        ("n>5", false),
        ("n<6", true),
        ("a<6", false),
        ("missing<6", false),
        ("in=x", false),
        ("a in (in)", false),
        ("notin", false),
    ];
    for (text, expected) in rows {
        let selector = LabelSelector::parse(text).expect(text);
        assert_eq!(matches(&selector, &labels), expected, "{text}");
    }
}

const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const OPTIONAL_PREFIX: &str = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[test]
fn invalid_selectors_get_the_messages_of_the_api_server() {
    let requirement = |problem: &str| format!("unable to parse requirement: {problem}");
    let rows = [
        ("a in", requirement("found '' expected: '('")),
        ("a in (", requirement("found '', expected: ',', ')' or identifier")),
        ("a in (b", requirement("found '', expected: ',' or ')'")),
        ("a in (b,", requirement("found '', expected: ',', or identifier")),
        ("a in ,b", requirement("found ',' expected: '('")),
        ("a in ((b))", requirement("found '(', expected: ',', ')' or identifier")),
        ("a notin x", requirement("found 'x' expected: '('")),
        ("a==b=c", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("a=b c", "found 'c', expected: ',' or 'end of string'".to_owned()),
        ("!a=b", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("a=b,", "found '', expected: identifier after ','".to_owned()),
        (",", "found ',', expected: !, identifier, or 'end of string'".to_owned()),
        ("=b", "found '=', expected: !, identifier, or 'end of string'".to_owned()),
        ("()", "found '(', expected: !, identifier, or 'end of string'".to_owned()),
        ("!", requirement("found '', expected: identifier")),
        ("!!a", requirement("found '!', expected: identifier")),
        ("a!==b", requirement("found '=', expected: identifier")),
        ("a>=1", requirement("found '=', expected: identifier")),
        ("a b", requirement("found 'b', expected: in, notin, =, ==, !=, gt, lt")),
        ("a!b", requirement("found '!', expected: in, notin, =, ==, !=, gt, lt")),
        ("a (b)", requirement("found '(', expected: in, notin, =, ==, !=, gt, lt")),
        (
            "a>1.5",
            requirement("values[0]: Invalid value: \"1.5\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ),
        ("a<", requirement("values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer")),
        ("-a=b", requirement(&format!("<nil>: Invalid value: \"-a\": {KEY}"))),
        ("/a", requirement("<nil>: Invalid value: \"/a\": prefix part must be non-empty")),
        ("a/", requirement(&format!("<nil>: Invalid value: \"a/\": name part must be non-empty; {KEY}"))),
        ("a=-b", requirement(&format!("values[0][a]: Invalid value: \"-b\": {VALUE}"))),
        ("A_B/x=1", requirement(&format!("<nil>: Invalid value: \"A_B/x\": prefix part {SUBDOMAIN}"))),
        (
            "a/b/c=1",
            requirement(&format!(
                "<nil>: Invalid value: \"a/b/c\": a valid label key {} {OPTIONAL_PREFIX}",
                &KEY["name part ".len()..]
            )),
        ),
        ("a=ü", requirement(&format!("values[0][a]: Invalid value: \"ü\": {VALUE}"))),
    ];
    for (text, expected) in rows {
        let error = LabelSelector::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn selectors_of_objects_are_printed_in_the_order_of_their_keys() {
    let rows = [
        (json!({}), ""),
        (json!({ "matchLabels": { "b": "2", "a": "1" } }), "a=1,b=2"),
        (
            json!({ "matchLabels": { "m": "1" }, "matchExpressions": [
                { "key": "z", "operator": "In", "values": ["y", "x"] },
                { "key": "c", "operator": "NotIn", "values": ["x"] },
                { "key": "e", "operator": "Exists" },
                { "key": "d", "operator": "DoesNotExist" } ] }),
            "c notin (x),!d,e,m=1,z in (x,y)",
        ),
    ];
    for (selector, expected) in rows {
        assert_eq!(LabelSelector::from_object(&selector).expect(expected).to_string(), expected);
    }
}

#[test]
fn null_matches_nothing_and_an_empty_object_everything() {
    let labels = json!({ "a": "b" });
    assert!(!matches(&LabelSelector::from_object(&Value::Null).expect("null"), &labels));
    assert!(matches(&LabelSelector::from_object(&json!({})).expect("empty"), &labels));
    assert!(LabelSelector::from_object(&json!({ "matchExpressions": [{ "key": "a", "operator": "Has" }] })).is_err());
}

#[test]
fn selectors_that_kubernetes_accepts_are_accepted() {
    for text in ["a in (b, c,),x notin(y)", "a>1,b<2", "keda.sh/team=a,x=y", "app.kubernetes.io/part-of in (x,y), !old"]
    {
        assert!(LabelSelector::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn keys_and_values_have_a_longest_length() {
    let (long, longest) = ("a".repeat(64), "a".repeat(63));
    assert!(LabelSelector::parse(&longest).is_ok());
    let error = LabelSelector::parse(&long).expect_err("too long").to_string();
    assert!(error.ends_with("name part must be no more than 63 bytes"), "{error}");
    let error = LabelSelector::parse(&format!("a={long}")).expect_err("too long").to_string();
    assert!(error.ends_with("must be no more than 63 bytes"), "{error}");
}

#[test]
fn only_a_single_equals_sign_names_one_value() {
    let rows = [("a=b", Some("b")), ("a=", Some("")), ("a==b", None), ("a in (b)", None), ("a!=b", None), ("a", None)];
    for (text, expected) in rows {
        let selector = LabelSelector::parse(text).expect(text);
        let requirement = selector.requirements().next().expect(text);
        assert_eq!((requirement.key(), requirement.equal_to()), ("a", expected), "{text}");
    }
}

proptest! {
    #[test]
    fn the_canonical_text_means_the_same(
        text in "[abc](=|==|!=)[xy]?(,[abc]( in \\([xy]?,?[xy]?\\)| notin \\([xy]\\)|>[0-9]|<[0-9])?)?(,!?[abc])?",
        labels in prop::collection::btree_map("[abc]", "[xy0-9]?", 0..3),
    ) {
        let labels: BTreeMap<String, String> = labels;
        let selector = LabelSelector::parse(&text).expect("well formed");
        let again = LabelSelector::parse(&selector.to_string()).expect("canonical");
        let matches = |selector: &LabelSelector| selector.matches(|key| labels.get(key).map(String::as_str));
        prop_assert_eq!(again.to_string(), selector.to_string());
        prop_assert_eq!(matches(&again), matches(&selector));
    }

    #[test]
    fn no_text_causes_a_panic(text in "(.|[a-c!=<>(), /.ü]|in|notin){0,24}") {
        let _ = LabelSelector::parse(&text);
    }

    #[test]
    fn requirements_are_valid_independently(one in requirement(), other in requirement()) {
        let is_valid = |text: &str| LabelSelector::parse(text).is_ok();
        prop_assert_eq!(is_valid(&format!("{one},{other}")), is_valid(&one) && is_valid(&other));
    }
}

fn requirement() -> impl Strategy<Value = String> {
    "[a-z]{1,3}(=|==|!=| in | notin |>|)[a-z0-9]{0,2}|[a-z] in \\([a-z],?[a-z]?\\)"
}
