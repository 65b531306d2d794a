use proptest::prelude::*;

use super::*;

const DOCUMENT: &str = r##"{
    "queue": {"depth": 12, "size": "1k", "deep": {"er": -0.5}},
    "list": [1, 2, 3], "empty": [], "big": 1e999, "yes": true, "none": null,
    "a.b": 1, "a|b": 2, "*": 3, "st*r": 4, "star": 5, "": 6, "@type": 7, "7": 8, "é\"": 9, "dup": 1, "dup": 2,
    "secret": "hunter2",
    "jobs": [
        {"state": "waiting", "age": 5, "hot": true, "tags": ["x", "y"], "size": {"n": 10}},
        {"state": "done", "age": 7, "hot": false, "tags": [], "size": {"n": 20}},
        {"state": "waiting", "age": 9, "tags": ["y"]},
        {"name": "odd)one"}
    ]
}"##;

fn find(path: &str) -> Result<f64, Unusable> {
    JsonPath::parse(path)
        .unwrap_or_else(|error| panic!("{path}: {error:?}"))
        .find(DOCUMENT)
        .and_then(Found::number_or_quantity)
}

#[test]
fn paths_lead_to_numbers() {
    let rows = [
        ("queue.depth", 12.0),
        ("queue.size", 1000.0),
        ("queue.deep.er", -0.5),
        ("queue|deep|er", -0.5),
        ("@this.queue.@this.depth", 12.0),
        ("list.0", 1.0),
        ("list.2", 3.0),
        ("list.#", 3.0),
        ("empty.#", 0.0),
        (r"a\.b", 1.0),
        (r"a\|b", 2.0),
        (r"\*", 3.0),
        (r"st\*r", 4.0),
        ("sta?", 5.0),
        ("que*.d*th", 12.0),
        ("*.depth", 12.0),
        ("@type", 7.0),
        ("7", 8.0),
        ("é\"", 9.0),
        ("dup", 1.0),
        ("jobs.#", 4.0),
        ("jobs.1.age", 7.0),
        ("jobs.#.age|0", 5.0),
        ("jobs.#.age|#", 3.0),
        ("jobs.#.size.n|1", 20.0),
        ("jobs.#.tags.#|0", 2.0),
    ];
    for (path, expected) in rows {
        assert_eq!(find(path), Ok(expected), "{path}");
    }
}

#[test]
fn queries_find_elements() {
    let rows = [
        (r#"jobs.#(state=="done").age"#, 7.0),
        (r#"jobs.#(state="done").age"#, 7.0),
        (r#"jobs.#[state=="done"].age"#, 7.0),
        (r#"jobs.#( state == "done" ).age"#, 7.0),
        ("jobs.#(state==done).age", 7.0),
        (r#"jobs.#(state=="waiting")#|#"#, 2.0),
        (r#"jobs.#(state=="waiting")#.age|1"#, 9.0),
        (r#"jobs.#(state!="waiting").age"#, 7.0),
        ("jobs.#(age>5)#|#", 2.0),
        ("jobs.#(age>=5)#|#", 3.0),
        ("jobs.#(age<7)#|#", 1.0),
        ("jobs.#(age<=7)#|#", 2.0),
        (r#"jobs.#(age=="7").age"#, 7.0),
        (r#"jobs.#(state%"w*")#|#"#, 2.0),
        (r#"jobs.#(state!%"w*")#|#"#, 1.0),
        ("jobs.#(hot==true).age", 5.0),
        ("jobs.#(hot==false).age", 7.0),
        ("jobs.#(state)#|#", 3.0),
        (r#"jobs.#(tags.#(=="y"))#|#"#, 2.0),
        ("jobs.#(tags.#>1).age", 5.0),
        ("jobs.#(size.n>10).age", 7.0),
        ("list.#(>1)", 2.0),
        ("list.#(>1)#|#", 2.0),
        (r#"jobs.#(name=="odd)one")#|#"#, 1.0),
        (r#"jobs.#(state=="lost")#|#"#, 0.0),
        (r#"jobs.#(state=="waiting")#|#(age>5).age"#, 9.0),
    ];
    for (path, expected) in rows {
        assert_eq!(find(path), Ok(expected), "{path}");
    }
}

#[test]
fn what_is_no_number_is_reported_without_showing_it() {
    let rows = [
        ("queue.size2", "nothing"),
        ("queue.depth.x", "nothing"),
        ("list.3", "nothing"),
        ("list.-1", "nothing"),
        ("list.x", "nothing"),
        ("queue.#", "nothing"),
        ("jobs.#(state==\"lost\").age", "nothing"),
        ("queue", "an object"),
        ("list", "a list"),
        ("jobs.#.age", "a list"),
        ("jobs.#(age>1)#", "a list"),
        ("yes", "true or false"),
        ("none", "null"),
        ("secret", "a text that is no quantity"),
        ("big", "a number out of range"),
    ];
    for (path, expected) in rows {
        let Err(Unusable::NoValue(problem)) = find(path) else { panic!("{path}: {:?}", find(path)) };
        assert!(problem.contains(&format!("leads to {expected}")) && !problem.contains("hunter2"), "{path}: {problem}");
    }
}

#[test]
fn documents_may_be_anything_but_must_be_json() {
    let find = |path: &str, body: &str| JsonPath::parse(path).unwrap().find(body).and_then(Found::number_or_quantity);
    assert_eq!(find("@this", " 5 "), Ok(5.0));
    assert_eq!(find("0.a", r#"[{"a": "500m"}]"#), Ok(0.5));
    assert_eq!(find("#", "[[],[]]"), Ok(2.0));
    for body in ["", "<html>", r#"{"a": 1"#, r#"{"a": 1} x"#, r#"{"a": hunter2}"#, r#"{"a": 1, }"#] {
        assert_eq!(find("a", body), Err(Unusable::malformed("it is not JSON")), "{body}");
    }
    let deep = format!("{}7{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(find("0.0.0.#", &deep), Ok(1.0));
}

#[test]
fn what_is_not_supported_is_rejected_by_name() {
    let rows = [
        ("@reverse.0", "@reverse"),
        ("a.@flatten", "@flatten"),
        ("a|@join:{}", "@join"),
        ("[a,b]", "new document"),
        ("a.{b}", "new document"),
        ("!5", "new document"),
        ("..#.a", "JSON lines"),
        ("a.#(b", "does not end"),
        ("a.#(b==\"c)", "does not end"),
        ("a.#(b==1)x", "behind a query"),
        ("a.#(b==\"c\"d)", "quotes"),
        ("a.#(b==~true)", "`~`"),
        ("a\\", "`\\`"),
        ("a.#(@keys)", "@keys"),
    ];
    for (path, expected) in rows {
        let error = JsonPath::parse(path).expect_err(path);
        assert!(error.problem.contains(expected) && error.remedy.contains("queue.depth"), "{path}: {error:?}");
    }
    for path in [
        "a".repeat(513),
        vec!["a"; 33].join("."),
        format!("{}*", "a".repeat(64)),
        "#(".repeat(16) + "a" + &")".repeat(16) + &".a".repeat(17),
    ] {
        assert!(JsonPath::parse(&path).is_err(), "{path}");
    }
}

/// Whether a pattern of letters, `*` and `?` fits, by its definition.
fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some('*'), _) => fits(&pattern[1..], text) || !text.is_empty() && fits(pattern, &text[1..]),
        (Some('?'), Some(_)) => fits(&pattern[1..], &text[1..]),
        (Some(wanted), Some(c)) => wanted == c && fits(&pattern[1..], &text[1..]),
        _ => false,
    }
}

proptest! {
    #[test]
    fn no_path_and_no_document_makes_it_panic(
        path in "(.|[a-c.#|@\\\\*?!%=<>~(){}\\[\\]\"0-9]|#\\(|==|@this){0,24}",
        body in "(.|[a-c0-9.{}\\[\\]:,\"]){0,40}",
    ) {
        if let Ok(path) = JsonPath::parse(&path) {
            let _ = path.find(&body);
            let _ = path.find(DOCUMENT);
        }
    }

    #[test]
    fn wildcards_mean_what_they_say(pattern in "[ab*?]{0,8}", text in "[abc]{0,8}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = fits(&chars(&pattern), &chars(&text));
        prop_assert_eq!(path::Pattern::parse(&pattern).unwrap().fits(&text), expected);
    }

    #[test]
    fn every_name_can_be_written_with_escapes(name in ".{1,10}", number in -1e9..1e9f64) {
        let path: String = name.chars().flat_map(|c| ['\\', c]).collect();
        let body = serde_json::json!({ name.clone(): number }).to_string();
        prop_assert_eq!(JsonPath::parse(&path).unwrap().find(&body), Ok(Found::Number(number)));
    }
}
