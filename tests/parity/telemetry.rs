//! The metrics that an operator exports about itself, in a form that can be compared.
//!
//! Times differ from run to run, and so does the number of polls: only whether a counter is above 0 is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

/// The prefix of KEDA's own metrics. Others come from the libraries of its language.
const PREFIX: &str = "keda_";

/// A line like `name{label="value"} 1`.
struct Sample<'a> {
    name: &'a str,
    labels: BTreeMap<&'a str, &'a str>,
    value: f64,
}

/// The series with this value of the label `namespace`, each with its value in the normal form.
pub(crate) fn series_about(text: &str, namespace: &str) -> Value {
    let own = samples(text).filter(|sample| sample.labels.get("namespace") == Some(&namespace));
    Value::Object(own.map(|sample| (sample.series(), sample.normal_value())).collect::<Map<_, _>>())
}

/// What an operator exported while cases ran: metrics and series that come and go.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The type of each metric.
    types: BTreeMap<String, String>,
    /// The newest value of each series.
    values: BTreeMap<String, String>,
}

impl Collected {
    /// Reads an exposition. Series about namespaces without this prefix are left out.
    pub(crate) fn add(&mut self, text: &str, prefix: &str) {
        let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let kinds = kinds.filter(|(name, _)| name.starts_with(PREFIX));
        self.types.extend(kinds.map(|(name, kind)| (name.to_owned(), kind.trim().to_owned())));
        let is_own = |sample: &Sample<'_>| sample.labels.get("namespace").is_none_or(|own| own.starts_with(prefix));
        let own = samples(text).filter(is_own);
        self.values.extend(own.map(|sample| (sample.series(), sample.value.to_string())));
    }

    /// Each metric with its type and the names of its labels.
    pub(crate) fn metrics(&self) -> Value {
        let metric = |(name, kind): (&String, &String)| {
            let samples = self.values.keys().filter_map(|series| parse_series(series));
            let own = samples.filter(|(series, _)| metric_of(series, kind) == name);
            let labels: BTreeSet<&str> =
                own.flat_map(|(_, labels)| labels.into_keys()).filter(|label| *label != "le").collect();
            (name.clone(), json!({ "type": kind, "labels": Vec::from_iter(labels).join(", ") }))
        };
        Value::Object(self.types.iter().map(metric).collect::<Map<_, _>>())
    }
}

impl fmt::Display for Collected {
    /// As an exposition.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, kind) in &self.types {
            writeln!(out, "# TYPE {name} {kind}")?;
            let is_own = |series: &str| parse_series(series).is_some_and(|(found, _)| metric_of(found, kind) == name);
            for (series, value) in self.values.iter().filter(|(series, _)| is_own(series)) {
                writeln!(out, "{series} {value}")?;
            }
        }
        Ok(())
    }
}

fn metric_of<'a>(series: &'a str, kind: &str) -> &'a str {
    let parts = if kind == "histogram" { &["_bucket", "_sum", "_count"][..] } else { &[] };
    parts.iter().find_map(|part| series.strip_suffix(part)).unwrap_or(series)
}

fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter(|line| line.starts_with(PREFIX)).filter_map(parse)
}

fn parse(line: &str) -> Option<Sample<'_>> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = parse_series(series)?;
    Some(Sample { name, labels, value: value.trim().parse().ok()? })
}

fn parse_series(series: &str) -> Option<(&str, BTreeMap<&str, &str>)> {
    let Some((name, labels)) = series.split_once('{') else { return Some((series, BTreeMap::new())) };
    let pairs = labels.strip_suffix('}')?.split("\",").filter_map(|pair| pair.split_once("=\""));
    Some((name, pairs.map(|(label, value)| (label, value.trim_end_matches('"'))).collect()))
}

impl Sample<'_> {
    fn series(&self) -> String {
        if self.labels.is_empty() {
            return self.name.to_owned();
        }
        let labels: Vec<String> = self.labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        format!("{}{{{}}}", self.name, labels.join(","))
    }

    fn normal_value(&self) -> Value {
        if self.name.ends_with("_seconds") {
            json!("<seconds>")
        } else if self.name.ends_with("registered_total") || !self.name.ends_with("_total") || self.value == 0.0 {
            json!(self.value)
        } else {
            json!("<above 0>")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "HTTP/1.0 200 OK\r\n\r\n# HELP keda_scaler_active words\n# TYPE keda_scaler_active gauge\n\
        keda_scaler_active{namespace=\"n\",metric=\"s0-a\"} 1\n\
        keda_scaler_active{namespace=\"other\",metric=\"s0-b\"} 0\n\
        # TYPE keda_errors_total counter\nkeda_errors_total{namespace=\"n\"} 7\nkeda_errors_total{namespace=\"n\",a=\"\"} 0\n\
        # TYPE keda_wait_seconds histogram\nkeda_wait_seconds_bucket{code=\"200\",le=\"+Inf\"} 3\n\
        # TYPE go_threads gauge\ngo_threads 9\n";

    #[test]
    fn series_about_a_namespace_have_normal_values() {
        let expected = json!({
            "keda_scaler_active{metric=\"s0-a\",namespace=\"n\"}": 1.0,
            "keda_errors_total{namespace=\"n\"}": "<above 0>",
            "keda_errors_total{a=\"\",namespace=\"n\"}": 0.0,
        });
        assert_eq!(series_about(TEXT, "n"), expected);
    }

    #[test]
    fn a_metric_has_a_type_and_labels() {
        let mut collected = Collected::default();
        collected.add(TEXT, "n");
        let expected = json!({
            "keda_scaler_active": { "type": "gauge", "labels": "metric, namespace" },
            "keda_errors_total": { "type": "counter", "labels": "a, namespace" },
            "keda_wait_seconds": { "type": "histogram", "labels": "code" },
        });
        assert_eq!(collected.metrics(), expected);
    }

    #[test]
    fn what_was_collected_can_be_read_again() {
        let mut collected = Collected::default();
        collected.add(TEXT, "n");
        let text = collected.to_string();
        assert!(!text.contains("other") && !text.contains("go_threads"), "{text}");
        let mut again = Collected::default();
        again.add(&text, "");
        assert_eq!(again.to_string(), text);
    }
}
