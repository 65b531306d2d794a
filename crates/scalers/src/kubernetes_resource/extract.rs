//! The number in the text of a key, by format and type. Pure; no error repeats the text, which may be secret.

use crate::document::{Found, JsonPath, Unusable, YamlPath, quantity};
use crate::metadata::convert::{self, Converted};

/// Where the number is, and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Extract {
    location: Location,
    value_type: ValueType,
}

#[derive(Clone, Debug)]
enum Location {
    /// The text is the number.
    Whole,
    Json(JsonPath),
    Yaml(YamlPath),
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Float,
    Integer,
    Quantity,
}

impl ValueType {
    pub(super) fn parse(text: &str) -> Converted<Self> {
        Ok(match convert::one_of(text, &["float64", "int64", "quantity"])? {
            "int64" => Self::Integer,
            "quantity" => Self::Quantity,
            _ => Self::Float,
        })
    }
}

impl Extract {
    pub(super) fn whole(value_type: ValueType) -> Self {
        Self { location: Location::Whole, value_type }
    }

    pub(super) fn json(path: &str, value_type: ValueType) -> Converted<Self> {
        Ok(Self { location: Location::Json(JsonPath::parse(path)?), value_type })
    }

    pub(super) fn yaml(path: &str, value_type: ValueType) -> Converted<Self> {
        Ok(Self { location: Location::Yaml(YamlPath::parse(path)), value_type })
    }

    /// The number in a text.
    pub(super) fn find(&self, text: &str) -> Result<f64, Unusable> {
        let number = match &self.location {
            Location::Whole => whole_number(text, self.value_type),
            Location::Json(path) => number_of_json(path.find(text)?, self.value_type),
            Location::Yaml(path) => number_of_yaml(path.find(text)?, self.value_type),
        }?;
        // KEDA publishes these as 0; but a number that there is not is unknown.
        let is_number = number.is_finite();
        is_number.then_some(number).ok_or_else(|| Unusable::no_value("the number is not finite"))
    }
}

// KEDA: what follows a number is ignored, but a quantity is the whole text.
fn whole_number(text: &str, value_type: ValueType) -> Result<f64, Unusable> {
    match value_type {
        ValueType::Float => {
            leading_float(text).ok_or_else(|| Unusable::no_value("the value does not begin with a number"))
        }
        ValueType::Integer => leading_integer(text)
            .map(|number| number as f64)
            .ok_or_else(|| Unusable::no_value("the value does not begin with an integer")),
        ValueType::Quantity => quantity(text).ok_or_else(|| Unusable::no_value("the value is not a quantity")),
    }
}

// KEDA: a text is a quantity, unless integers are wanted; the fraction of a number is dropped then.
fn number_of_json(found: Found, value_type: ValueType) -> Result<f64, Unusable> {
    match (found, value_type) {
        (Found::Number(number), ValueType::Integer) => Ok(number.trunc()),
        (Found::Text(_), ValueType::Integer) => {
            Err(Unusable::no_value("`valueLocation` leads to a text, and `valueType` is int64"))
        }
        (found, ValueType::Float | ValueType::Quantity) => found.number_or_quantity(),
    }
}

// KEDA: a number is taken as it is, also where integers are wanted; a text begins with a number, or is a quantity.
fn number_of_yaml(found: Found, value_type: ValueType) -> Result<f64, Unusable> {
    match (found, value_type) {
        // KEDA: a date is no text.
        (Found::Text(text), _) if is_date(&text) => Err(Unusable::leads_to("a date")),
        (Found::Text(text), ValueType::Float | ValueType::Integer) => {
            leading_float(&text).ok_or_else(|| Unusable::leads_to("a text that does not begin with a number"))
        }
        (found, _) => found.number_or_quantity(),
    }
}

/// Whether a text begins as `2026-01-31` does.
fn is_date(text: &str) -> bool {
    let is_digit_or_dash =
        |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() >= 10 && text.bytes().take(10).enumerate().all(is_digit_or_dash)
}

/// The number that a text begins with.
fn leading_float(text: &str) -> Option<f64> {
    let text = skip_blanks(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut rest = skip_digits(unsigned);
    let is_hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = skip_digits(fraction);
    }
    // Go reads these notations, and KEDA with it; who writes them here means something else.
    if is_hexadecimal || rest.starts_with(['p', 'P']) {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        rest = skip_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    }
    if rest.starts_with('_') {
        return None;
    }
    text[..text.len() - rest.len()].parse().ok().filter(|number: &f64| number.is_finite())
}

/// The integer that a text begins with.
fn leading_integer(text: &str) -> Option<i64> {
    let text = skip_blanks(text);
    let rest = skip_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    text[..text.len() - rest.len()].parse().ok()
}

// KEDA: not over the end of a line.
fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() && c != '\n' && c != '\r')
}

fn skip_digits(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ValueType::{Float, Integer, Quantity};

    #[test]
    fn the_whole_text_is_read_by_its_type() {
        let rows = [
            // text     float64          int64        quantity
            ("12", Some(12.0), Some(12.0), Some(12.0)),
            ("12.5", Some(12.5), Some(12.0), Some(12.5)),
            ("-3", Some(-3.0), Some(-3.0), Some(-3.0)),
            ("+3", Some(3.0), Some(3.0), Some(3.0)),
            ("1e3", Some(1000.0), Some(1.0), Some(1000.0)),
            ("500m", Some(500.0), Some(500.0), Some(0.5)),
            ("1k", Some(1.0), Some(1.0), Some(1000.0)),
            ("12abc", Some(12.0), Some(12.0), None),
            ("12\n", Some(12.0), Some(12.0), None),
            ("  12 of 40", Some(12.0), Some(12.0), None),
            (".5", Some(0.5), None, Some(0.5)),
            ("5.", Some(5.0), Some(5.0), Some(5.0)),
            ("\n12", None, None, None),
            ("", None, None, None),
            ("many", None, None, None),
            ("-", None, None, None),
            (".", None, None, None),
            ("12e", None, Some(12.0), None),
            ("1_000", None, Some(1.0), None),
            ("0x10", None, Some(0.0), None),
            ("5x", Some(5.0), Some(5.0), None),
            ("5p1", None, Some(5.0), None),
            ("inf", None, None, None),
            ("NaN", None, None, None),
            ("1e999", None, Some(1.0), None),
            ("99999999999999999999", Some(1e20), None, Some(1e20)),
        ];
        for (text, float, integer, quantity) in rows {
            for (value_type, expected) in [(Float, float), (Integer, integer), (Quantity, quantity)] {
                assert_eq!(Extract::whole(value_type).find(text).ok(), expected, "{text:?} as {value_type:?}");
            }
        }
    }

    #[test]
    fn numbers_in_documents_are_read_by_their_type() {
        let json = r#"{"n": 12.7, "t": "1k", "w": "12 of 40", "l": [1, 2], "x": null}"#;
        let yaml = "n: 12.7\nt: 1k\nw: 12 of 40\nl: [1, 2]\nx: ~\nd: 2026-01-31\n";
        let rows = [
            // path   json: float int quantity                      yaml: float int quantity
            ("n", [Some(12.7), Some(12.0), Some(12.7)], [Some(12.7), Some(12.7), Some(12.7)]),
            ("t", [Some(1000.0), None, Some(1000.0)], [Some(1.0), Some(1.0), Some(1000.0)]),
            ("w", [None, None, None], [Some(12.0), Some(12.0), None]),
            ("l.1", [Some(2.0), Some(2.0), Some(2.0)], [Some(2.0), Some(2.0), Some(2.0)]),
            ("l", [None; 3], [None; 3]),
            ("x", [None; 3], [None; 3]),
            ("y", [None; 3], [None; 3]),
            ("d", [None; 3], [None; 3]),
        ];
        for (path, of_json, of_yaml) in rows {
            for (index, value_type) in [Float, Integer, Quantity].into_iter().enumerate() {
                let found = Extract::json(path, value_type).unwrap().find(json).ok();
                assert_eq!(found, of_json[index], "{path} of JSON as {value_type:?}");
                let found = Extract::yaml(path, value_type).unwrap().find(yaml).ok();
                assert_eq!(found, of_yaml[index], "{path} of YAML as {value_type:?}");
            }
        }
        assert_eq!(Extract::json("l.#", Integer).unwrap().find(json), Ok(2.0));
        assert!(matches!(Extract::json("n", Float).unwrap().find("n: 1"), Err(Unusable::Malformed(_))));
        assert!(matches!(Extract::yaml("n", Float).unwrap().find("a: b: c"), Err(Unusable::Malformed(_))));
    }

    #[test]
    fn no_error_repeats_the_text() {
        let texts = ["hunter2", "{\"n\": \"hunter2\"}", "n: hunter2", "[hunter2"];
        for text in texts {
            for value_type in [Float, Integer, Quantity] {
                let extracts = [
                    Extract::whole(value_type),
                    Extract::json("n", value_type).unwrap(),
                    Extract::yaml("n", value_type).unwrap(),
                ];
                for extract in extracts {
                    let error = format!("{:?}", extract.find(text).unwrap_err());
                    assert!(!error.contains("hunter"), "{text}: {error}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_number_is_read_whatever_follows(number in -1e12..1e12f64, tail in "([ a-df-oq-wyz%][^_]{0,8})?") {
            prop_assert_eq!(leading_float(&format!("{number}{tail}")), Some(number));
            let whole = number.trunc() as i64;
            prop_assert_eq!(leading_integer(&format!("{whole}{tail}")), Some(whole));
        }

        #[test]
        fn no_text_makes_it_panic(text in "(.|[-+0-9.eExXpP_ \n]){0,24}", kind in 0..3usize) {
            let _ = Extract::whole([Float, Integer, Quantity][kind]).find(&text);
        }
    }
}
