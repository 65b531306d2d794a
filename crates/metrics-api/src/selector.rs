//! The label selector of a metric: which ScaledObject is meant.

use kedge_api::names::labels::SCALED_OBJECT_NAME;

use crate::status::Status;

/// Finds the ScaledObject's name in a selector of `key=value` pairs.
pub(crate) fn parse_scaled_object(selector: Option<&str>) -> Result<String, Status> {
    let Some(selector) = selector.map(str::trim).filter(|text| !text.is_empty()) else {
        return Err(refuse("the label selector is missing".to_owned()));
    };
    let mut found: Option<&str> = None;
    for requirement in selector.split(',') {
        let (key, value) = parse_pair(requirement).ok_or_else(|| {
            refuse(format!("the label selector {selector:?} is not made of key=value pairs alone: {requirement:?}"))
        })?;
        if key != SCALED_OBJECT_NAME {
            continue;
        }
        if found.is_some_and(|before| before != value) {
            return Err(refuse(format!("the label selector {selector:?} names two ScaledObjects")));
        }
        found = Some(value);
    }
    match found {
        None => Err(refuse(format!("the label selector {selector:?} does not name a ScaledObject"))),
        Some(name) if is_name(name) => Ok(name.to_owned()),
        Some(name) => Err(refuse(format!("{name:?} in the label selector cannot be the name of a ScaledObject"))),
    }
}

fn refuse(problem: String) -> Status {
    Status::bad_request(format!("{problem}; expected {SCALED_OBJECT_NAME}=<name of the ScaledObject>"))
}

/// `key=value` and nothing else of the grammar of selectors, in which every other operator needs one of these
/// characters.
fn parse_pair(requirement: &str) -> Option<(&str, &str)> {
    let (key, value) = requirement.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let is_plain = |text: &str| !text.contains(['=', '!', '(', ')', ' ']);
    (!key.is_empty() && is_plain(key) && is_plain(value)).then_some((key, value))
}

/// What label values and object names have in common.
fn is_name(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_name_a_scaled_object_are_read() {
        let rows = [
            ("the name alone", "scaledobject.keda.sh/name=web"),
            ("among others", "app=shop,scaledobject.keda.sh/name=web,tier="),
            ("with spaces", " scaledobject.keda.sh/name = web , app=shop"),
            ("twice the same", "scaledobject.keda.sh/name=web,scaledobject.keda.sh/name=web"),
        ];
        for (name, selector) in rows {
            assert_eq!(parse_scaled_object(Some(selector)), Ok("web".to_owned()), "{name}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_remedy() {
        let rows = [
            ("absent", None, "the label selector is missing"),
            ("empty", Some(""), "the label selector is missing"),
            ("no name", Some("app=web"), r#"the label selector "app=web" does not name a ScaledObject"#),
            (
                "a set",
                Some("scaledobject.keda.sh/name in (web)"),
                r#"the label selector "scaledobject.keda.sh/name in (web)" is not made of key=value pairs alone: "scaledobject.keda.sh/name in (web)""#,
            ),
            (
                "an inequality",
                Some("scaledobject.keda.sh/name!=web"),
                r#"the label selector "scaledobject.keda.sh/name!=web" is not made of key=value pairs alone: "scaledobject.keda.sh/name!=web""#,
            ),
            (
                "a double sign",
                Some("a==b"),
                r#"the label selector "a==b" is not made of key=value pairs alone: "a==b""#,
            ),
            (
                "existence",
                Some("scaledobject.keda.sh/name"),
                r#"the label selector "scaledobject.keda.sh/name" is not made of key=value pairs alone: "scaledobject.keda.sh/name""#,
            ),
            ("a stray comma", Some("a=b,"), r#"the label selector "a=b," is not made of key=value pairs alone: """#),
            (
                "two names",
                Some("scaledobject.keda.sh/name=a,scaledobject.keda.sh/name=b"),
                r#"the label selector "scaledobject.keda.sh/name=a,scaledobject.keda.sh/name=b" names two ScaledObjects"#,
            ),
            (
                "an empty name",
                Some("scaledobject.keda.sh/name="),
                r#""" in the label selector cannot be the name of a ScaledObject"#,
            ),
            (
                "a path",
                Some("scaledobject.keda.sh/name=../web"),
                r#""../web" in the label selector cannot be the name of a ScaledObject"#,
            ),
        ];
        for (name, selector, problem) in rows {
            let status = parse_scaled_object(selector).expect_err(name);
            assert_eq!(status.code().as_u16(), 400, "{name}");
            let expected = format!("{problem}; expected scaledobject.keda.sh/name=<name of the ScaledObject>");
            assert_eq!(status.message(), expected, "{name}");
        }
    }
}
