//! Values as the HPA's client reads them.

use std::collections::BTreeMap;

use chrono::SecondsFormat;
use serde::Serialize;

use crate::group::{GROUP_VERSION, LIST_KIND};
use crate::source::MetricValue;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValueList {
    kind: &'static str,
    api_version: &'static str,
    metadata: BTreeMap<String, String>,
    items: Vec<Item>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    metric_name: String,
    // KEDA: no labels are null, not an empty object.
    metric_labels: (),
    timestamp: String,
    value: String,
}

pub(crate) fn render_values(values: Vec<MetricValue>) -> ValueList {
    let item = |value: MetricValue| Item {
        metric_name: value.name,
        metric_labels: (),
        timestamp: value.at.to_rfc3339_opts(SecondsFormat::Secs, true),
        value: value.value,
    };
    ValueList {
        kind: LIST_KIND,
        api_version: GROUP_VERSION,
        metadata: BTreeMap::new(),
        items: values.into_iter().map(item).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_shape_that_clients_know() {
        let at = "2024-05-01T10:00:00.987654Z".parse().expect("a time");
        let value = |text: &str| MetricValue { name: "queue-depth".to_owned(), value: text.to_owned(), at };
        let text = serde_json::to_string(&render_values(vec![value("1500m"), value("12")])).expect("JSON");
        let expected = concat!(
            r#"{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},"items":["#,
            r#"{"metricName":"queue-depth","metricLabels":null,"timestamp":"2024-05-01T10:00:00Z","value":"1500m"},"#,
            r#"{"metricName":"queue-depth","metricLabels":null,"timestamp":"2024-05-01T10:00:00Z","value":"12"}]}"#,
        );
        assert_eq!(text, expected);
    }
}
