//! Whatever is written, it neither panics, nor hangs, nor runs out of stack.

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 3] = ["a", "b", "c"];

fn values(numbers: [Option<f64>; 3]) -> BTreeMap<String, Option<f64>> {
    NAMES.map(str::to_owned).into_iter().zip(numbers).collect()
}

fn problem(text: &str) -> String {
    Formula::compile(text, &NAMES).map(|formula| formula.text().len()).unwrap_err().problem
}

#[test]
fn formulas_that_are_too_long_or_too_deep_are_rejected_at_once() {
    let rows = [
        ("100,000 parentheses", "(".repeat(100_000), "bytes long"),
        ("as many as fit", "(".repeat(TEXT_MAX_BYTES), "nested more than"),
        ("signs", format!("{}a", "-".repeat(4000)), "nested more than"),
        ("brackets", format!("{}a{}", "[".repeat(2000), "]".repeat(2000)), "nested more than"),
        ("powers", format!("2{}", "**2".repeat(1000)), "nested more than"),
        ("pipes", format!("a{}", "|abs()".repeat(600)), "nested more than"),
        ("indexes", format!("[a]{}", "[0]".repeat(1000)), "nested more than"),
        ("slices", format!("[a]{}", "[:]".repeat(1000)), "nested more than"),
        ("branches", format!("{}1", "a>1?1:".repeat(500)), "nested more than"),
        ("conditions", format!("{}{{1}}", "if a>1{1}else ".repeat(250)), "nested more than"),
        ("bindings", (0..300).map(|i| format!("let x{i}=a;")).collect::<String>() + "a", "nested more than"),
        ("a range", "1..300000000 | len()".to_owned(), "ranges"),
        ("another", "sum(1 .. 9)".to_owned(), "expected `)`, found `..`"),
    ];
    for (name, text, expected) in rows {
        let problem = problem(&text);
        assert!(problem.contains(expected), "{name}: {problem}");
    }
}

#[test]
fn a_long_sum_is_not_deep() {
    let terms = TEXT_MAX_BYTES / 2;
    let sum = format!("{}1", "a+".repeat(terms - 1));
    let formula = Formula::compile(&sum, &NAMES).unwrap();
    let outcome = formula.evaluate(&values([Some(2.0), None, None])).unwrap();
    assert_eq!(outcome, Outcome::Value(2.0 * (terms as f64 - 1.0) + 1.0));
}

#[test]
fn the_steps_of_an_evaluation_are_limited() {
    let tens = "[1,1,1,1,1,1,1,1,1,1]";
    let nested = format!("sum({tens}, sum({tens}, sum({tens}, sum({tens}, sum({tens}, #)))))");
    assert!(problem(&nested).contains("steps"));
    // 10^8 values in an array that takes little memory, because its parts are shared.
    let mut shared = format!("let x0={tens};");
    for level in 1..8 {
        let parts = vec![format!("x{}", level - 1); 10].join(",");
        shared += &format!("let x{level}=[{parts}];");
    }
    for use_of_it in ["flatten(x7) | len()", "max(x7)", "x7 == x7 ? 1 : 0", "x6 in [x6] ? 1 : 0", "median(x7)"] {
        assert!(problem(&format!("{shared}{use_of_it}")).contains("steps"), "{use_of_it}");
    }
    let grown = format!("len(reduce({tens}, [#acc], 1))");
    assert!(problem(&grown).contains("arrays are nested more than 8 deep"));
}

/// The deepest formulas of each shape.
fn deepest() -> Vec<String> {
    let repeat = |open: &str, core: &str, close: &str| {
        let deep = |levels| format!("{}{core}{}", open.repeat(levels), close.repeat(levels));
        let levels = (1..NESTING_MAX).take_while(|levels| Formula::compile(&deep(*levels), &NAMES).is_ok()).last();
        deep(levels.unwrap())
    };
    vec![
        repeat("(", "a", ")"),
        repeat("-", "a", ""),
        repeat("abs(", "a", ")"),
        repeat("max(1, -", "a", ")"),
        repeat("(1 + 2 * -", "a", ")"),
        repeat("a > 5 ? 1 : ", "2", ""),
        repeat("(a < 1 < 5 ? ", "a", " : 3)"),
        repeat("if a > 5 { 1 } else { ", "a", " }"),
        repeat("sum([1], ", "a", ")"),
        repeat("[a][int(1 + ", "a", ")]"),
        repeat("reduce([a], #acc + ", "a", ", 1)"),
        repeat("sum(sortBy([a], {", "a", "}))"),
        repeat("sum(map([a], ", "a", "))"),
        repeat("filter([a], 1 < ", "a", ")[0:1] | len()"),
    ]
}

#[test]
fn the_deepest_formula_fits_into_half_the_stack_of_a_worker() {
    for formula in deepest() {
        let run = move || {
            let compiled = Formula::compile(&formula, &NAMES).unwrap();
            drop(compiled.evaluate(&values([Some(2.0), None, None])));
            drop(compiled.clone());
        };
        std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap();
    }
}

fn number() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        Just(None),
        Just(Some(f64::INFINITY)),
        Just(Some(f64::NAN)),
        any::<f64>().prop_map(Some),
        (-100i32..100).prop_map(|whole| Some(f64::from(whole))),
    ]
}

/// Pieces that have a chance to fit together.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b",
        "c",
        "absent",
        "1",
        "2.5",
        "0",
        "9223372036854775807",
        "1e308",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        "**",
        "<",
        "<=",
        "==",
        "!=",
        "&&",
        "||",
        "!",
        "not",
        "in",
        "??",
        "?",
        ":",
        "|",
        "#",
        "#acc",
        "#index",
        "let x=",
        "x",
        ";",
        "nil",
        "true",
        "if",
        "else",
        "max(",
        "sum(",
        "map(",
        "filter(",
        "reduce(",
        "sort(",
        "len(",
        "int(",
        "abs(",
        "median(",
        "take(",
        "flatten(",
        "concat(",
        "find(",
        "$env[\"a\"]",
        "\"desc\"",
        "..",
        ".",
        "?.",
        "::",
        "[a,b,c]",
        "ü",
        "\"",
    ])
}

/// Formulas that are well formed, by and large.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["a", "b", "c", "1", "0", "2.5", "-1", "9223372036854775807", "nil", "#"])
        .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 3, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "%", "**", "??"]);
        let function = prop::sample::select(vec!["abs", "int", "ceil", "max", "median"]);
        let over = prop::sample::select(vec!["sum", "count", "filter", "map", "find", "sortBy", "reduce", "any"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), function).prop_map(|(a, function)| format!("{function}({a})")),
            (inner.clone(), inner.clone(), over).prop_map(|(a, b, over)| format!("{over}([{a}, 1, a], {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} > {b} ? {a} : {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}][1:]")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("first(sort([{a}, {b}]))")),
        ]
    })
}

fn try_out(text: &str, numbers: [Option<f64>; 3]) {
    if let Ok(formula) = Formula::compile(text, &NAMES) {
        drop(formula.evaluate(&values(numbers)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_can_be_compiled_or_rejected(text in "\\PC{0,60}", numbers in prop::array::uniform3(number())) {
        try_out(&text, numbers);
    }

    #[test]
    fn any_bytes_can_be_compiled_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        try_out(&String::from_utf8_lossy(&bytes), [None; 3]);
    }

    #[test]
    fn any_pieces_can_be_compiled_or_rejected(pieces in prop::collection::vec(piece(), 1..24), numbers in prop::array::uniform3(number())) {
        try_out(&pieces.join(" "), numbers);
        try_out(&pieces.concat(), numbers);
    }

    #[test]
    fn whatever_is_admitted_can_be_evaluated(text in expression(), numbers in prop::array::uniform3(number())) {
        try_out(&text, numbers);
    }
}
