use serde_json::{Value, json};

use super::*;

fn container(env_from: Value, env: Value) -> Container {
    serde_json::from_value(json!({ "name": "main", "envFrom": env_from, "env": env })).unwrap()
}

fn secret(name: &str) -> Reference {
    Reference::new(ReferenceKind::Secret, "shop", name)
}

fn map(name: &str) -> Reference {
    Reference::new(ReferenceKind::ConfigMap, "shop", name)
}

fn data(pairs: &[(&str, &str)]) -> ReferenceContent {
    ReferenceContent::Data(pairs.iter().map(|(key, value)| ((*key).to_owned(), Some(Secret::new(*value)))).collect())
}

fn fetched() -> BTreeMap<Reference, ReferenceContent> {
    BTreeMap::from([
        (map("settings"), data(&[("BASE", "a"), ("WHO", "map")])),
        (secret("creds"), data(&[("token", "s3cret"), ("WHO", "secret")])),
        (map("gone"), ReferenceContent::Missing),
        (secret("gone"), ReferenceContent::Missing),
        (secret("withheld"), ReferenceContent::Withheld),
        (secret("bytes"), ReferenceContent::Data(BTreeMap::from([("raw".to_owned(), None)]))),
    ])
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn from_map(name: &str) -> Value {
    json!({ "configMapRef": { "name": name } })
}

fn from_secret(name: &str) -> Value {
    json!({ "secretRef": { "name": name } })
}

fn key_of(variable: &str, secret: &str, key: &str, optional: bool) -> Value {
    json!({ "name": variable, "valueFrom": { "secretKeyRef": { "name": secret, "key": key, "optional": optional } } })
}

#[test]
fn a_variable_is_computed_in_the_order_of_the_template() {
    let rows = [
        ("a literal", json!([]), json!([{ "name": "V", "value": "x" }]), Ok(Some("x"))),
        ("nothing is empty", json!([]), json!([{ "name": "V" }]), Ok(Some(""))),
        ("a key of a Secret", json!([]), json!([key_of("V", "creds", "token", false)]), Ok(Some("s3cret"))),
        (
            "a key of a ConfigMap",
            json!([]),
            json!([{ "name": "V", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "BASE" } } }]),
            Ok(Some("a")),
        ),
        (
            "a prefix, and references to earlier variables",
            json!([{ "prefix": "P_", "configMapRef": { "name": "settings" } }]),
            json!([{ "name": "FIRST", "value": "b" }, { "name": "V", "value": "$(P_BASE)-$(FIRST)" }]),
            Ok(Some("a-b")),
        ),
        (
            "later variables are not known yet",
            json!([]),
            json!([{ "name": "V", "value": "$(FIRST)" }, { "name": "FIRST", "value": "b" }]),
            Ok(Some("$(FIRST)")),
        ),
        (
            "itself, as it was",
            json!([{ "configMapRef": { "name": "settings" }, "prefix": "" }]),
            json!([{ "name": "BASE", "value": "$(BASE)b" }, { "name": "V", "value": "$(BASE)" }]),
            Ok(Some("ab")),
        ),
        (
            "fields of the pod are left out",
            json!([]),
            json!([{ "name": "V", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }]),
            Ok(None),
        ),
        ("an optional Secret that is not there", json!([]), json!([key_of("V", "gone", "k", true)]), Ok(None)),
        ("an optional key that is not there", json!([]), json!([key_of("V", "creds", "k", true)]), Ok(Some(""))),
        (
            "a Secret that is not there",
            json!([]),
            json!([key_of("V", "gone", "k", false)]),
            Err("Secret shop/gone does not exist"),
        ),
        ("a key that is not there", json!([]), json!([key_of("V", "creds", "k", false)]), Err("no key \"k\"")),
        ("bytes", json!([]), json!([key_of("V", "bytes", "raw", false)]), Err("does not hold text")),
        ("a withheld Secret", json!([]), json!([key_of("V", "withheld", "k", false)]), Ok(None)),
        (
            "one whose value needs what is not there",
            json!([]),
            json!([key_of("A", "gone", "k", false), { "name": "V", "value": "x$(A)" }]),
            Err("Secret shop/gone does not exist"),
        ),
        (
            "what is broken elsewhere does not matter",
            json!([from_secret("gone")]),
            json!([key_of("A", "gone", "k", false), { "name": "V", "value": "x" }]),
            Ok(Some("x")),
        ),
        ("it may be in an object that is not there", json!([from_map("gone")]), json!([]), Err("ConfigMap shop/gone")),
        (
            "an optional object that is not there",
            json!([{ "secretRef": { "name": "gone", "optional": true } }]),
            json!([]),
            Ok(None),
        ),
        (
            "a prefix that does not fit",
            json!([{ "prefix": "X", "secretRef": { "name": "gone" } }]),
            json!([]),
            Ok(None),
        ),
    ];
    for (name, env_from, env, expected) in rows {
        let container = container(env_from, env);
        let variables = ContainerVariables { container: &container, namespace: "shop" };
        let found = variables.compute(&names(&["V"]), &fetched());
        match (&found, expected) {
            (Ok(environment), Ok(expected)) => assert_eq!(environment.get("V"), expected, "{name}"),
            (Err(problems), Err(part)) => assert!(problems[0].to_string().contains(part), "{name}: {problems:?}"),
            _ => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn the_later_object_wins_and_env_wins_over_both() {
    let container =
        container(json!([from_map("settings"), from_secret("creds")]), json!([{ "name": "BASE", "value": "own" }]));
    let variables = ContainerVariables { container: &container, namespace: "shop" };
    let environment = variables.compute(&names(&["WHO", "BASE"]), &fetched()).unwrap();
    assert_eq!((environment.get("WHO"), environment.get("BASE")), (Some("secret"), Some("own")));
    assert!(!format!("{environment:?}").contains("own"));
}

#[test]
fn only_what_the_wanted_variables_come_from_is_needed() {
    let container = container(
        json!([from_secret("all"), { "prefix": "P_", "configMapRef": { "name": "prefixed" } }]),
        json!([
            key_of("TOKEN", "creds", "token", false),
            { "name": "PLAIN", "value": "x" },
            { "name": "URL", "value": "http://$(HOST)/$(PLAIN)/$(TOKEN)" },
            { "name": "SELF", "value": "$(SELF):x" },
            key_of("MAYBE", "maybe", "k", true),
        ]),
    );
    let variables = ContainerVariables { container: &container, namespace: "shop" };
    let rows: [(&str, &[&str], &[Reference]); 7] = [
        ("a literal needs nothing", &["PLAIN"], &[]),
        ("a key needs its Secret", &["TOKEN"], &[secret("creds")]),
        ("an unknown one may be anywhere", &["ELSE"], &[secret("all")]),
        ("also behind a prefix", &["P_ELSE"], &[secret("all"), map("prefixed")]),
        ("references count", &["URL"], &[secret("all"), secret("creds")]),
        ("itself before itself", &["SELF"], &[secret("all")]),
        ("an optional one leaves what was there", &["MAYBE"], &[secret("all"), secret("maybe")]),
    ];
    for (name, wanted, expected) in rows {
        assert_eq!(variables.needs(&names(wanted)), expected.iter().cloned().collect(), "{name}");
    }
}

#[test]
fn variables_that_repeat_each_other_do_not_fill_the_memory() {
    let mut env = vec![json!({ "name": "V0", "value": "0123456789" })];
    env.extend((1..40).map(|n| json!({ "name": format!("V{n}"), "value": format!("$(V{0})$(V{0})", n - 1) })));
    let container = container(json!([]), Value::Array(env));
    let variables = ContainerVariables { container: &container, namespace: "shop" };
    let problems = variables.compute(&names(&["V39"]), &BTreeMap::new()).unwrap_err();
    assert!(problems[0].to_string().contains("becomes longer than"), "{problems:?}");
}

#[test]
fn metadata_names_its_variables() {
    let metadata = [("queryFromEnv", "Q"), ("query", "FromEnv"), ("xFromEnv", ""), ("keyFromEnvFile", "F")];
    let metadata = metadata.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(referenced_variables(&metadata), names(&["F", "Q"]));
}
