//! `docs/reference/metrics.md`: every metric that the operator and the webhooks export, from their definitions.

use std::fmt::Write as _;

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
    page.push_str(&table("The operator", &kedge_operator::Telemetry::new("").collectors()));
    page.push_str(&table("The webhooks", &kedge_webhooks::telemetry::Telemetry::default().collectors()));
    page
}

fn table(title: &str, collectors: &[&dyn Collector]) -> String {
    let mut text = format!("\n## {title}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for collector in collectors {
        let metric_type = collector.collect().first().map_or("", |family| match family.get_field_type() {
            MetricType::COUNTER => "counter",
            MetricType::GAUGE => "gauge",
            MetricType::HISTOGRAM => "histogram",
            _ => "other",
        });
        for description in collector.desc() {
            let labels: Vec<String> = description.variable_labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, labels) = (&description.fq_name, labels.join(", "));
            let _ = writeln!(text, "| `{name}` | {metric_type} | {labels} | {} |", description.help);
        }
    }
    text
}
