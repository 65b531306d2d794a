//! Selectors, beside what a real API server answered.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::api::resource::Gvr;

fn labelled(labels: Value) -> Value {
    json!({ "metadata": { "name": "x", "labels": labels } })
}

#[test]
fn labels_match_as_kubernetes_matches_them() {
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
        assert_eq!(selector.matches(&labelled(labels.clone())), expected, "{text}");
    }
}

const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[test]
fn label_selectors_that_are_none_are_refused_in_the_servers_words() {
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
        ("a=ü", requirement(&format!("values[0][a]: Invalid value: \"ü\": {VALUE}"))),
    ];
    for (text, expected) in rows {
        let error = LabelSelector::parse(text).expect_err(text);
        assert_eq!((error.code, error.reason, error.message), (400, "BadRequest", expected), "{text}");
    }
}

#[test]
fn selectors_of_objects_are_written_in_the_order_of_their_keys() {
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
fn no_selector_matches_nothing_and_an_empty_one_everything() {
    let object = labelled(json!({ "a": "b" }));
    assert!(!LabelSelector::from_object(&Value::Null).expect("null").matches(&object));
    assert!(LabelSelector::from_object(&json!({})).expect("empty").matches(&object));
    assert!(LabelSelector::from_object(&json!({ "matchExpressions": [{ "key": "a", "operator": "Has" }] })).is_err());
}

fn resource(group: &str, plural: &str) -> Gvr {
    Gvr::new(group, "v1", plural)
}

#[test]
fn fields_match_as_text() {
    let pod = json!({ "metadata": { "name": "p", "namespace": "n" }, "spec": { "nodeName": "one", "hostNetwork": true },
        "status": { "phase": "Running" } });
    let event = json!({ "involvedObject": { "kind": "Pod", "name": "p" }, "source": {}, "reportingComponent": "me", "type": "Normal" });
    let rows = [
        ("pods", &pod, "", true),
        ("pods", &pod, "metadata.name=p,metadata.namespace==n", true),
        ("pods", &pod, "metadata.name!=p", false),
        ("pods", &pod, "status.phase=Running,spec.nodeName!=", true),
        ("pods", &pod, "spec.nodeName=", false),
        ("pods", &pod, "spec.host=one", true),
        ("pods", &pod, "spec.hostNetwork=true", true),
        ("pods", &pod, "status.podIP=", true),
        ("pods", &pod, r"metadata.name=a\,b", false),
        ("pods", &pod, ",metadata.name=p,", true),
        ("events", &event, "involvedObject.kind=Pod,involvedObject.name=p,type=Normal", true),
        ("events", &event, "source=me", true),
        ("nodes", &json!({}), "spec.unschedulable=false", true),
        ("secrets", &json!({ "type": "Opaque" }), "type=Opaque", true),
        ("namespaces", &json!({ "status": { "phase": "Active" } }), "status.phase=Active", true),
    ];
    for (plural, object, text, expected) in rows {
        let selector = FieldSelector::parse(text, &resource("", plural), &[]).expect(text);
        assert_eq!(selector.matches(object), expected, "{plural}: {text}");
    }
    let jobs = FieldSelector::parse("status.successful=0", &resource("batch", "jobs"), &[]).expect("jobs");
    assert!(jobs.matches(&json!({})));
}

#[test]
fn field_selectors_that_are_none_are_refused_in_the_servers_words() {
    let rows = [
        ("", "pods", "foo=bar", "field label not supported: foo"),
        ("", "pods", "=x", "field label not supported: "),
        ("", "pods", "status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"),
        ("", "pods", "status.phase>x", "invalid selector: 'status.phase>x'; can't understand 'status.phase>x'"),
        ("", "pods", "a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("", "pods", r"metadata.name=a\x", r"invalid field selector: invalid escape sequence: \x"),
        ("", "nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"),
        ("", "secrets", "metadata.labels=bar", "field label not supported: metadata.labels"),
        ("batch", "jobs", "foo=bar", "field label \"foo\" not supported for Job"),
        ("example.com", "things", "spec.x=y", "field label not supported: spec.x"),
        (
            "apps",
            "deployments",
            "foo=bar",
            "\"foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
    ];
    for (group, plural, text, expected) in rows {
        let error = FieldSelector::parse(text, &resource(group, plural), &[]).expect_err(text);
        assert_eq!((error.code, error.message.as_str()), (400, expected), "{plural}: {text}");
    }
}

proptest! {
    #[test]
    fn the_canonical_text_means_the_same(
        text in "[abc](=|==|!=)[xy]?(,[abc]( in \\([xy]?,?[xy]?\\)| notin \\([xy]\\)|>[0-9]|<[0-9])?)?(,!?[abc])?",
        labels in prop::collection::btree_map("[abc]", "[xy0-9]?", 0..3),
    ) {
        let selector = LabelSelector::parse(&text).expect("well formed");
        let again = LabelSelector::parse(&selector.to_string()).expect("canonical");
        let object = labelled(json!(labels));
        prop_assert_eq!(again.to_string(), selector.to_string());
        prop_assert_eq!(again.matches(&object), selector.matches(&object));
    }

    #[test]
    fn no_text_makes_them_panic(text in "(.|[a-c!=<>(),\\\\ /.ü]|in|notin){0,24}") {
        let _ = LabelSelector::parse(&text);
        let _ = FieldSelector::parse(&text, &resource("", "pods"), &[]);
    }
}
