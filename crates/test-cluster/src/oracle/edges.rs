//! The texts at the edges of a parameter, by what it takes: cases that differ from a valid one in one parameter.

use super::case::Case;

pub const INTEGERS: &[&str] = &[
    "",
    " ",
    "0",
    "1",
    "-1",
    "-0",
    "7",
    " 7 ",
    "+7",
    "07",
    "7.0",
    "7.5",
    "1e3",
    "1_000",
    "0x10",
    "7k",
    "seven",
    "true",
    "\"7\"",
    "[7]",
    "7 7",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999",
];

pub const FLOATS: &[&str] = &[
    "",
    " ",
    "0",
    "0.0",
    "1",
    "-1",
    "-0.5",
    "0.5",
    " 0.5 ",
    ".5",
    "5.",
    "+5",
    "05",
    "0.0004",
    "0.0005",
    "0.001",
    "0.0015",
    "12.3456",
    "1e3",
    "1E+3",
    "1e-3",
    "1e18",
    "1e400",
    "1,5",
    "1_000",
    "0x10",
    "NaN",
    "Infinity",
    "five",
    "\"5\"",
    "1000000000000",
    "9223372036854775807",
];

pub const BOOLEANS: &[&str] = &[
    "", " ", "true", "false", "True", "TRUE", "t", "T", "1", "False", "F", "0", " true ", "tRuE", "yes", "no", "on",
    "2", "null", "\"true\"", "enable",
];

pub const NAMES: &[&str] = &[
    "",
    " ",
    "orders",
    " orders ",
    "Orders.V2",
    "orders/eu",
    "orders:eu",
    "orders_eu-1",
    "orders%2Feu",
    "order events",
    "söme-ördérs",
    "注文",
    "-orders-",
    "a,b",
    "$orders",
    "{orders}:x",
    "orders\tx",
    "an-order-queue-with-a-name-that-is-longer-than-sixty-three-characters-which-some-names-may-not-be",
];

/// Where a parameter is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Metadata,
    Authentication,
    /// By a variable of the target's container, which `…FromEnv` names.
    Environment,
}

/// The case with each of these values for a parameter, and without it.
pub fn sweep(base: &Case, parameter: &str, values: &[&str]) -> Vec<Case> {
    let absent = base.clone().without(parameter).named(format!("without {parameter}"));
    let given = values.iter().map(|value| give(base, parameter, Place::Metadata, value));
    [absent].into_iter().chain(given).collect()
}

/// The case with each of these values for a parameter, in one place.
pub fn sweep_in(base: &Case, parameter: &str, place: Place, values: &[&str]) -> Vec<Case> {
    values.iter().map(|value| give(base, parameter, place, value)).collect()
}

/// The case with a value for a parameter in one place, beside what it may have in others.
pub fn give(base: &Case, parameter: &str, place: Place, value: &str) -> Case {
    let shown = format!("{parameter}={value:?}");
    match place {
        Place::Metadata => base.clone().with(parameter, value).named(shown),
        Place::Authentication => base.clone().auth(parameter, value).named(format!("auth {shown}")),
        Place::Environment => base
            .clone()
            .with(&format!("{parameter}FromEnv"), "VARIABLE")
            .env("VARIABLE", value)
            .named(format!("env {shown}")),
    }
}

/// A parameter in each place, in two at once with different values, in none, and by a variable that there is not.
pub fn places(base: &Case, parameter: &str, value: &str, other: &str) -> Vec<Case> {
    let bare = base.clone().without(parameter);
    let both = |first, second| {
        let case = give(&give(&bare, parameter, first, value), parameter, second, other);
        case.named("both")
    };
    use Place::{Authentication, Environment, Metadata};
    vec![
        give(&bare, parameter, Metadata, value).named("alone"),
        give(&bare, parameter, Authentication, value).named("alone"),
        give(&bare, parameter, Environment, value).named("alone"),
        both(Metadata, Authentication),
        both(Metadata, Environment),
        both(Authentication, Environment),
        bare.clone().with(&format!("{parameter}FromEnv"), "ABSENT").named(format!("env {parameter} absent")),
        give(&bare, parameter, Environment, "").named("alone"),
        give(&bare, parameter, Authentication, "").named("alone"),
        bare.named(format!("without {parameter} anywhere")),
    ]
}

/// The kinds of target, the place in the list of triggers, and a trigger for a formula with and without its own target.
pub fn common(base: &Case, target: &str) -> Vec<Case> {
    let for_formula = |case: Case| Case { as_metric_source: true, ..case };
    let mut cases: Vec<Case> = ["AverageValue", "Value", "Utilization"]
        .iter()
        .map(|metric_type| base.clone().metric_type(metric_type).named(format!("metricType {metric_type}")))
        .collect();
    cases.extend([
        Case { trigger_index: 3, ..base.clone().named("third") },
        Case { trigger_index: 12, ..base.clone().named("twelfth").metric_type("Value") },
        base.clone().named("with a parameter that there is not").with("unknownParameter", "x"),
        for_formula(base.clone().named("for a formula")),
        for_formula(base.clone().without(target).named(format!("for a formula without {target}"))),
        for_formula(base.clone().with(target, "0").named(format!("for a formula with {target} 0"))),
        for_formula(base.clone().with(target, "-1").named(format!("for a formula with {target} -1"))),
    ]);
    cases
}
