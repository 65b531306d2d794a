use std::collections::BTreeMap;

use super::*;
use crate::trigger::{AuthParams, Environment, Role};

const ALL: &[Source] = &[Source::Metadata, Source::Authentication, Source::Environment];

struct Given {
    metadata: BTreeMap<String, String>,
    auth: AuthParams,
    environment: Environment,
}

fn given(metadata: &[(&str, &str)], auth: &[(&str, &str)], environment: &[(&str, &str)]) -> Given {
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Given {
        metadata: owned(metadata),
        auth: auth.iter().copied().collect(),
        environment: environment.iter().copied().collect(),
    }
}

impl Given {
    fn trigger(&self) -> TriggerConfig<'_> {
        TriggerConfig {
            index: 3,
            trigger_type: "sample",
            name: None,
            metadata: &self.metadata,
            auth: &self.auth,
            environment: &self.environment,
            metric_type: None,
            namespace: "default",
            object: "web",
            pod_identity: None,
            role: Role::Metric,
            resolution: Resolution::Complete,
        }
    }
}

#[test]
fn the_first_source_with_something_in_it_wins() {
    type Pairs = &'static [(&'static str, &'static str)];
    let rows: [(&str, Pairs, Pairs, Pairs, Option<&str>); 10] = [
        ("metadata first", &[("x", "m"), ("xFromEnv", "V")], &[("x", "a")], &[("V", "e")], Some("m")),
        ("then authentication", &[("xFromEnv", "V")], &[("x", "a")], &[("V", "e")], Some("a")),
        ("then the environment", &[("xFromEnv", "V")], &[], &[("V", "e")], Some("e")),
        ("blank counts as absent", &[("x", "  "), ("xFromEnv", "V")], &[("x", "")], &[("V", "e")], Some("e")),
        ("values are trimmed", &[("x", " m\n")], &[], &[], Some("m")),
        ("an alias in the same source beats the next source", &[("y", "alias")], &[("x", "a")], &[], Some("alias")),
        ("the proper name beats the alias", &[("y", "alias"), ("x", "m")], &[], &[], Some("m")),
        ("a blank proper name leaves it to the alias", &[("x", ""), ("y", "alias")], &[], &[], Some("alias")),
        ("an alias has its own variable", &[("yFromEnv", "V")], &[], &[("V", "e")], Some("e")),
        ("a variable that does not exist", &[("xFromEnv", "V")], &[], &[("W", "e")], None),
    ];
    for (name, metadata, auth, environment, expected) in rows {
        let given = given(metadata, auth, environment);
        let trigger = given.trigger();
        let mut read = Reader::new(&trigger);
        let found = read.optional(Field::optional("x").aliases(&["y"]).sources(ALL), convert::text);
        assert_eq!(found.as_deref(), expected, "{name}");
    }
}

#[test]
fn only_the_declared_sources_are_read() {
    let given = given(&[("x", "m"), ("zFromEnv", "V")], &[("y", "a")], &[("V", "e")]);
    let trigger = given.trigger();
    let mut read = Reader::new(&trigger);
    assert_eq!(read.optional(Field::authentication("x"), convert::text), None);
    assert_eq!(read.optional(Field::optional("y"), convert::text), None);
    assert_eq!(read.optional(Field::optional("z"), convert::text), None);
}

#[test]
fn every_error_is_reported_at_once() {
    let given = given(&[("count", "5.0"), ("flag", "yes"), ("gone", "1"), ("fromFromEnv", "V")], &[], &[]);
    let trigger = given.trigger();
    let mut read = Reader::new(&trigger);
    assert_eq!(
        read.required(Field::required("address").sources(&[Source::Metadata, Source::Authentication]), convert::text),
        None
    );
    assert_eq!(read.required(Field::optional("from").sources(ALL), convert::text), None);
    assert_eq!(read.required(Field::optional("count"), convert::integer), None);
    assert!(read.or_default(Field::optional("flag").default("true"), convert::boolean));
    read.removed(Field::optional("gone").removed("it went away"), "use the other");
    let error = read.finish(Some(())).unwrap_err();
    let errors: Vec<_> = error.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "`address` is missing; give it in the trigger's metadata or its TriggerAuthentication",
            "`from` is missing: the target's container has no value for the variable V; give it in the trigger's \
             metadata or its TriggerAuthentication or a variable named by the parameter with FromEnv",
            "`count` \"5.0\" is not an integer; write plain digits, as in 5 or -3",
            "`flag` \"yes\" is neither true nor false; write \"true\" or \"false\"",
            "`gone` is refused (scaler sample info: it went away); use the other",
        ]
    );
}

#[test]
fn what_may_be_a_credential_is_not_repeated() {
    let given = given(&[("headers", "token"), ("nFromEnv", "V")], &[("count", "hunter2")], &[("V", "hunter3")]);
    let trigger = given.trigger();
    let mut read = Reader::new(&trigger);
    assert_eq!(read.optional(Field::optional("headers").may_contain_secret(), convert::map), None);
    assert_eq!(read.optional(Field::authentication("count"), convert::integer), None);
    assert_eq!(read.optional(Field::optional("n").sources(ALL), convert::integer), None);
    let text = read.finish(Some(())).unwrap_err().to_string();
    assert!(
        text.contains("`headers` is not") && text.contains("`count` is not") && text.contains("`n` is not"),
        "{text}"
    );
    assert!(!text.contains("token") && !text.contains("hunter"), "{text}");
}

#[test]
fn a_default_is_for_what_is_absent() {
    let given = given(&[("blank", ""), ("set", "7")], &[], &[]);
    let trigger = given.trigger();
    let mut read = Reader::new(&trigger);
    assert_eq!(read.or_default(Field::optional("none").default("4"), convert::integer), 4);
    assert_eq!(read.or_default(Field::optional("blank").default("5"), convert::integer), 5);
    assert_eq!(read.or_default(Field::optional("set").default("6"), convert::integer), 7);
    assert!(read.finish(Some(())).is_ok());
}

#[test]
fn long_values_are_shown_in_part() {
    assert_eq!(quote("short"), "\"short\"");
    assert_eq!(quote(&"é".repeat(200)).chars().count(), 85);
}
