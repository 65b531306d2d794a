//! The result as a table: ratios first, then medians, with the smallest and the largest value.

use super::contender::Contender;
use super::measure::{Bar, Measure};
use super::results::{Results, median};

pub(super) fn render(results: &Results) -> String {
    let contenders = results.contenders();
    let names: Vec<String> = contenders.iter().map(Contender::to_string).collect();
    let mut lines = vec![
        format!("{} ScaledObjects in {} namespaces.", results.objects, results.namespaces),
        String::new(),
        format!("| what | ratio | bar | {} |", names.join(" | ")),
        format!("|---|---:|---:|{}", "---:|".repeat(names.len())),
    ];
    for measure in Measure::ALL {
        let (what, unit) = measure.describe();
        let cell = |contender: &Contender| spread(&results.values(*contender, measure));
        let cells: Vec<String> = contenders.iter().map(cell).collect();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        let ratio = ratio(results, measure);
        let shown = ratio.map_or_else(|| "–".to_owned(), |ratio| format!("**{ratio:.1}×**"));
        let kedge = results.median(Contender::Kedge, measure);
        let bar = measure.bar().map(|bar| describe_bar(bar, ratio, kedge)).unwrap_or_default();
        lines.push(format!("| {what} ({unit}) | {shown} | {bar} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}

/// How many times better Kedge is, where both were measured.
pub(super) fn ratio(results: &Results, measure: Measure) -> Option<f64> {
    let keda = results.median(Contender::Keda, measure)?;
    let kedge = results.median(Contender::Kedge, measure)?;
    let (worse, better) = if measure.is_rate() { (kedge, keda) } else { (keda, kedge) };
    (better > 0.0).then(|| worse / better)
}

/// The bar, and whether it is met.
fn describe_bar(bar: Bar, ratio: Option<f64>, kedge: Option<f64>) -> String {
    let (Some(ratio), Some(kedge)) = (ratio, kedge) else { return String::new() };
    let is_met = ratio >= bar.ratio && bar.limit.is_none_or(|limit| kedge <= limit);
    let limit = bar.limit.map(|limit| format!(", ≤ {limit}")).unwrap_or_default();
    format!("{}×{limit}: {}", bar.ratio, if is_met { "met" } else { "missed" })
}

fn spread(values: &[f64]) -> String {
    match (median(values), values) {
        (Some(median), [_]) => number(median),
        (Some(median), [smallest, .., largest]) => {
            format!("{} ({}–{})", number(median), number(*smallest), number(*largest))
        }
        _ => String::new(),
    }
}

pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_means_that_kedge_is_better() {
        let ratio = |measure, keda, kedge| super::ratio(&Results::of(measure, keda, kedge), measure);
        assert_eq!(ratio(Measure::Memory, 120.0, 10.0), Some(12.0));
        assert_eq!(ratio(Measure::ReadRate, 100.0, 800.0), Some(8.0));
        assert_eq!(ratio(Measure::Writes, 5.0, 0.0), None);
    }

    #[test]
    fn a_bar_is_met_by_the_ratio_and_the_limit() {
        let bar = Bar { ratio: 12.0, limit: Some(30.0) };
        assert_eq!(describe_bar(bar, Some(12.0), Some(30.0)), "12×, ≤ 30: met");
        assert_eq!(describe_bar(bar, Some(11.9), Some(29.0)), "12×, ≤ 30: missed");
        assert_eq!(describe_bar(bar, Some(13.0), Some(30.1)), "12×, ≤ 30: missed");
        assert_eq!(describe_bar(bar, None, Some(1.0)), "", "KEDA was not measured");
    }

    #[test]
    fn the_median_is_shown_with_the_smallest_and_the_largest() {
        assert_eq!(spread(&[0.25]), "0.250");
        assert_eq!(spread(&[1.0, 2.0]), "1.5 (1.0–2.0)");
        assert_eq!(spread(&[1.0, 2.5, 120.0]), "2.5 (1.0–120)");
        assert_eq!(spread(&[]), "");
    }
}
