//! `cron`: a number of replicas between a start and an end. `kedge_core::cron` computes when that is.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::cron::{CronError, Schedule, Window, metric_base, parse_zone};
use kedge_core::trigger_class::TriggerClass;

use crate::error::ReadError;
use crate::field::{Field, FieldGroup};
use crate::metadata::Reader;
use crate::metadata::convert::{self, ConversionError, Converted};
use crate::metric_name;
use crate::scaler::{Activity, BoxFuture, Known, Scaler};
use crate::target::{External, TargetType};
use crate::trigger::{BuildError, FieldError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "cron",
    keda_scaler: "cronScaler",
    class: TriggerClass::Schedule,
    help: "the time of day",
    docs_page: "cron.md",
    groups: &[FieldGroup { title: "Parameters", fields: &[TIMEZONE, START, END, DESIRED_REPLICAS] }],
    other_parameters: OtherParameters::Ignored,
    activation: None,
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |_, trigger| Ok(Arc::new(build(trigger)?)),
};

const TIMEZONE: Field =
    Field::required("timezone").help("The time zone of both schedules, by its IANA name: `Europe/Berlin`");
const START: Field = Field::required("start").help("The cron expression of the moment when the window opens");
const END: Field = Field::required("end").help("The cron expression of the moment when it closes");
const DESIRED_REPLICAS: Field =
    Field::required("desiredReplicas").help("How many replicas there are inside the window; 0 counts as missing");

/// A window of time, and the replicas wanted in it.
#[derive(Debug)]
pub(crate) struct CronScaler {
    window: Window,
    desired: f64,
    metric: External,
}

/// An expression with the text it was read from: the text names the metric.
struct Written {
    text: String,
    schedule: Schedule,
}

fn build(trigger: &TriggerConfig<'_>) -> Result<CronScaler, BuildError> {
    let mut read = Reader::new(trigger);
    // KEDA looks the zone up at each reading; here an unknown zone is an error of the manifest.
    let zone = read.required(TIMEZONE, |name| parse_zone(name).map(|zone| (name.to_owned(), zone)).map_err(explain));
    let start = read.required(START, parse_schedule);
    let end = read.required(END, parse_schedule);
    if let (Some(start), Some(end)) = (&start, &end)
        && start.text == end.text
    {
        read.error(FieldError::new(
            "end",
            "is the same as `start`",
            "let the window end at another time than it starts",
        ));
    }
    let desired = read.required(DESIRED_REPLICAS, parse_replicas);
    let target_type = read.take(TargetType::parse(trigger));
    let made = (|| {
        let ((zone_name, zone), start, end) = (zone?, start?, end?);
        let name = metric_name::full_name(trigger.index, &metric_base(&zone_name, &start.text, &end.text));
        let window = Window { start: start.schedule, end: end.schedule, zone };
        Some(CronScaler { window, desired: desired?, metric: External::one_each(name, target_type?) })
    })();
    read.finish(made)
}

fn parse_schedule(text: &str) -> Converted<Written> {
    Schedule::parse(text).map(|schedule| Written { text: text.to_owned(), schedule }).map_err(explain)
}

/// Below zero is accepted: it is published as 0.
fn parse_replicas(text: &str) -> Converted<f64> {
    match convert::integer(text)? {
        // KEDA: does not distinguish 0 from nothing, and rejects both.
        0 => Err(ConversionError::new("counts as missing", "write how many replicas the window wants, other than 0")),
        replicas => Ok(replicas as f64),
    }
}

/// Some of these messages contain a remedy.
fn explain(error: CronError) -> ConversionError {
    let text = error.to_string();
    let (problem, remedy) = text
        .split_once("; ")
        .unwrap_or((&text, "write minute, hour, day of month, month, day of week (0 is Sunday), as in 0 8 * * 1-5"));
    ConversionError::new(format!("cannot be used: {problem}"), remedy)
}

impl CronScaler {
    fn at(&self, now: DateTime<Utc>) -> Known {
        match self.window.is_open(now) {
            true => Known { values: vec![self.desired], activity: Activity::Active },
            false => Known { values: vec![0.0], activity: Activity::Inactive },
        }
    }
}

impl Scaler for CronScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(vec![self.metric.spec()]) })
    }

    fn read<'a>(&'a self, _metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async move { Ok(self.at(now)) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::Sample;

    fn office_hours() -> Sample {
        Sample::new("cron")
            .with("timezone", "Asia/Kolkata")
            .with("start", "0 8 * * *")
            .with("end", "0 18 * * *")
            .with("desiredReplicas", "5")
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn the_window_has_its_replicas_and_the_rest_of_the_day_none() {
        let rows = [
            ("a moment before it opens", "2025-06-11T02:29:59.999Z", 0.0, Activity::Inactive),
            ("the start is inside", "2025-06-11T02:30:00Z", 5.0, Activity::Active),
            ("the last second", "2025-06-11T12:29:59Z", 5.0, Activity::Active),
            ("the end is outside", "2025-06-11T12:30:00Z", 0.0, Activity::Inactive),
        ];
        let scaler = build(&office_hours().trigger()).unwrap();
        for (name, now, value, activity) in rows {
            assert_eq!(scaler.at(at(now)), Known { values: vec![value], activity }, "{name}");
        }
    }

    #[test]
    fn negative_replicas_are_accepted_and_published_as_none() {
        let scaler = build(&office_hours().with("desiredReplicas", "-3").trigger()).unwrap();
        let known = scaler.at(at("2025-06-11T07:30:00Z"));
        assert_eq!(known.activity, Activity::Active);
        assert_eq!(kedge_core::quantity::format_float(known.values[0]), "0");
    }

    #[test]
    fn an_expression_can_bring_its_own_zone() {
        let scaler = build(&office_hours().with("start", "TZ=UTC 0 8 * * *").trigger()).unwrap();
        assert_eq!(scaler.at(at("2025-06-11T07:59:00Z")).activity, Activity::Inactive);
        assert_eq!(scaler.at(at("2025-06-11T08:01:00Z")).activity, Activity::Active);
    }

    #[tokio::test]
    async fn its_metric_is_named_after_zone_and_times_with_one_as_target() {
        let sample = office_hours().index(1).with("timezone", "Etc/UTC").with("start", " 0 */2 * * * ");
        let scaler = build(&sample.with("end", "0 1-23/2 * * *").trigger()).unwrap();
        let specs = serde_json::to_value(scaler.describe().await.unwrap()).unwrap();
        assert_eq!(
            specs,
            json!([{"type": "External", "external": {
                "metric": {"name": "s1-cron-Etc-UTC-0xSl2xxx-01-23Sl2xxx"},
                "target": {"type": "AverageValue", "averageValue": "1"}}}])
        );
    }

    #[test]
    fn metric_types_are_those_of_external_metrics() {
        let target = |sample: Sample| build(&sample.trigger()).map(|scaler| scaler.metric.target_type);
        assert_eq!(target(office_hours()), Ok(TargetType::AverageValue));
        assert_eq!(target(office_hours().metric_type("")), Ok(TargetType::AverageValue));
        assert_eq!(target(office_hours().metric_type("Value")), Ok(TargetType::Value));
        let error = target(office_hours().metric_type("Utilization")).unwrap_err().to_string();
        let words = "'Utilization' metric type is unsupported for external metrics, allowed values are 'Value' or 'AverageValue'";
        assert!(error.contains(words), "{error}");
        assert!(target(office_hours().metric_type("value")).is_err());
    }

    #[test]
    fn errors_are_found_when_it_is_built() {
        let rows: [(&str, Sample, &[&str]); 9] = [
            ("an unknown zone", office_hours().with("timezone", "Mars/Olympus"), &["`timezone` \"Mars/Olympus\""]),
            ("Sunday is not 7", office_hours().with("start", "0 9 * * 7"), &["`start` \"0 9 * * 7\" cannot be used"]),
            ("six fields", office_hours().with("end", "0 0 9 * * 1"), &["`end`", "five fields"]),
            ("a descriptor", office_hours().with("start", "@daily"), &["`start`"]),
            ("same text", office_hours().with("end", " 0 8 * * * "), &["`end` is the same as `start`"]),
            (
                "no replicas",
                office_hours().with("desiredReplicas", "0"),
                &["`desiredReplicas` \"0\" counts as missing"],
            ),
            ("half a replica", office_hours().with("desiredReplicas", "1.5"), &["is not an integer"]),
            ("a zone in front that is unknown", office_hours().with("start", "TZ=Nowhere 0 8 * * *"), &["Nowhere"]),
            (
                "everything at once",
                Sample::new("cron").with("start", "x").metric_type("Utilization"),
                &["`timezone` is", "`start` \"x\"", "`end` is", "`desiredReplicas` is", "`metricType`"],
            ),
        ];
        for (name, sample, expected) in rows {
            let text = build(&sample.trigger()).unwrap_err().to_string();
            for part in expected {
                assert!(text.contains(part), "{name}: {text}");
            }
        }
    }

    #[test]
    fn different_texts_of_one_schedule_are_accepted() {
        let scaler = build(&office_hours().with("end", "00 8 * * *").trigger()).unwrap();
        assert_eq!(scaler.at(at("2025-06-11T12:00:00Z")).activity, Activity::Active);
    }
}
