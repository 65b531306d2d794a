//! The answer of Prometheus, read strictly: one number, or none, or a reason why it cannot be known.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::config::EmptyResult;

/// Why an answer has no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is not an answer to this kind of query_request.
    Malformed(String),
    /// It is one, but there is nothing in it, and nothing is an error.
    NoValue(&'static str),
}

/// What an answer to an instant query holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) number: Result<f64, Unusable>,
    /// Whether there is no sample in it.
    pub(super) is_empty: bool,
}

/// The number in the answer to an instant query.
pub(super) fn parse(body: &[u8], nothing: EmptyResult) -> Parsed {
    match parse_answer(body, nothing) {
        Ok(parsed) => parsed,
        Err(unusable) => Parsed { number: Err(unusable), is_empty: false },
    }
}

/// The parts that count, as the server wrote them: an answer may have any number of samples, and only one is read.
#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    status: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    warnings: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    data: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Data<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Element<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
}

/// A field that is there, though it may be null.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn parse_answer(body: &[u8], nothing: EmptyResult) -> Result<Parsed, Unusable> {
    let answer: &RawValue =
        serde_json::from_slice(body).map_err(|error| malformed(format!("it is not JSON ({error})")))?;
    let answer: Answer<'_> = object(answer)?.ok_or_else(|| malformed("it has no data.result"))?;
    let (number, is_empty) = match find_sample(&answer)? {
        Some(sample) => (parse_sample(&sample, nothing), false),
        None if is_incomplete(&answer) => {
            (Err(Unusable::NoValue("the result is empty, and the server reports an error or a warning")), true)
        }
        None => (nothing.value("the result is empty"), true),
    };
    Ok(Parsed { number, is_empty })
}

/// Whether the server says that something is missing from the result: then an empty one is not zero.
fn is_incomplete(answer: &Answer<'_>) -> bool {
    let warnings = answer.warnings.and_then(|warnings| list(warnings).ok()?);
    let status = answer.status.and_then(|status| serde_json::from_str::<String>(status.get()).ok());
    warnings.is_some_and(|warnings| !warnings.is_empty()) || status.as_deref() == Some("error")
}

/// The one element's `value`, if there is an element and it has one.
// KEDA: `status` is not read where there is a number.
fn find_sample<'a>(answer: &Answer<'a>) -> Result<Option<Vec<&'a RawValue>>, Unusable> {
    let data: Option<Data<'a>> = answer.data.map(object).transpose()?.flatten();
    let result = data.and_then(|data| data.result).ok_or_else(|| malformed("it has no data.result"))?;
    // A list that is null is an empty one to Go, in which servers of this API are written.
    let elements = match list(result)? {
        Some(elements) => elements,
        None if is_null(result) => Vec::new(),
        None => return Err(malformed("data.result is not a list")),
    };
    if !elements.iter().all(|element| element.get().starts_with('{')) {
        return Err(malformed("the result is a scalar or a string; the query must give a vector, as vector(...) does"));
    }
    let element: Element<'a> = match elements[..] {
        [] => return Ok(None),
        [element] => object(element)?.unwrap_or(Element { value: None }),
        _ => return Err(malformed(format!("the query gives {} elements, and must give one", elements.len()))),
    };
    let Some(value) = element.value.filter(|value| !is_null(value)) else { return Ok(None) };
    let sample = list(value)?.ok_or_else(|| malformed("the value is not a list"))?;
    Ok((!sample.is_empty()).then_some(sample))
}

fn parse_sample(sample: &[&RawValue], nothing: EmptyResult) -> Result<f64, Unusable> {
    let number = sample.get(1).ok_or_else(|| malformed("the sample has a time and no number"))?;
    if is_null(number) {
        // KEDA: published as 0, and active only under a threshold below it.
        return Ok(-1.0);
    }
    let text: Cow<'_, str> = serde_json::from_str(number.get()).map_err(|_| malformed("the sample is not a text"))?;
    match parse_number(&text) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => nothing.value("the number is NaN or infinite"),
        None => Err(malformed("the sample is not a number")),
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// The fields of an object; none if it is not one.
fn object<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<Option<T>, Unusable> {
    value.get().starts_with('{').then(|| decode(value)).transpose()
}

/// The elements of a list; none if it is not one.
fn list(value: &RawValue) -> Result<Option<Vec<&RawValue>>, Unusable> {
    value.get().starts_with('[').then(|| decode(value)).transpose()
}

fn decode<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, Unusable> {
    serde_json::from_str(value.get()).map_err(|error| malformed(format!("it cannot be read ({error})")))
}

/// A number as Go reads it: what is too large is an error there, not infinity.
fn parse_number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    let too_large = number.is_infinite() && text.contains(|c: char| c.is_ascii_digit());
    (!too_large).then_some(number)
}

impl EmptyResult {
    fn value(self, problem: &'static str) -> Result<f64, Unusable> {
        match self {
            Self::IsZero => Ok(0.0),
            Self::IsAnError => Err(Unusable::NoValue(problem)),
        }
    }
}

fn malformed(problem: impl Into<String>) -> Unusable {
    Unusable::Malformed(problem.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Expected {
        Number(f64),
        /// 0 if nothing is zero, else an error.
        EmptyResult,
        Error,
    }
    use Expected::{EmptyResult as Empty, Error, Number};

    fn one(value: &str) -> String {
        format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":{value}}}]}}}}"#
        )
    }

    fn with_result(result: &str) -> String {
        format!(r#"{{"status":"success","data":{{"result":{result}}}}}"#)
    }

    #[test]
    fn every_row_of_the_table() {
        let rows = [
            ("a number", one(r#"[1714556400.5,"128"]"#), Number(128.0)),
            ("a fraction", one(r#"[1,"0.25"]"#), Number(0.25)),
            ("an exponent", one(r#"[1,"1.5e+06"]"#), Number(1_500_000.0)),
            ("below zero", one(r#"[1,"-2"]"#), Number(-2.0)),
            ("not JSON", "<html>".to_owned(), Error),
            ("cut off", r#"{"data":{"result":[{"#.to_owned(), Error),
            ("nothing at all", String::new(), Error),
            ("a list", "[1]".to_owned(), Error),
            ("data that is no object", r#"{"data":[]}"#.to_owned(), Error),
            ("data that is null", r#"{"data":null}"#.to_owned(), Error),
            ("something after it", format!("{} x", one(r#"[1,"1"]"#)), Error),
            ("blanks around it", format!(" {} ", one(r#" [ 1 , "7" ] "#)), Number(7.0)),
            ("an escaped number", one(r#"[1,"\u0037"]"#), Number(7.0)),
            ("a scalar", with_result(r#"[1714556400,"5"]"#), Error),
            ("a string", with_result(r#"[1714556400,"text"]"#), Error),
            ("no list", with_result(r#"{"a":1}"#), Error),
            ("no result", r#"{"status":"success","data":{}}"#.to_owned(), Error),
            ("empty", with_result("[]"), Empty),
            ("null for a list", with_result("null"), Empty),
            ("two elements", with_result(r#"[{"value":[1,"1"]},{"value":[1,"2"]}]"#), Error),
            ("a matrix", with_result(r#"[{"metric":{},"values":[[1,"1"]]}]"#), Empty),
            ("a value that is null", one("null"), Empty),
            ("a value without entries", one("[]"), Empty),
            ("a value that is no list", one("5"), Error),
            ("one entry", one("[1]"), Error),
            ("null inside a sample", one("[1,null]"), Number(-1.0)),
            ("a number that is not a text", one("[1,5]"), Error),
            ("a text that is not a number", one(r#"[1,"five"]"#), Error),
            ("an empty text", one(r#"[1,""]"#), Error),
            ("NaN", one(r#"[1,"NaN"]"#), Empty),
            ("+Inf", one(r#"[1,"+Inf"]"#), Empty),
            ("-Inf", one(r#"[1,"-Inf"]"#), Empty),
            ("too large", one(r#"[1,"1e999"]"#), Error),
            (
                "the status is not read where there is a number",
                r#"{"status":"error","data":{"result":[{"value":[1,"3"]}]}}"#.to_owned(),
                Number(3.0),
            ),
        ];
        for (name, body, expected) in rows {
            let ignored = parse(body.as_bytes(), EmptyResult::IsZero).number;
            let strict = parse(body.as_bytes(), EmptyResult::IsAnError).number;
            match expected {
                Number(number) => assert_eq!((ignored, strict), (Ok(number), Ok(number)), "{name}"),
                Empty => {
                    assert_eq!(ignored, Ok(0.0), "{name}");
                    assert!(matches!(strict, Err(Unusable::NoValue(_))), "{name}: {strict:?}");
                }
                Error => {
                    assert!(matches!(ignored, Err(Unusable::Malformed(_))), "{name}: {ignored:?}");
                    assert!(matches!(strict, Err(Unusable::Malformed(_))), "{name}: {strict:?}");
                }
            }
        }
    }

    #[test]
    fn an_empty_result_of_a_server_that_misses_something_is_unknown() {
        let rows = [
            (r#"{"status":"error","errorType":"timeout","data":{"result":[]}}"#, false),
            (r#"{"status":"success","warnings":["a store is unavailable"],"data":{"result":[]}}"#, false),
            (r#"{"status":"success","warnings":["partial"],"data":{"result":null}}"#, false),
            (r#"{"status":"success","warnings":[],"data":{"result":[]}}"#, true),
            (r#"{"status":"success","infos":["a hint"],"data":{"result":[]}}"#, true),
        ];
        for (body, is_zero) in rows {
            assert_eq!(parse(body.as_bytes(), EmptyResult::IsZero).number.is_ok(), is_zero, "{body}");
        }
        let warned = r#"{"status":"success","warnings":["w"],"data":{"result":[{"value":[1,"3"]}]}}"#;
        assert_eq!(parse(warned.as_bytes(), EmptyResult::IsZero).number, Ok(3.0));
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_gives_more_than_a_finite_number(body in ".*", sample in ".*") {
            for body in [body.clone(), with_result(&body), one(&body), one(&format!("[1,{sample:?}]"))] {
                if let Ok(number) = parse(body.as_bytes(), EmptyResult::IsZero).number {
                    prop_assert!(number.is_finite());
                }
            }
        }

        #[test]
        fn every_number_that_prometheus_can_write_is_read(number: f64) {
            prop_assume!(number.is_finite());
            prop_assert_eq!(parse(one(&format!("[1,\"{number:e}\"]")).as_bytes(), EmptyResult::IsAnError).number, Ok(number));
        }
    }
}
