//! Patches, beside what a real API server made of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn deployments() -> Gvr {
    Gvr::new("apps", "v1", "deployments")
}

/// A deployment with only what the patches below change.
fn deployment() -> Value {
    json!({
        "metadata": { "name": "w", "finalizers": ["x/a", "x/b"], "annotations": { "k": "v" } },
        "spec": {
            "replicas": 0,
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%" } },
            "template": { "spec": {
                "containers": [
                    { "name": "c", "image": "x", "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
                      "ports": [{ "containerPort": 80 }] },
                    { "name": "d", "image": "y" },
                ],
                "tolerations": [{ "key": "one" }],
            } },
        },
    })
}

/// The part at a pointer, after a patch.
fn patched(kind: PatchKind, patch: &Value, pointer: &str) -> Value {
    let patched = apply(kind, &deployments(), &deployment(), patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
    patched.pointer(pointer).cloned().unwrap_or_default()
}

const CONTAINERS: &str = "/spec/template/spec/containers";

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
}

#[test]
fn json_patches_apply_with_the_liberties_of_the_server() {
    let rows = [
        (
            "a value is added",
            json!([{ "op": "add", "path": "/spec/paused", "value": true }]),
            "/spec/paused",
            json!(true),
        ),
        (
            "a missing key is replaced",
            json!([{ "op": "replace", "path": "/spec/nope", "value": 1 }]),
            "/spec/nope",
            json!(1),
        ),
        ("a missing value is null", json!([{ "op": "add", "path": "/spec/replicas" }]), "/spec/replicas", json!(null)),
        (
            "a missing key is copied as null",
            json!([{ "op": "copy", "from": "/nope", "path": "/x" }]),
            "/x",
            json!(null),
        ),
        (
            "a missing key is null",
            json!([{ "op": "test", "path": "/spec/nope", "value": null }]),
            "/spec/replicas",
            json!(0),
        ),
        (
            "keys are escaped",
            json!([{ "op": "add", "path": "/metadata/annotations/x~1y~01", "value": "1" }]),
            "/metadata/annotations",
            json!({ "k": "v", "x/y~1": "1" }),
        ),
        (
            "a value is moved",
            json!([{ "op": "move", "from": "/spec/replicas", "path": "/spec/was" }]),
            "/spec/was",
            json!(0),
        ),
        (
            "a finalizer is removed",
            json!([{ "op": "test", "path": "/metadata/finalizers/0", "value": "x/a" },
            { "op": "remove", "path": "/metadata/finalizers/0" }]),
            "/metadata/finalizers",
            json!(["x/b"]),
        ),
        (
            "a negative index counts from the end",
            json!([{ "op": "remove", "path": "/metadata/finalizers/-1" }]),
            "/metadata/finalizers",
            json!(["x/a"]),
        ),
        (
            "an item is inserted",
            json!([{ "op": "add", "path": "/metadata/finalizers/1", "value": "n" }]),
            "/metadata/finalizers",
            json!(["x/a", "n", "x/b"]),
        ),
        (
            "minus one is the end",
            json!([{ "op": "add", "path": "/metadata/finalizers/-1", "value": "n" }]),
            "/metadata/finalizers",
            json!(["x/a", "x/b", "n"]),
        ),
        (
            "minus two is before it",
            json!([{ "op": "add", "path": "/metadata/finalizers/-2", "value": "n" }]),
            "/metadata/finalizers",
            json!(["x/a", "n", "x/b"]),
        ),
        (
            "a dash is the end",
            json!([{ "op": "add", "path": "/metadata/finalizers/-", "value": "n" }]),
            "/metadata/finalizers",
            json!(["x/a", "x/b", "n"]),
        ),
        ("null is no patch", json!(null), "/spec/replicas", json!(0)),
        ("unknown words are ignored", json!([{ "op": "add", "path": "/x", "value": 1, "y": 2 }]), "/x", json!(1)),
    ];
    for (name, patch, pointer, expected) in rows {
        assert_eq!(patched(PatchKind::Json, &patch, pointer), expected, "{name}");
    }
}

#[test]
fn json_patches_that_do_not_fit_are_rejected() {
    for patch in [
        json!([{ "op": "test", "path": "/spec/replicas", "value": 5 }]),
        json!([{ "op": "test", "path": "/spec/replicas" }]),
        json!([{ "op": "test", "path": "/spec/nope", "value": 5 }]),
        json!([{ "op": "test", "path": "", "value": {} }]),
        json!([{ "op": "remove", "path": "/spec/nope" }]),
        json!([{ "op": "remove", "path": "" }]),
        json!([{ "op": "remove", "path": "spec" }]),
        json!([{ "op": "remove", "path": "/spec/template/spec/containers/7" }]),
        json!([{ "op": "remove", "path": "/spec/template/spec/containers/x" }]),
        json!([{ "op": "add", "path": "/nope/x/y", "value": 1 }]),
        json!([{ "op": "add", "path": "", "value": {} }]),
        json!([{ "op": "add", "path": "/spec/template/spec/containers/7", "value": {} }]),
        json!([{ "op": "replace", "path": "", "value": 5 }]),
        json!([{ "op": "copy", "from": "/spec/nope/a", "path": "/spec/x" }]),
        json!([{ "op": "move", "from": "/nope", "path": "/spec/x" }]),
        json!([{ "op": "bogus", "path": "/spec" }]),
        json!([{ "path": "/spec/replicas" }]),
    ] {
        let error = apply(PatchKind::Json, &deployments(), &deployment(), &patch).expect_err("no fit");
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid",
            "message": "the server rejected our request due to an error in our request", "details": {}, "code": 422 });
        assert_eq!(error.status(), status, "{patch}");
    }
}

#[test]
fn patches_that_are_none_are_bad_requests() {
    use PatchKind::{Json, Merge, StrategicMerge};
    let object = "Go value of type map[string]interface {}";
    let rows = [
        (
            Json,
            json!({ "op": "copy" }),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
                .to_owned(),
        ),
        (
            Json,
            json!([7]),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp".to_owned(),
        ),
        (
            Json,
            json!([{ "op": 7 }]),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
                .to_owned(),
        ),
        (Merge, json!(null), "Invalid JSON Patch".to_owned()),
        (Merge, json!([1]), format!("error decoding patch: json: cannot unmarshal array into {object}")),
        (Merge, json!("x"), format!("error decoding patch: json: cannot unmarshal string into {object}")),
        (StrategicMerge, json!([1]), format!("json: cannot unmarshal array into {object}")),
        (
            StrategicMerge,
            json!({ "metadata": { "$deleteFromPrimitiveList": ["x"] } }),
            "invalid patch format of primitive list".to_owned(),
        ),
        (
            StrategicMerge,
            json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {} } } }),
            "invalid patch format of retainKeys".to_owned(),
        ),
    ];
    for (kind, patch, message) in rows {
        let error = apply(kind, &deployments(), &deployment(), &patch).expect_err("none");
        assert_eq!((error.code, error.reason, error.message), (400, "BadRequest", message), "{patch}");
    }
}

#[test]
fn merge_patches_drop_nulls_wherever_something_is_taken_over() {
    let rows = [
        ("a value is set", json!({ "spec": { "replicas": 3 } }), "/spec/replicas", json!(3)),
        ("null removes", json!({ "metadata": { "annotations": { "k": null } } }), "/metadata/annotations", json!({})),
        ("null does not appear", json!({ "spec": { "new": { "a": null, "b": 1 } } }), "/spec/new", json!({ "b": 1 })),
        ("lists are replaced", json!({ "metadata": { "finalizers": ["z"] } }), "/metadata/finalizers", json!(["z"])),
        (
            "nulls in objects of lists go",
            json!({ "spec": { "list": [{ "a": null }, null] } }),
            "/spec/list",
            json!([{}, null]),
        ),
    ];
    for (name, patch, pointer, expected) in rows {
        assert_eq!(patched(PatchKind::Merge, &patch, pointer), expected, "{name}");
    }
}

#[test]
fn strategic_merge_patches_merge_lists_by_their_keys() {
    let pod = |patch: Value| json!({ "spec": { "template": { "spec": patch } } });
    let rows = [
        (
            "an item is merged",
            pod(json!({ "containers": [{ "name": "d", "image": "z" }] })),
            "/spec/template/spec/containers/1",
            json!({ "name": "d", "image": "z" }),
        ),
        (
            "a port is identified by its number",
            pod(json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 80, "name": "h" }] }] })),
            "/spec/template/spec/containers/0/ports",
            json!([{ "containerPort": 80, "name": "h" }]),
        ),
        (
            "an item is removed",
            pod(json!({ "containers": [{ "name": "c", "env": [{ "name": "A", "$patch": "delete" }] }] })),
            "/spec/template/spec/containers/0/env",
            json!([{ "name": "B", "value": "2" }]),
        ),
        (
            "a list is replaced",
            pod(json!({ "containers": [{ "$patch": "replace" }, { "name": "n" }] })),
            CONTAINERS,
            json!([{ "name": "n" }]),
        ),
        (
            "atomic lists are replaced",
            pod(json!({ "tolerations": [{ "key": "two" }] })),
            "/spec/template/spec/tolerations",
            json!([{ "key": "two" }]),
        ),
        (
            "finalizers are a set",
            json!({ "metadata": { "finalizers": ["x/b", "x/c"] } }),
            "/metadata/finalizers",
            json!(["x/a", "x/b", "x/c"]),
        ),
        (
            "values are removed",
            json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["x/a"] } }),
            "/metadata/finalizers",
            json!(["x/b"]),
        ),
        (
            "an object is replaced",
            json!({ "spec": { "strategy": { "$patch": "replace", "type": "Recreate" } } }),
            "/spec/strategy",
            json!({ "type": "Recreate" }),
        ),
        (
            "an object is emptied",
            json!({ "spec": { "strategy": { "$patch": "delete" } } }),
            "/spec/strategy",
            json!({}),
        ),
        (
            "keys are retained",
            json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate" } } }),
            "/spec/strategy",
            json!({ "type": "Recreate" }),
        ),
        ("nulls do not appear", json!({ "spec": { "new": { "a": null, "b": 1 } } }), "/spec/new", json!({ "b": 1 })),
        (
            "null removes",
            json!({ "metadata": { "annotations": { "k": null, "n": null } } }),
            "/metadata/annotations",
            json!({}),
        ),
        (
            "a directive for nothing does nothing",
            json!({ "spec": { "new": { "$patch": "replace", "b": 1 } } }),
            "/spec/new",
            json!(null),
        ),
        ("null is no patch", json!(null), "/spec/replicas", json!(0)),
    ];
    for (name, patch, pointer, expected) in rows {
        assert_eq!(patched(PatchKind::StrategicMerge, &patch, pointer), expected, "{name}");
    }
}

#[test]
fn strategic_merge_patches_order_lists() {
    let rows = [
        ("new items come first", json!({ "containers": [{ "name": "n" }] }), vec!["n", "c", "d"]),
        ("the patch's order counts", json!({ "containers": [{ "name": "d" }, { "name": "c" }] }), vec!["d", "c"]),
        (
            "an order is set",
            json!({ "$setElementOrder/containers": [{ "name": "d" }, { "name": "c" }] }),
            vec!["d", "c"],
        ),
        (
            "an item is put between",
            json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "n" }, { "name": "d" }],
            "containers": [{ "name": "n" }] }),
            vec!["c", "n", "d"],
        ),
        (
            "others keep their place",
            json!({ "$setElementOrder/containers": [{ "name": "d" }, { "name": "n" }],
            "containers": [{ "name": "n" }] }),
            vec!["c", "d", "n"],
        ),
    ];
    for (name, patch, expected) in rows {
        let patch = json!({ "spec": { "template": { "spec": patch } } });
        assert_eq!(names(&patched(PatchKind::StrategicMerge, &patch, CONTAINERS)), expected, "{name}");
    }
}

#[test]
fn strategic_merge_patches_without_sense_are_the_servers_mistake() {
    let pod = |patch: Value| json!({ "spec": { "template": { "spec": patch } } });
    let rows = [
        (
            pod(json!({ "containers": [{ "image": "z" }] })),
            "map: map[image:z] does not contain declared merge key: name",
        ),
        (
            pod(json!({ "containers": [{ "$patch": "bogus", "name": "c" }] })),
            "unknown patch type: bogus in map: map[$patch:bogus name:c]",
        ),
        (
            pod(json!({ "containers": [{ "$patch": "merge", "name": "c" }] })),
            "merging lists cannot yet be specified in the patch",
        ),
        (json!({ "spec": { "$patch": "bogus" } }), "unknown patch type: bogus in map: map[$patch:bogus]"),
        (json!({ "metadata": { "finalizers": [1] } }), "list element types are not identical: [[x/a x/b] [1]]"),
        (
            pod(
                json!({ "$setElementOrder/containers": [{ "name": "q" }], "containers": [{ "name": "c", "image": "k" }] }),
            ),
            "The order in patch list:\n[map[image:k name:c]]\n doesn't match $setElementOrder list:\n[map[name:q]]\n",
        ),
        (
            pod(json!({ "$setElementOrder/nope": [{ "name": "q" }] })),
            "unable to find api field in struct PodSpec for the json field \"nope\"",
        ),
        (pod(json!({ "$setElementOrder/containers": 3 })), "expected a []interface {}, but received a int64"),
    ];
    for (patch, message) in rows {
        let error = apply(PatchKind::StrategicMerge, &deployments(), &deployment(), &patch).expect_err(message);
        assert_eq!((error.code, error.reason, error.message.as_str()), (500, "", message), "{patch}");
    }
}

#[test]
fn custom_resources_take_no_strategic_merge_patch() {
    let things = Gvr::new("example.com", "v1", "things");
    let error = apply(PatchKind::StrategicMerge, &things, &json!({}), &json!({})).expect_err("custom");
    assert_eq!((error.code, error.reason), (415, "UnsupportedMediaType"));
    assert_eq!(
        error.message,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
}

/// JSON of small depth with few keys, so that things meet.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        "[ab]?".prop_map(Value::from),
        Just(json!("delete")),
        Just(json!("replace")),
    ];
    let key = "spec|metadata|a|name|finalizers|template|containers|volumeClaimTemplates|selector|strategy|labels|\\$patch|\\$retainKeys|\\$setElementOrder/(a|finalizers)|\\$deleteFromPrimitiveList/(a|finalizers)";
    leaf.prop_recursive(4, 24, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    any_json().prop_map(|value| if value.is_object() { value } else { json!({ "spec": value }) })
}

/// Without lists, of which the RFC and the server think differently.
fn without_lists(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().next().map_or(json!({}), without_lists),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, without_lists(value))).collect(),
        other => other,
    }
}

/// The algorithm of RFC 7386, word by word.
fn rfc(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut target = if let Value::Object(target) = target { target } else { Map::new() };
    for (key, value) in patch {
        let old = target.remove(key);
        if !value.is_null() {
            target.insert(key.clone(), rfc(old.unwrap_or_default(), value));
        }
    }
    Value::Object(target)
}

proptest! {
    #[test]
    fn merge_patches_without_lists_are_those_of_the_rfc(current in any_object(), patch in any_object()) {
        let patch = without_lists(patch);
        prop_assert_eq!(apply(PatchKind::Merge, &deployments(), &current, &patch).expect("objects"), rfc(current, &patch));
    }

    #[test]
    fn a_merge_patch_applied_twice_is_as_one_applied_once(current in any_object(), patch in any_object()) {
        let patch = without_lists(patch);
        let once = apply(PatchKind::Merge, &deployments(), &current, &patch).expect("objects");
        prop_assert_eq!(&apply(PatchKind::Merge, &deployments(), &once, &patch).expect("objects"), &once);
    }

    #[test]
    fn no_patch_makes_them_panic(current in any_json(), patch in any_json(), op in any_json()) {
        for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::StrategicMerge, PatchKind::Apply] {
            let _ = apply(kind, &deployments(), &current, &patch);
        }
        let _ = apply(PatchKind::Json, &deployments(), &current, &json!([op]));
    }

    #[test]
    fn no_json_patch_makes_them_panic(
        current in any_json(), value in any_json(), op in "add|remove|replace|test|move|copy", path in "(/(spec|a|-|-?[0-3])){0,3}", from in "(/(spec|a|0)){0,2}",
    ) {
        let patch = json!([{ "op": op, "path": path, "from": from, "value": value }]);
        let _ = apply(PatchKind::Json, &deployments(), &current, &patch);
    }
}
