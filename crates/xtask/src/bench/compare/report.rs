//! The result as a table: ratios first, then medians, with the smallest and the largest value.

use super::contender::Contender;
use super::measure::Measure;
use super::results::Results;

pub(super) fn render(results: &Results) -> String {
    let contenders = results.contenders();
    let names: Vec<String> = contenders.iter().map(Contender::to_string).collect();
    let mut lines = vec![
        format!("{} ScaledObjects in {} namespaces.", results.objects, results.namespaces),
        String::new(),
        format!("| what | ratio | {} |", names.join(" | ")),
        format!("|---|---:|{}", "---:|".repeat(names.len())),
    ];
    for measure in Measure::ALL {
        let (what, unit) = measure.describe();
        let cell = |contender: &Contender| spread(&results.values(*contender, measure));
        let cells: Vec<String> = contenders.iter().map(cell).collect();
        let medians = [Contender::Keda, Contender::Kedge].map(|contender| median(&results.values(contender, measure)));
        lines.push(format!("| {what} ({unit}) | {} | {} |", ratio(measure, medians), cells.join(" | ")));
    }
    lines.join("\n")
}

/// How many times better Kedge is.
fn ratio(measure: Measure, [keda, kedge]: [Option<f64>; 2]) -> String {
    let (Some(keda), Some(kedge)) = (keda, kedge) else { return String::new() };
    let (worse, better) = if measure.is_rate() { (kedge, keda) } else { (keda, kedge) };
    if better > 0.0 { format!("**{:.1}×**", worse / better) } else { "–".to_owned() }
}

/// The middle one of sorted values.
fn median(values: &[f64]) -> Option<f64> {
    values.get(values.len().checked_sub(1)? / 2).copied()
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

fn number(value: f64) -> String {
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
        assert_eq!(ratio(Measure::Memory, [Some(120.0), Some(10.0)]), "**12.0×**");
        assert_eq!(ratio(Measure::ReadRate, [Some(100.0), Some(800.0)]), "**8.0×**");
        assert_eq!(ratio(Measure::Writes, [Some(5.0), Some(0.0)]), "–");
    }

    #[test]
    fn the_median_is_shown_with_the_smallest_and_the_largest() {
        assert_eq!(spread(&[0.25]), "0.250");
        assert_eq!(spread(&[1.0, 2.5, 120.0]), "2.5 (1.0–120)");
        assert_eq!(spread(&[]), "");
    }
}
