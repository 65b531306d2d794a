//! `docs/reference/metrics.md`: every metric that the operator and the webhooks export, from their definitions.

use std::fmt::Display;

use kedge_operator::telemetry::{Family, Telemetry};
use prometheus::core::Collector;
use prometheus::proto::MetricType;

const OPENING: &str = "\
# Metrics

<!-- Written by `cargo xtask generate`. -->

The operator and the webhooks export these metrics in the text format of Prometheus. Names and labels are KEDA's, so that its dashboards
and alerts work unchanged.
";

/// `docs/reference/metrics.md`.
pub(super) fn render() -> String {
    let mut page = OPENING.to_owned();
    page.push_str(&heading("The operator"));
    for Family { name, help, metric_type, labels } in Telemetry::families() {
        page.push_str(&row(name, metric_type.name(), labels.iter(), help));
    }
    page.push_str(&rows(&Telemetry::new("").collectors()));
    page.push_str(&heading("The webhooks"));
    page.push_str(&rows(&kedge_webhooks::telemetry::Telemetry::default().collectors()));
    page
}

fn heading(title: &str) -> String {
    format!("\n## {title}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
}

fn row(name: &str, metric_type: &str, labels: impl Iterator<Item = impl Display>, help: &str) -> String {
    let labels: Vec<String> = labels.map(|label| format!("`{label}`")).collect();
    format!("| `{name}` | {metric_type} | {} | {help} |\n", labels.join(", "))
}

fn rows(collectors: &[&dyn Collector]) -> String {
    let mut text = String::new();
    for collector in collectors {
        let metric_type = collector.collect().first().map_or("", |family| match family.get_field_type() {
            MetricType::COUNTER => "counter",
            MetricType::GAUGE => "gauge",
            MetricType::HISTOGRAM => "histogram",
            _ => "other",
        });
        for description in collector.desc() {
            let labels = description.variable_labels.iter();
            text.push_str(&row(&description.fq_name, metric_type, labels, &description.help));
        }
    }
    text
}
