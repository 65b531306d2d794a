use super::*;
use crate::cluster::NoCluster;
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::sample::Sample;
use crate::scaler::Scaler;
use crate::trigger::Role;

fn shared() -> Shared {
    Shared::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
}

fn sample() -> Sample {
    Sample::new("metrics-api")
        .with("url", "http://user:hunter2@api.shop/queue?token=hunter2")
        .with("valueLocation", "queue.depth")
        .with("targetValue", "5")
}

async fn metric(sample: &Sample) -> (String, String) {
    let scaler = build(&sample.trigger(), &shared()).unwrap();
    let spec = scaler.describe().await.unwrap().remove(0).external.unwrap();
    (spec.metric.name, spec.target.average_value.unwrap().0)
}

#[tokio::test]
async fn the_metric_is_named_after_the_location() {
    let pair = |name: &str, target: &str| (name.to_owned(), target.to_owned());
    assert_eq!(metric(&sample()).await, pair("s0-metric-api-queue-depth", "5"));
    let series = sample().index(3).with("format", "prometheus").with("valueLocation", "up{job=\"a/b\"}");
    assert_eq!(metric(&series.with("targetValue", "2.5")).await, pair("s3-metric-api-up{job=\"a-b\"}", "2.500"));
    let input = sample().without("targetValue").role(Role::FormulaInput);
    assert_eq!(metric(&input).await, pair("s0-metric-api-queue-depth", "1"));
}

#[test]
fn invalid_fields_are_named_and_nothing_of_the_url_is_shown() {
    let at = |url: &str| sample().with("url", url);
    let rows = [
        ("no url", sample().without("url"), "`url` is missing"),
        ("not a url", at("hunter2.shop/x"), "`url` does not begin with http:// or https://"),
        ("no location", sample().without("valueLocation"), "`valueLocation` is missing"),
        ("not a path", sample().with("valueLocation", "a.@keys"), "`valueLocation` \"a.@keys\" has the modifier @keys"),
        (
            "not a selector",
            sample().with("format", "prometheus").with("valueLocation", "sum(a)"),
            "`valueLocation` \"sum(a)\" is not a metric selector",
        ),
        ("no target", sample().without("targetValue"), "no targetValue given in metadata"),
        ("a target of zero", sample().with("targetValue", "0"), "no targetValue given in metadata"),
        ("xml", sample().with("format", "xml"), "`format` \"xml\" cannot be read"),
        ("another format", sample().with("format", "toml"), "`format` \"toml\" is not among"),
        ("another aggregation", sample().with("aggregationType", "median"), "`aggregationType` \"median\""),
        (
            "no Service",
            at("http://hunter2/x").with("aggregateFromKubeServiceEndpoints", "true"),
            "`url` does not name a Service",
        ),
        ("no key", sample().with("authModes", "apiKey"), "`apiKey` is missing"),
        ("an odd key", sample().with("authModes", "apiKey").auth("apiKey", "hunter2\n3"), "`apiKey` has characters"),
        ("bearer and basic", sample().with("authModes", "basic,bearer"), "keep at most one of bearer, basic"),
        ("metricType", sample().metric_type("Utilization"), "`metricType`"),
    ];
    for (name, sample, expected) in rows {
        let error = build(&sample.trigger(), &shared()).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{name}: {error}");
    }
}

#[test]
fn credentials_do_not_show_themselves() {
    let keyed = sample().with("authModes", "apiKey,basic").with("method", "query");
    let keyed = keyed.auth("apiKey", "hunter2").auth("username", "hunter2").auth("password", "hunter2");
    let scaler = build(&keyed.trigger(), &shared()).unwrap();
    assert!(!format!("{scaler:?}").contains("hunter2"), "{scaler:?}");
}
