//! What tests of rotated passwords share: the failures that the operator shows.

use kedge_tests::namespace::TestNamespace;

use super::running;

/// The failed readings of each ScaledObject in a namespace, as the operator's own metrics count them, and the events on failures.
pub(super) async fn failures(namespace: &TestNamespace<'_>) -> Vec<String> {
    let metrics = running().await.1.metrics().await.unwrap();
    let label = format!("namespace=\"{}\"", namespace.name);
    let counts =
        metrics.lines().filter(|line| line.starts_with("keda_scaled_object_errors_total{") && line.contains(&label));
    let mut failures: Vec<String> = counts.map(str::to_owned).collect();
    assert!(!failures.is_empty(), "no failures are counted in {}", namespace.name);
    failures.sort();
    failures.extend(namespace.events("KEDAScalerFailed"));
    failures
}
