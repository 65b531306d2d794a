//! What the metrics APIs answer for each entry of `spec.metrics`.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::autoscaling::v2::{ExternalMetricSource, MetricSpec};
use kedge_core::hpa::model::defaults::fill_defaults;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::reconcile::HpaSnapshot;
use kedge_core::hpa::model::samples::{ContainerUsage, PodSamples, PodUsage, sample_container, sample_pods};
use kedge_core::milli::Milli;
use kedge_core::quantity::Quantity;
use serde_json::{Value, json};

use super::request::{get, segment, selecting};
use crate::api::labels;
use crate::controllers::client::ControllerClient;

/// Asks for every entry, one after another. `selector` is that of the target's pods.
pub(super) async fn read(client: &ControllerClient, subject: HpaSnapshot<'_>, selector: &str) -> Vec<MetricReading> {
    let mut readings = Vec::new();
    for metric in fill_defaults(subject.spec).metrics.unwrap_or_default() {
        readings.push(read_one(client, subject.namespace, selector, &metric).await);
    }
    readings
}

async fn read_one(client: &ControllerClient, namespace: &str, selector: &str, metric: &MetricSpec) -> MetricReading {
    match metric {
        MetricSpec { external: Some(source), .. } => MetricReading::Series(external(client, namespace, source).await),
        MetricSpec { resource: Some(source), .. } => {
            let usages = usages(client, namespace, selector).await;
            MetricReading::Pods(usages.map(|usages| sample_pods(&usages, &source.name)))
        }
        MetricSpec { container_resource: Some(source), .. } => {
            let usages = usages(client, namespace, selector).await;
            MetricReading::Pods(usages.map(|usages| sample_container(&usages, &source.name, &source.container)))
        }
        MetricSpec { object: Some(_), .. } => MetricReading::Object(no_custom_metrics()),
        _ => MetricReading::Pods(no_custom_metrics::<PodSamples>()),
    }
}

async fn external(
    client: &ControllerClient,
    namespace: &str,
    source: &ExternalMetricSource,
) -> Result<Vec<Milli>, String> {
    let name = &source.metric.name;
    let query = source.metric.selector.as_ref().map(|selector| labels::text(&json!(selector))).unwrap_or_default();
    // HPA: the client turns the name into lower case.
    let resource = segment(&name.to_lowercase());
    let base = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{resource}");
    let answer = get(client, &format!("{base}{}", selecting(&query)), &format!("{name}.external.metrics.k8s.io")).await;
    let amounts = answer.and_then(|list| items(&list).iter().map(|item| amount(&item["value"])).collect());
    amounts.map_err(|error| format!("unable to fetch metrics from external metrics API: {error}"))
}

async fn usages(client: &ControllerClient, namespace: &str, selector: &str) -> Result<Vec<PodUsage>, String> {
    let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods{}", selecting(selector));
    let usages = get(client, &path, "pods.metrics.k8s.io").await;
    let usages = usages.and_then(|list| items(&list).iter().map(usage).collect::<Result<Vec<_>, _>>());
    let usages = usages.map_err(|error| format!("unable to fetch metrics from resource metrics API: {error}"))?;
    if usages.is_empty() { Err("no metrics returned from resource metrics API".to_owned()) } else { Ok(usages) }
}

fn no_custom_metrics<T>() -> Result<T, String> {
    let because = "no custom metrics API (custom.metrics.k8s.io) registered";
    Err(format!("unable to fetch metrics from custom metrics API: {because}"))
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn amount(value: &Value) -> Result<Milli, String> {
    // A quantity may be written as a number.
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Quantity::parse(&text).map(|quantity| Milli(quantity.milli_value())).map_err(|error| error.to_string())
}

fn usage(item: &Value) -> Result<PodUsage, String> {
    let measured_at = item["timestamp"].as_str().and_then(|text| text.parse::<DateTime<Utc>>().ok());
    let containers = item["containers"].as_array().into_iter().flatten().map(container_usage);
    Ok(PodUsage {
        pod: item["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        measured_at: measured_at.unwrap_or(DateTime::<Utc>::MIN_UTC),
        window: item["window"].as_str().and_then(parse_go_duration).unwrap_or_default(),
        containers: containers.collect::<Result<_, _>>()?,
    })
}

fn container_usage(item: &Value) -> Result<ContainerUsage, String> {
    let usage = item["usage"].as_object().into_iter().flatten();
    let usage = usage.map(|(resource, value)| Ok((resource.clone(), amount(value)?)));
    let usage = usage.collect::<Result<BTreeMap<_, _>, String>>()?;
    Ok(ContainerUsage { name: item["name"].as_str().unwrap_or_default().to_owned(), usage })
}

/// A duration as Go writes it: `10.5s`, `1m0s`, `500ms`.
fn parse_go_duration(text: &str) -> Option<TimeDelta> {
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(unit_at);
        let unit_ends = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_ends);
        let unit = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = tail;
    }
    Some(TimeDelta::nanoseconds((seconds * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        let rows =
            [("10.5s", Some(10_500)), ("1m0s", Some(60_000)), ("1h0m2s", Some(3_602_000)), ("5", None), ("1x", None)];
        for (text, millis) in rows {
            assert_eq!(parse_go_duration(text), millis.map(TimeDelta::milliseconds), "{text}");
        }
    }

    #[test]
    fn usages_are_read_as_metrics_servers_write_them() {
        let item = json!({
            "metadata": { "name": "web-0" }, "timestamp": "2026-01-01T00:00:30Z", "window": "15s",
            "containers": [{ "name": "main", "usage": { "cpu": "250m", "memory": "1Ki" } }],
        });
        let usage = usage(&item).unwrap();
        assert_eq!((usage.pod.as_str(), usage.window), ("web-0", TimeDelta::seconds(15)));
        assert_eq!(usage.containers[0].usage["cpu"], Milli(250));
        assert_eq!(usage.containers[0].usage["memory"], Milli(1_024_000));
    }
}
