//! The label selector of a metric: which ScaledObject is meant.

use kedge_api::names::labels::SCALED_OBJECT_NAME;
use kedge_core::selector::LabelSelector;

use crate::status::Status;

/// Finds the ScaledObject's name in a selector of `key=value` pairs.
pub(crate) fn parse_scaled_object(selector: Option<&str>) -> Result<String, Status> {
    let Some(text) = selector.map(str::trim).filter(|text| !text.is_empty()) else {
        return Err(invalid("the label selector is missing".to_owned()));
    };
    let selector =
        LabelSelector::parse(text).map_err(|error| invalid(format!("{text:?} is not a label selector: {error}")))?;
    let mut found: Option<&str> = None;
    for requirement in selector.requirements() {
        let value = requirement.equal_to().ok_or_else(|| {
            let requirement = requirement.to_string();
            invalid(format!("the label selector {text:?} is not made of key=value pairs alone: {requirement:?}"))
        })?;
        if requirement.key() != SCALED_OBJECT_NAME {
            continue;
        }
        if found.is_some_and(|before| before != value) {
            return Err(invalid(format!("the label selector {text:?} names two ScaledObjects")));
        }
        found = Some(value);
    }
    match found {
        None => Err(invalid(format!("the label selector {text:?} does not name a ScaledObject"))),
        Some("") => Err(invalid("\"\" in the label selector cannot be the name of a ScaledObject".to_owned())),
        Some(name) => Ok(name.to_owned()),
    }
}

fn invalid(problem: String) -> Status {
    Status::bad_request(format!("{problem}; expected {SCALED_OBJECT_NAME}=<name of the ScaledObject>"))
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
            (
                "a stray comma",
                Some("a=b,"),
                r#""a=b," is not a label selector: found '', expected: identifier after ','"#,
            ),
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
                r#""scaledobject.keda.sh/name=../web" is not a label selector: unable to parse requirement: values[0][scaledobject.keda.sh/name]: Invalid value: "../web": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
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
