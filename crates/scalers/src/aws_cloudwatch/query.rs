//! What CloudWatch is asked, and what its answer means. Everything here is pure.

use serde_json::{Value, json};

use crate::error::{Endpoint, ReadError, cut};

/// One question, for a moment that is yet to come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) wanted: Wanted,
    pub(super) window: Window,
    /// The account whose metrics are read.
    pub(super) account: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    Expression(String),
    Metric {
        namespace: String,
        name: String,
        dimensions: Vec<(String, String)>,
        stat: String,
        unit: Option<&'static str>,
    },
}

/// The time that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) period_seconds: i64,
    pub(super) collection_seconds: i64,
    pub(super) offset_seconds: i64,
}

/// What a metric without values means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenEmpty {
    Minimum,
    Error,
}

impl Window {
    /// Its start and its end, in seconds since 1970.
    fn bounds(&self, now_seconds: i64) -> (i64, i64) {
        // KEDA: periods are counted from the year 1, which matters for those that do not divide a day.
        const YEAR_1: i64 = -62_135_596_800;
        let latest = now_seconds.saturating_sub(self.offset_seconds);
        let end = latest.saturating_sub(latest.saturating_sub(YEAR_1).rem_euclid(self.period_seconds));
        (end.saturating_sub(self.collection_seconds), end)
    }
}

impl Query {
    /// The input of `GetMetricData`.
    pub(super) fn question(&self, now_seconds: i64) -> Value {
        let (start, end) = self.window.bounds(now_seconds);
        let period = self.window.period_seconds;
        let mut query = match &self.wanted {
            Wanted::Expression(expression) => json!({ "Id": "q1", "Expression": expression, "Period": period }),
            Wanted::Metric { namespace, name, dimensions, stat, unit } => {
                let dimensions: Vec<Value> =
                    dimensions.iter().map(|(name, value)| json!({ "Name": name, "Value": value })).collect();
                let metric = json!({ "Namespace": namespace, "MetricName": name, "Dimensions": dimensions });
                let mut metric_stat = json!({ "Metric": metric, "Period": period, "Stat": stat });
                if let Some(unit) = unit {
                    metric_stat["Unit"] = json!(unit);
                }
                json!({ "Id": "c1", "MetricStat": metric_stat, "ReturnData": true })
            }
        };
        if let Some(account) = &self.account {
            query["AccountId"] = json!(account);
        }
        json!({ "StartTime": start, "EndTime": end, "ScanBy": "TimestampDescending", "MetricDataQueries": [query] })
    }
}

/// The newest value of the first result.
pub(super) fn newest_value(
    endpoint: &Endpoint,
    answer: &Value,
    minimum: f64,
    when_empty: WhenEmpty,
) -> Result<f64, ReadError> {
    let malformed = |problem: &str| ReadError::Malformed { endpoint: endpoint.clone(), problem: problem.to_owned() };
    let without_value = |problem: String| ReadError::NoValue { endpoint: endpoint.clone(), problem };
    let results = answer["MetricDataResults"].as_array().ok_or_else(|| malformed("it has no MetricDataResults"))?;
    let Some(first) = results.first() else {
        return match answer["NextToken"].is_string() {
            true => {
                Err(without_value("there is more to come, but no result yet; use a narrower `expression`".to_owned()))
            }
            // KEDA: whatever `ignoreNullValues` is.
            false => Ok(minimum),
        };
    };
    let status = first["StatusCode"].as_str().unwrap_or_default();
    if matches!(status, "InternalError" | "Forbidden") {
        return Err(refusal(endpoint, status, first));
    }
    let values = first["Values"].as_array().ok_or_else(|| malformed("its result has no Values"))?;
    match (values.first(), status, when_empty) {
        (Some(value), _, _) => value.as_f64().ok_or_else(|| malformed("its first value is not a number")),
        (None, "Complete", WhenEmpty::Minimum) => Ok(minimum),
        (None, "Complete", WhenEmpty::Error) => {
            let problem = "the window is empty, and `ignoreNullValues` is false; widen `metricCollectionTime`";
            Err(without_value(problem.to_owned()))
        }
        // KEDA: takes these for empty windows.
        (None, _, _) => Err(without_value(cut(&format!("the result is not complete, but {status:?}")))),
    }
}

/// The error of one result, which comes with the status of a success.
fn refusal(endpoint: &Endpoint, status: &str, result: &Value) -> ReadError {
    let words = result["Messages"][0]["Value"].as_str().unwrap_or_default();
    let message = cut(format!("{status}: {words}").trim_end_matches(": "));
    match status {
        "Forbidden" => ReadError::Denied { endpoint: endpoint.clone(), message },
        _ => ReadError::Refused { endpoint: endpoint.clone(), message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_ends_with_a_whole_period() {
        // 2026-08-20T10:07:42Z
        let now = 1_787_220_462;
        let minutes = |hour: i64, minute: i64| 1_787_184_000 + (hour * 60 + minute) * 60;
        let rows = [
            // name                                     period collection offset  start             end
            ("five minutes, whole ones", 300, 300, 0, minutes(10, 0), minutes(10, 5)),
            ("a period of a minute", 60, 300, 0, minutes(10, 2), minutes(10, 7)),
            ("the offset counts before the cut", 300, 300, 180, minutes(9, 55), minutes(10, 0)),
            ("within one period, no offset matters", 300, 600, 100, minutes(9, 55), minutes(10, 5)),
            ("seconds", 1, 60, 0, now - 60, now),
            ("an hour", 3600, 7200, 0, minutes(8, 0), minutes(10, 0)),
            ("the future, with an offset below zero", 300, 300, -300, minutes(10, 5), minutes(10, 10)),
            ("seven minutes, counted from the year 1", 420, 420, 0, 1_787_219_640, 1_787_220_060),
        ];
        for (name, period_seconds, collection_seconds, offset_seconds, start, end) in rows {
            let window = Window { period_seconds, collection_seconds, offset_seconds };
            assert_eq!(window.bounds(now), (start, end), "{name}");
        }
        let vast = Window { period_seconds: 60, collection_seconds: i64::MAX, offset_seconds: i64::MAX };
        assert!(vast.bounds(now).0 <= vast.bounds(now).1);
    }

    #[test]
    fn a_metric_or_an_expression_is_asked_for() {
        let window = Window { period_seconds: 60, collection_seconds: 120, offset_seconds: 0 };
        let metric = |unit| Wanted::Metric {
            namespace: "AWS/SQS".to_owned(),
            name: "depth".to_owned(),
            dimensions: vec![("Queue".to_owned(), "orders".to_owned()), ("Tier".to_owned(), "a".to_owned())],
            stat: "Sum".to_owned(),
            unit,
        };
        let asked = |wanted, account: Option<&str>| {
            Query { wanted, window, account: account.map(str::to_owned) }.question(1_000_000_019)
        };
        let dimensions = json!([{ "Name": "Queue", "Value": "orders" }, { "Name": "Tier", "Value": "a" }]);
        let named = json!({ "Namespace": "AWS/SQS", "MetricName": "depth", "Dimensions": dimensions });
        let plain = json!({ "Metric": named, "Period": 60, "Stat": "Sum" });
        let counted = json!({ "Metric": named, "Period": 60, "Stat": "Sum", "Unit": "Count" });
        let sum = "SELECT SUM(depth) FROM shop";
        let rows = [
            ("a metric", asked(metric(None), None), json!({ "Id": "c1", "MetricStat": plain, "ReturnData": true })),
            (
                "a unit and an account",
                asked(metric(Some("Count")), Some("123")),
                json!({ "Id": "c1", "MetricStat": counted, "ReturnData": true, "AccountId": "123" }),
            ),
            (
                "an expression",
                asked(Wanted::Expression(sum.to_owned()), None),
                json!({ "Id": "q1", "Expression": sum, "Period": 60 }),
            ),
        ];
        for (name, question, query) in rows {
            assert_eq!(question["MetricDataQueries"], json!([query]), "{name}");
            assert_eq!(question["ScanBy"], "TimestampDescending", "{name}");
            assert_eq!((&question["StartTime"], &question["EndTime"]), (&json!(999_999_840), &json!(999_999_960)));
        }
    }

    #[test]
    fn only_a_window_that_is_known_to_be_empty_is_the_minimum() {
        let endpoint = Endpoint::from_host("cloudwatch".to_owned());
        let result =
            |status: &str, values: Value| json!({ "MetricDataResults": [{ "StatusCode": status, "Values": values }] });
        let forbidden =
            json!({ "StatusCode": "Forbidden", "Values": [], "Messages": [{ "Code": "x", "Value": "not yours" }] });
        type Row<'a> = (&'a str, Value, Result<f64, &'a str>, Result<f64, &'a str>);
        let rows: [Row<'_>; 12] = [
            // name, answer, ignoreNullValues true, false
            ("the newest value", result("Complete", json!([7.5, 9])), Ok(7.5), Ok(7.5)),
            ("whole numbers", result("Complete", json!([0])), Ok(0.0), Ok(0.0)),
            ("below zero", result("PartialData", json!([-3])), Ok(-3.0), Ok(-3.0)),
            ("empty", result("Complete", json!([])), Ok(2.0), Err("the window is empty")),
            ("no result", json!({ "MetricDataResults": [] }), Ok(2.0), Ok(2.0)),
            (
                "more to come",
                json!({ "MetricDataResults": [], "NextToken": "t" }),
                Err("more to come"),
                Err("more to come"),
            ),
            ("empty so far", result("PartialData", json!([])), Err("PartialData"), Err("PartialData")),
            ("a fault of the service", result("InternalError", json!([])), Err("InternalError"), Err("InternalError")),
            (
                "forbidden",
                json!({ "MetricDataResults": [forbidden] }),
                Err("Forbidden: not yours"),
                Err("denied access"),
            ),
            ("no number", result("Complete", json!(["7"])), Err("not a number"), Err("not a number")),
            ("no values", result("Complete", Value::Null), Err("no Values"), Err("no Values")),
            ("another answer", json!({}), Err("no MetricDataResults"), Err("no MetricDataResults")),
        ];
        for (name, answer, ignoring, strict) in rows {
            for (when_empty, expected) in [(WhenEmpty::Minimum, ignoring), (WhenEmpty::Error, strict)] {
                match (newest_value(&endpoint, &answer, 2.0, when_empty), expected) {
                    (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{name}"),
                    (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{name}: {error}"),
                    (value, _) => panic!("{name}: {value:?}"),
                }
            }
        }
    }
}
