use super::*;
use crate::NoCluster;
use crate::Registry;
use crate::damaged::Damage;
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::recorded_server::{Recording, http_answer};
use crate::sample::Sample;
use crate::trigger::Role;

fn expression() -> Sample {
    Sample::new("aws-cloudwatch")
        .with("expression", "SELECT SUM(depth) FROM shop")
        .with("targetMetricValue", "2.5")
        .with("minMetricValue", "0")
        .with("awsRegion", "eu-west-1")
        .auth("awsAccessKeyID", "A")
        .auth("awsSecretAccessKey", "hunter2")
}

fn metric() -> Sample {
    expression()
        .without("expression")
        .with("namespace", "AWS/SQS")
        .with("metricName", "ApproximateNumberOfMessagesVisible")
        .with("dimensionName", "QueueName;Tier")
        .with("dimensionValue", "orders; a")
}

fn registry() -> Registry {
    Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
}

#[test]
fn every_error_is_named_in_one_go() {
    let rows: [(&str, Sample, &[&str]); 20] = [
        ("a metric", metric(), &[]),
        ("an expression", expression(), &[]),
        (
            "beside an expression, nothing else is checked",
            expression().with("metricUnit", "x").with("dimensionName", "a;b"),
            &[],
        ),
        ("a unit", metric().with("metricUnit", "Count/Second"), &[]),
        (
            "another unit",
            metric().with("metricUnit", "counts"),
            &["`metricUnit` \"counts\" is not among the allowed values"],
        ),
        (
            "nothing to ask for",
            expression().without("expression"),
            &["`namespace` is missing", "`metricName`", "`dimensionName`", "`dimensionValue`"],
        ),
        (
            "two names and one value",
            metric().with("dimensionValue", "orders"),
            &["`dimensionValue` has 1 entries, and `dimensionName` has 2"],
        ),
        ("no target", metric().without("targetMetricValue"), &["no targetMetricValue given in metadata"]),
        (
            "a target of zero",
            metric().with("targetMetricValue", "0"),
            &["`targetMetricValue` is absent or not above 0"],
        ),
        ("no minimum", metric().without("minMetricValue"), &["`minMetricValue` is missing"]),
        ("a minimum below zero", metric().with("minMetricValue", "-1.5"), &[]),
        (
            "a period of 45 seconds",
            metric().with("metricStatPeriod", "45"),
            &["`metricStatPeriod` \"45\" is not a period of CloudWatch; use 1, 5, 10, 30"],
        ),
        ("a period of 90 seconds", metric().with("metricStatPeriod", "90"), &["`metricStatPeriod` \"90\""]),
        ("a period of 0", metric().with("metricStatPeriod", "0"), &["`metricStatPeriod` \"0\""]),
        (
            "a period longer than the window",
            metric().with("metricStatPeriod", "600"),
            &["`metricCollectionTime` 300 is not a multiple of `metricStatPeriod`; use 600"],
        ),
        ("no window", metric().with("metricCollectionTime", "0"), &["`metricCollectionTime` 0 is not a multiple"]),
        (
            "a window with a fraction",
            metric().with("metricCollectionTime", "1.5"),
            &["`metricCollectionTime` \"1.5\" is not an integer"],
        ),
        ("an offset that is none", metric().with("metricEndTimeOffset", "5m"), &["`metricEndTimeOffset`"]),
        ("no region", metric().without("awsRegion"), &["`awsRegion` is missing"]),
        (
            "all at once",
            expression().with("minMetricValue", "x").with("ignoreNullValues", "x").without("awsRegion"),
            &["`minMetricValue`", "`ignoreNullValues`", "`awsRegion`"],
        ),
    ];
    for (name, sample, expected) in rows {
        let text = registry().build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        assert!(expected.iter().all(|part| text.contains(part)) && !text.contains("hunter2"), "{name}: {text}");
    }
}

#[tokio::test]
async fn the_metric_has_kedas_name_and_a_target_of_thousandths() {
    for (sample, expected) in [
        (metric(), ("s0-aws-cloudwatch", "2.500")),
        (expression().index(3).with("targetMetricValue", "7"), ("s3-aws-cloudwatch", "7")),
        (expression().without("targetMetricValue").role(Role::FormulaInput), ("s0-aws-cloudwatch", "1")),
    ] {
        let scaler = registry().build(&sample.trigger()).unwrap();
        let external = scaler.describe().await.unwrap().remove(0).external.unwrap();
        assert_eq!((external.metric.name.as_str(), external.target.average_value.unwrap().0.as_str()), expected);
    }
    let signed = registry().build(&metric().trigger()).unwrap();
    assert_eq!(signed.host().as_deref(), Some("monitoring.eu-west-1.amazonaws.com"));
    assert!(!format!("{signed:?}").contains("hunter2"));
}

/// As moto 5.2.5 answers.
fn recorded(values: &str) -> String {
    format!(
        "{{\"MetricDataResults\": [{{\"Id\": \"c1\", \"Label\": \"depth Average\", \"Timestamps\": [1795052774], \"Values\": [{values}], \"StatusCode\": \"Complete\"}}]}}"
    )
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let sample = metric().with("awsEndpoint", "http://cloudwatch").with("minMetricValue", "3");
    Recording::http([recorded("12.0")]).value_bytes(b"12.0").assert_no_outage_is_a_number(&sample, 12.0).await;
    Recording::http([recorded("")]).assert_no_outage_is_a_number(&sample, 3.0).await;
    for status in ["400 Bad Request", "403 Forbidden", "500 Internal Server Error", "204 No Content"] {
        let refused = Recording::new([http_answer(status, &recorded("12.0"))]).read(&sample, Damage::None).await;
        assert!(refused.is_err(), "{status}: {refused:?}");
    }
}

#[tokio::test]
async fn refusals_are_in_the_words_of_the_service() {
    let words = r#"{"__type": "GraniteServiceVersion20100801#ValidationException", "message": "The parameter EndTime must be greater than StartTime."}"#;
    let sample = metric().with("awsEndpoint", "http://cloudwatch");
    let refused = Recording::new([http_answer("400 Bad Request", words)]).read(&sample, Damage::None).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("ValidationException: The parameter EndTime must be greater"), "{text}");
}
