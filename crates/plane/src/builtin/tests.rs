//! Decoding, defaults and checks, beside what a real API server (v1.36) answered: `answers.json` holds objects that it
//! was given with what it made of them, less what only a server can know, and others with the causes of its error.

use kedge_schema::metadata::{Scope, validate_metadata};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::api::resource::Gvr;
use crate::patch::tests::any_json;

#[derive(Deserialize)]
struct Answers {
    completed: Vec<Completed>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Completed {
    name: String,
    resource: (String, String, String),
    given: Value,
    answered: Value,
}

#[derive(Deserialize)]
struct Refused {
    name: String,
    resource: (String, String, String),
    #[serde(default)]
    old: Option<Value>,
    given: Value,
    causes: Vec<Cause>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Cause {
    reason: String,
    field: String,
    message: String,
}

fn answers() -> Answers {
    serde_json::from_str(include_str!("tests/answers.json")).expect("the answers are JSON")
}

fn gvr((group, version, plural): &(String, String, String)) -> Gvr {
    Gvr::new(group, version, plural)
}

/// As it would be stored.
fn read(resource: &Gvr, mut object: Value) -> Value {
    decode(resource, &mut object).expect("of the right types");
    apply_defaults(resource, &mut object);
    object
}

#[test]
fn objects_are_completed_as_the_server_completes_them() {
    for Completed { name, resource, given, answered } in answers().completed {
        let completed = read(&gvr(&resource), given);
        let show = |value: &Value| serde_json::to_string_pretty(value).expect("JSON");
        assert_eq!(show(&completed), show(&answered), "{name}");
    }
}

#[test]
fn what_is_completed_stays_as_it_is() {
    for Completed { name, resource, answered, .. } in answers().completed {
        assert_eq!(read(&gvr(&resource), answered.clone()), answered, "{name}");
    }
}

#[test]
fn what_the_server_takes_is_not_refused() {
    for Completed { name, resource, answered, .. } in answers().completed {
        assert_eq!(check(&gvr(&resource), &answered, None), [], "{name}");
    }
}

#[test]
fn mistakes_are_refused_in_the_servers_words() {
    for Refused { name, resource, old, mut given, mut causes } in answers().refused {
        let resource = gvr(&resource);
        if given["metadata"]["annotations"]["a"] == "LARGE" {
            given["metadata"]["annotations"]["a"] = "x".repeat(256 * 1024).into();
        }
        // In updates the server checks the metadata twice.
        if old.is_some() {
            causes.dedup();
        }
        let problems = check(&resource, &read(&resource, given), old.as_ref());
        let found: Vec<_> = problems
            .into_iter()
            .map(|problem| Cause { reason: problem.reason.to_owned(), field: problem.field, message: problem.message })
            .collect();
        assert_eq!(found, causes, "{name}");
    }
}

#[test]
fn values_of_wrong_types_are_refused_in_the_servers_words() {
    let go = |field: &str, found: &str, typed: &str| {
        format!("json: cannot unmarshal {found} into Go struct field {field} of type {typed}")
    };
    let pod = "spec.template.spec";
    let rows = [
        ("/spec/replicas", json!("x"), go("DeploymentSpec.spec.replicas", "string", "int32")),
        ("/spec/replicas", json!(1.5), go("DeploymentSpec.spec.replicas", "number 1.5", "int32")),
        (
            "/spec/replicas",
            json!(99_999_999_999_i64),
            go("DeploymentSpec.spec.replicas", "number 99999999999", "int32"),
        ),
        ("/spec", json!(5), go("Deployment.spec", "number", "v1.DeploymentSpec")),
        ("/spec/selector", json!(5), go("DeploymentSpec.spec.selector", "number", "v1.LabelSelector")),
        ("/metadata", json!(5), go("Deployment.metadata", "number", "v1.ObjectMeta")),
        ("/metadata/labels", json!(5), go("ObjectMeta.metadata.labels", "number", "map[string]string")),
        ("/metadata/labels", json!({ "a": 1 }), go("ObjectMeta.metadata.labels", "number", "string")),
        ("/metadata/finalizers", json!([1]), go("ObjectMeta.metadata.finalizers", "number", "string")),
        (
            "/metadata/ownerReferences",
            json!([{ "uid": 5 }]),
            go("OwnerReference.metadata.ownerReferences.uid", "number", "types.UID"),
        ),
        ("/metadata/creationTimestamp", json!(5), go("ObjectMeta.metadata.creationTimestamp", "number", "string")),
        (
            "/metadata/creationTimestamp",
            json!("x"),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"".to_owned(),
        ),
        (
            "/spec/strategy",
            json!({ "rollingUpdate": { "maxSurge": true } }),
            go("RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge", "bool", "int32"),
        ),
        (
            "/spec/template/spec/containers",
            json!({}),
            go(&format!("PodSpec.{pod}.containers"), "object", "[]v1.Container"),
        ),
        (
            "/spec/template/spec/containers",
            json!([5]),
            go(&format!("PodSpec.{pod}.containers"), "number", "v1.Container"),
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "imagePullPolicy": 5 }]),
            go(&format!("Container.{pod}.containers.imagePullPolicy"), "number", "v1.PullPolicy"),
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "command": "x" }]),
            go(&format!("Container.{pod}.containers.command"), "string", "[]string"),
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "resources": { "limits": 5 } }]),
            go(&format!("ResourceRequirements.{pod}.containers.resources.limits"), "number", "v1.ResourceList"),
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "resources": { "limits": { "cpu": true } } }]),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned(),
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "livenessProbe": { "httpGet": { "port": true } } }]),
            go(&format!("HTTPGetAction.{pod}.containers.livenessProbe.ProbeHandler.httpGet.port"), "bool", "int32"),
        ),
        (
            "/spec/template/spec/volumes",
            json!([{ "emptyDir": 5 }]),
            go(&format!("Volume.{pod}.volumes.VolumeSource.emptyDir"), "number", "v1.EmptyDirVolumeSource"),
        ),
        (
            "/spec/template/spec/volumes",
            json!([{ "configMap": { "name": 5 } }]),
            go(
                &format!("ConfigMapVolumeSource.{pod}.volumes.VolumeSource.configMap.LocalObjectReference.name"),
                "number",
                "string",
            ),
        ),
    ];
    for (pointer, value, problem) in rows {
        let error = decode(&deployments(), &mut with(pointer, value)).expect_err(&problem);
        let message = format!("Deployment in version \"v1\" cannot be handled as a Deployment: {problem}");
        assert_eq!((error.code, error.reason, error.message), (400, "BadRequest", message));
    }
}

#[test]
fn values_of_other_kinds_are_refused_in_the_servers_words() {
    let leases = Gvr::new("coordination.k8s.io", "v1", "leases");
    let secrets = Gvr::new("", "v1", "secrets");
    let layout = "2006-01-02T15:04:05.000000Z07:00";
    let time = |text: &str, rest: &str, wanted: &str| {
        format!(
            "Lease in version \"v1\" cannot be handled as a Lease: parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"
        )
    };
    let rows = [
        (&leases, json!({ "spec": { "acquireTime": "2020-01-01T00:00:00Z" } }), time("2020-01-01T00:00:00Z", "Z", ".000000")),
        (&leases, json!({ "spec": { "acquireTime": "2020-01-01T02:00:00.1234567+02:00" } }),
            time("2020-01-01T02:00:00.1234567+02:00", "7+02:00", "Z07:00")),
        (&leases, json!({ "spec": { "acquireTime": "x" } }), time("x", "x", "2006")),
        (&secrets, json!({ "data": { "a": "!!" } }), "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 0".to_owned()),
        (&secrets, json!({ "data": { "a": 5 } }),
            "Secret in version \"v1\" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field Secret.data of type []uint8".to_owned()),
        (&secrets, json!([]), "the object provided is unrecognized (must be of type Secret): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (5b5d)".to_owned()),
    ];
    for (resource, mut object, message) in rows {
        assert_eq!(decode(resource, &mut object).expect_err(&message).message, message);
    }
}

#[test]
fn unknown_fields_are_dropped_and_reported() {
    let mut object = json!({ "metadata": { "zz": 1 }, "spec": { "foo": 1, "Replicas": 3, "template": { "bar": { "x": 1 },
        "spec": { "containers": [{ "name": "c", "baz": null }] } } } });
    let unknown = decode(&deployments(), &mut object).expect("of the right types");
    assert_eq!(
        unknown,
        ["metadata.zz", "spec.template.spec.containers[0].baz", "spec.template.bar", "spec.Replicas", "spec.foo"]
    );
    assert_eq!(object["spec"]["template"]["spec"]["containers"], json!([{ "name": "c", "resources": {} }]));
    assert_eq!(
        decode::strict_problem(&unknown[..2]),
        "strict decoding error: unknown field \"metadata.zz\", unknown field \"spec.template.spec.containers[0].baz\""
    );
}

#[test]
fn custom_resources_are_left_alone() {
    let things = Gvr::new("example.com", "v1", "things");
    let given = json!({ "spec": { "any": [null] } });
    let mut object = given.clone();
    assert_eq!(decode(&things, &mut object), Ok(vec![]));
    apply_defaults(&things, &mut object);
    assert_eq!((object, check(&things, &given, None)), (given, vec![]));
}

fn deployments() -> Gvr {
    Gvr::new("apps", "v1", "deployments")
}

/// A deployment with this value in this place.
fn with(pointer: &str, value: Value) -> Value {
    let mut object = json!({});
    let mut place = &mut object;
    for part in pointer.split('/').skip(1) {
        place = &mut place[part];
    }
    *place = value;
    object
}

proptest! {
    #[test]
    fn no_object_makes_them_panic(object in any_json(), old in any_json()) {
        for plural in ["deployments", "statefulsets", "replicasets"] {
            let resource = Gvr::new("apps", "v1", plural);
            let mut decoded = object.clone();
            let _ = decode(&resource, &mut decoded);
            for mut object in [object.clone(), decoded] {
                apply_defaults(&resource, &mut object);
                check(&resource, &object, Some(&old));
                validate_metadata(&object, Scope::Namespaced, None);
            }
        }
    }
}
