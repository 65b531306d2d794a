//! Whether a text is a label selector, by the grammar of Kubernetes: a mistake is better told once than by every request.

/// What is wrong with a text that should be a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(String);

/// How a selector is written, for those who wrote something else.
pub const REMEDY: &str = "write it as for kubectl: team=a,tier!=test,env in (x,y),!old";

/// Whether Kubernetes would take the text.
pub fn check(text: &str) -> Result<(), SelectorError> {
    let problem = requirements(text).into_iter().find_map(|requirement| problem(requirement.trim()));
    problem.map_or(Ok(()), |problem| Err(SelectorError(problem)))
}

/// What stands between commas outside of parentheses.
fn requirements(text: &str) -> Vec<&str> {
    let mut inside = false;
    let separates = |c: char| {
        inside = c == '(' || inside && c != ')';
        c == ',' && !inside
    };
    text.split(separates).collect()
}

/// What is wrong with one requirement.
fn problem(requirement: &str) -> Option<String> {
    if let Some(key) = requirement.strip_prefix('!') {
        return bad_key(key.trim());
    }
    let of_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let (key, rest) = requirement.split_at(requirement.find(|c| !of_key(c)).unwrap_or(requirement.len()));
    bad_key(key).or_else(|| bad_condition(rest.trim()))
}

/// What is wrong with what is asked of a key.
fn bad_condition(text: &str) -> Option<String> {
    for sign in ["==", "=", "!="] {
        if let Some(value) = text.strip_prefix(sign) {
            return bad_value(value.trim());
        }
    }
    if let Some(number) = text.strip_prefix(['<', '>']) {
        let number = number.trim();
        return number
            .parse::<i64>()
            .is_err()
            .then(|| format!("compares with `{number}`, which is not a whole number"));
    }
    match text.strip_prefix("notin").or_else(|| text.strip_prefix("in")).map(str::trim) {
        _ if text.is_empty() => None,
        Some(set) => match set.strip_prefix('(').and_then(|set| set.strip_suffix(')')) {
            Some(none) if none.trim().is_empty() => Some("has no values between its parentheses".to_owned()),
            Some(values) => values.split(',').find_map(|value| bad_value(value.trim())),
            None => Some(format!("has `{set}` in the place of values in parentheses")),
        },
        None => Some(format!("has `{text}` in the place of an operator")),
    }
}

fn bad_key(key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let domain = |text: &str| {
        let part = |part: &str| is_name(part, 63) && part.bytes().all(|b| b != b'_' && !b.is_ascii_uppercase());
        text.len() <= 253 && text.split('.').all(part)
    };
    (!is_name(name, 63) || prefix.is_some_and(|prefix| !domain(prefix)))
        .then(|| format!("has `{key}` in the place of a label"))
}

fn bad_value(value: &str) -> Option<String> {
    (!value.is_empty() && !is_name(value, 63)).then(|| format!("has `{value}` in the place of a value"))
}

/// Letters and digits, with `-`, `_` and `.` between.
fn is_name(text: &str, length_max: usize) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let between = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    bytes.len() <= length_max && ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(between)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn selectors_that_kubernetes_takes_are_taken() {
        for text in [
            "a=b",
            "a==b",
            "a != b",
            "a=",
            "a",
            "!a",
            "! a",
            "a in (b)",
            "a in (b, c,),x notin(y)",
            "a>1,b<2",
            "keda.sh/team=a,x=y",
            "app.kubernetes.io/part-of in (x,y), !old",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn others_are_refused_with_what_is_wrong_and_an_example() {
        for (text, names) in [
            ("a=b,", "label"),
            (",", "label"),
            ("=b", "label"),
            ("a=b=c", "`b=c`"),
            ("a b", "`b`"),
            ("a in b", "`b`"),
            ("a in (b", "`(b`"),
            ("a in ( )", "no values"),
            ("a in (b)(c)", "`b)(c`"),
            ("a within (b)", "`within (b)`"),
            ("a>x", "`x`"),
            ("-a=b", "`-a`"),
            ("A_B/x=1", "`A_B/x`"),
            ("a/b/c=1", "`a/b/c`"),
            ("a=b c", "`b c`"),
            ("a=ü", "`ü`"),
        ] {
            let problem = check(text).expect_err(text).to_string();
            assert!(problem.contains(names), "{text}: {problem}");
        }
        assert!(check(&"a".repeat(64)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(.|[a-z!=<>(), /.ü]|in|notin){0,24}") {
            let _ = check(&text);
        }

        #[test]
        fn requirements_are_judged_one_by_one(one in requirement(), other in requirement()) {
            let both = format!("{one},{other}");
            prop_assert_eq!(check(&both).is_ok(), check(&one).is_ok() && check(&other).is_ok());
        }
    }

    fn requirement() -> impl Strategy<Value = String> {
        "[a-z]{1,3}(=|==|!=| in | notin |>|)[a-z0-9]{0,2}|[a-z] in \\([a-z],?[a-z]?\\)"
    }
}
