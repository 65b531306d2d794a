//! `kedge rbac`: manifests, and the roles that are sufficient for them. `tests/golden/rbac/CASE/` holds `manifests.yaml` and
//! `arguments`, and the expected output: `roles.yaml`, and `unknown` with the lines on standard error.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use kedge_tests::{files, golden, programs};
use serde_json::Value;

fn rbac(arguments: &[&str]) -> Output {
    Command::new(programs::kedge()).arg("rbac").args(arguments).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn manifests_print_the_roles_of_their_golden_file() {
    let cases = golden::cases("rbac");
    assert!(cases.len() >= 3, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let from = format!("--from={}", case.path("manifests.yaml").display());
        let more = files::read(&case.path("arguments"));
        let arguments: Vec<&str> = more.lines().chain([from.as_str()]).collect();
        let output = rbac(&arguments);
        assert!(output.status.success(), "{}: {}", case.name, text(output.stderr));
        wrong.extend(case.differs("roles.yaml", &text(output.stdout)));
        wrong.extend(case.differs("unknown", &text(output.stderr)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn roles_are_valid_yaml_that_names_a_role_for_each_binding() {
    for case in golden::cases("rbac") {
        let roles = files::read(&case.path("roles.yaml"));
        let objects: Vec<Value> = serde_saphyr::from_multiple(&roles).unwrap();
        let own = |object: &&Value| object["rules"].is_array();
        let roles: Vec<&Value> = objects.iter().filter(own).map(|role| &role["metadata"]["name"]).collect();
        let given = ["extension-apiserver-authentication-reader", "system:auth-delegator"];
        for binding in objects.iter().filter(|object| !own(object)) {
            let name = &binding["roleRef"]["name"];
            assert!(roles.contains(&name) || given.iter().any(|given| name == given), "{}: {binding}", case.name);
        }
    }
}

#[test]
fn invalid_input_is_reported_and_fails() {
    let rows = [
        ("kind: [", "<stdin>:1:"),
        ("kind: Secret\n", "there is no ScaledObject in the files"),
        (
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n",
            "ScaledObject web: spec: Required value; write it",
        ),
    ];
    for (input, expected) in rows {
        let mut command = Command::new(programs::kedge());
        command.args(["rbac", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{input}");
        let error = text(output.stderr);
        assert!(error.contains(expected), "{error}");
    }
}
