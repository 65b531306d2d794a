//! The dashboards, drawn by a real Prometheus from the metrics that KEDA exported.

use kedge_test_cluster::Prometheus;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::exposition::Exposition;
use kedge_tests::files;
use serde_json::Value;

#[tokio::test]
async fn every_panel_has_data_with_the_metrics_of_keda() {
    let recorded = files::workspace().join("tests/parity/keda/golden/telemetry/metrics.txt");
    let source = Exposition::start_with(files::read(&recorded)).await.unwrap();
    let prometheus = Prometheus::start("dashboards", &[source.address()]).await.unwrap();
    let expressions = expressions();
    assert!(expressions.len() > 5, "{expressions:?}");
    for expression in expressions {
        wait_for(&format!("data for {expression}"), DEADLINE, async || {
            let answer = prometheus.query(&expression).await.unwrap();
            match answer["data"]["result"].as_array() {
                Some(result) if !result.is_empty() => Ok(()),
                _ => Err(answer),
            }
        })
        .await
        .unwrap();
    }
}

/// What all panels and variables of all dashboards query, with every variable set to "All".
fn expressions() -> Vec<String> {
    let mut expressions = Vec::new();
    for file in files::list(&files::workspace().join("config/dashboards"), "json") {
        let dashboard: Value = serde_json::from_str(&files::read(&file)).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            let targets = panel["targets"].as_array().into_iter().flatten();
            expressions.extend(targets.map(|target| target["expr"].as_str().unwrap().to_owned()));
        }
        let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
        expressions.extend(variables.filter_map(|variable| values_of(variable["query"].as_str()?)));
    }
    // Where a panel shows 0 in place of nothing, the metric itself is to have data.
    let plain = |expression: &String| expression.trim_end_matches(" or vector(0)").replace("> 0", ">= 0");
    expressions.iter().map(plain).map(|text| text.replace("$namespace", ".*").replace("$scaledObject", ".*")).collect()
}

/// The series in `label_values(SERIES, LABEL)`.
fn values_of(query: &str) -> Option<String> {
    let (series, _) = query.strip_prefix("label_values(")?.rsplit_once(',')?;
    Some(series.to_owned())
}
