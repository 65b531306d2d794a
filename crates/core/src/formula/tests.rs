//! Formulas beside what they give. `recorded.jsonl` holds what expr 1.17.8 answered when asked as KEDA 2.21 asks it.

mod bounds;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Recorded {
    formula: String,
    values: BTreeMap<String, Option<f64>>,
    gives: String,
}

/// A number, `nil`, `refused` when it is compiled, or `failed` when it is evaluated.
fn gives(formula: &str, values: &BTreeMap<String, Option<f64>>) -> (String, String) {
    let names: Vec<&str> = values.keys().map(String::as_str).collect();
    match Formula::compile(formula, &names) {
        Err(error) => ("refused".to_owned(), error.to_string()),
        Ok(compiled) => match compiled.evaluate(values) {
            Err(error) => ("failed".to_owned(), error.to_string()),
            Ok(Outcome::Nil) => ("nil".to_owned(), String::new()),
            Ok(Outcome::Value(value)) => (value.to_string(), String::new()),
        },
    }
}

/// Where our result differs, and why.
const OTHERWISE: [(&str, &str, &str); 8] = [
    (
        "float(a) > 1 ? 2 : 3",
        "2",
        "KEDA takes it for a float already, admits it, and can never use the whole number it gives",
    ),
    ("(a)", "nil", "nil leads to the fallback, with or without `??`"),
    ("max([])", "nil", "nil leads to the fallback, with or without `??`"),
    ("find([a, b, c], # > 2)", "4", "nil in the trial run is no reason to refuse"),
    ("findIndex([a, b, c], # > 2)", "1", "nil in the trial run is no reason to refuse"),
    ("int(a / 0)", "9223372036854775807", "infinity is the largest whole number, not the smallest"),
    ("1..3 | len()", "refused", "`1..300000000` would take all memory"),
    ("string(a)", "refused", "formulas are about numbers"),
];

#[test]
fn formulas_give_what_expr_gives() {
    let rows: Vec<Recorded> =
        include_str!("tests/recorded.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let ours = OTHERWISE.iter().find(|(formula, ..)| *formula == row.formula);
        let (expected, why) = ours.map_or((row.gives.as_str(), ""), |(_, gives, why)| (gives, why));
        let (found, error) = gives(&row.formula, &row.values);
        let same = match (found.parse::<f64>(), expected.parse::<f64>()) {
            (Ok(found), Ok(expected)) if found.is_nan() => expected.is_nan(),
            (Ok(found), Ok(expected)) => found == expected,
            _ => found == expected,
        };
        assert!(same, "{} {:?}: {found} {error}, expected {expected} {why}", row.formula, row.values);
    }
    for (formula, ..) in OTHERWISE {
        assert!(rows.iter().any(|row| row.formula == formula), "{formula} was not recorded");
    }
}

#[test]
fn errors_name_the_position_the_word_and_the_remedy() {
    let names = ["a", "my-queue"];
    let rows = [
        (
            "a + absent",
            "unknown name `absent`; the named triggers are `a`, `my-queue` (cpu and memory do not count) (at 1:5)",
        ),
        ("a +\n  absent", "(at 2:3)"),
        ("my-queue", "unknown name `my`; write a name with a dash as `$env[\"…\"]`"),
        ("a > 1 ? absent : 2", "unknown name `absent`"),
        ("a > 1", "gives a bool, and must give a number; choose one with `… ? 1 : 0` (at 1:3)"),
        ("a % 2", "`%` between a float and a whole number, and it needs whole numbers; use `int(…)` (at 1:3)"),
        ("a ?? 1 + 2", "`+` after `??` could mean two things; put one of them in parentheses (at 1:8)"),
        ("max", "`max` is a function; give it its arguments in parentheses"),
        ("avg([a])", "there is no function `avg`; there are abs, all,"),
        ("len(a)", "`len` needs an array, as in `[a, b]`, not a float"),
        ("count([a], # + 1)", "`count` needs a condition, as in `{# > 1}`, not a float"),
        ("take([a])", "`take` takes 2 arguments, not 1"),
        ("a matches 'x' ? 1 : 0", "`matches` is about text"),
        ("{x: a}", "maps are not available"),
        ("[a].x", "numbers have no fields"),
        ("[a][3]", "there is no element 3 in an array of 1; found by trying it with every trigger at -1 (at 1:5)"),
        ("let a = 1; a", "`a` is already the name of a trigger; choose another"),
        ("9999999999999999999", "write `9999999999999999999.0`"),
    ];
    for (formula, expected) in rows {
        let error = Formula::compile(formula, &names).unwrap_err().to_string();
        assert!(error.starts_with(&format!("formula `{formula}`: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let nameless = Formula::compile("a", &[]).unwrap_err().to_string();
    assert!(nameless.contains("no trigger has a `name`"), "{nameless}");
    let long = Formula::compile(&"x".repeat(500), &names).unwrap_err().to_string();
    assert!(long.contains(&format!("formula `{}…`", "x".repeat(120))), "{long}");
}

#[test]
fn a_formula_knows_which_triggers_it_mentions() {
    let formula = Formula::compile("a > 1 ? $env[\"b-b\"] : a", &["a", "b-b", "c"]).unwrap();
    assert_eq!(formula.mentioned().collect::<Vec<_>>(), ["a", "b-b"]);
    let missing = formula.evaluate(&[("a".to_owned(), Some(2.0))].into()).unwrap_err();
    assert!(missing.problem.contains("no value was read for this trigger"), "{missing}");
}

#[test]
fn a_trial_that_fails_only_for_its_values_is_allowed() {
    for formula in ["int(a ** 0.5)", "9223372036854775807 + int(-a)"] {
        assert!(Formula::compile(formula, &["a"]).is_ok(), "{formula}");
    }
    assert!(Formula::compile("5 % (int(a) + 1)", &["a"]).is_err());
}

#[test]
fn the_formulas_of_the_manual_work() {
    let manual = include_str!("../../../../docs/scaling-modifiers.md");
    let table = manual.split("| goal | formula |").nth(1).unwrap().split("\n\n").next().unwrap();
    let formulas: Vec<&str> = table.lines().filter_map(|row| row.split('`').nth(1)).collect();
    assert!(formulas.len() > 5, "{formulas:?}");
    for formula in formulas {
        Formula::compile(formula, &["a", "b", "c", "d", "business_hours"]).unwrap();
    }
    let listed = |name: &str| manual.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    for (name, ..) in tree::FUNCTIONS {
        assert!(listed(name), "{name} is not in the manual");
    }
    for limit in [TEXT_MAX_BYTES.to_string(), format!("{NESTING_MAX} deep"), "20,000 steps".to_owned()] {
        assert!(manual.contains(&limit), "{limit} is not in the manual");
    }
    assert_eq!(STEPS_MAX, 20_000);
}
