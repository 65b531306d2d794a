//! The result as a picture: for each measure one bar of KEDA and one of Kedge.

use std::fmt::Write as _;

use super::contender::Contender;
use super::measure::Measure;
use super::report::{number, ratio};
use super::results::Results;

/// The measures of which less is better, and which a bar can show.
const MEASURES: [Measure; 8] = [
    Measure::IdleMemory,
    Measure::Memory,
    Measure::Cpu,
    Measure::ApplyToHpas,
    Measure::ReadMedian,
    Measure::ReadCpu,
    Measure::Activation,
    Measure::Restart,
];

const CONTENDERS: [(Contender, &str); 2] = [(Contender::Keda, "#8c959f"), (Contender::Kedge, "#1f6feb")];

const WIDTH: f64 = 900.0;
const MARGIN: f64 = 20.0;
const BAR_HEIGHT: f64 = 18.0;
const GROUP_HEIGHT: f64 = 72.0;

/// The longest bar: the rest is for its text.
const BAR_WIDTH_MAX: f64 = 700.0;

/// An SVG document. The longest bar of each measure has the full width.
pub(super) fn render(results: &Results) -> String {
    let measured: Vec<Measure> = MEASURES.into_iter().filter(|measure| ratio(results, *measure).is_some()).collect();
    let height = 2.0 * MARGIN + measured.len() as f64 * GROUP_HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (place, measure) in measured.into_iter().enumerate() {
        group(&mut svg, results, measure, MARGIN + place as f64 * GROUP_HEIGHT);
    }
    svg.push_str("</svg>\n");
    svg
}

fn group(svg: &mut String, results: &Results, measure: Measure, top: f64) {
    let (what, unit) = measure.describe();
    let times = ratio(results, measure).map(|ratio| format!(": {ratio:.1} times less")).unwrap_or_default();
    let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\">{what}{times}</text>", top + 14.0);
    let medians = CONTENDERS.map(|(contender, _)| results.median(contender, measure).unwrap_or_default());
    let greatest = medians.into_iter().fold(f64::MIN_POSITIVE, f64::max);
    for (place, ((contender, color), median)) in CONTENDERS.into_iter().zip(medians).enumerate() {
        let (y, width) = (top + 20.0 + place as f64 * (BAR_HEIGHT + 2.0), BAR_WIDTH_MAX * median / greatest);
        let _ = writeln!(
            svg,
            "<rect x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR_HEIGHT}\" fill=\"{color}\"/>"
        );
        let (x, y, value) = (MARGIN + width + 6.0, y + 14.0, number(median));
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{contender}: {value} {unit}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_was_measured() {
        let svg = render(&Results::of(Measure::Memory, 360.0, 30.0));
        let widths: Vec<&str> = svg.split("width=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(widths, ["100%", "700.0", "58.3"]);
        assert!(
            svg.contains("resident memory, steady state: 12.0 times less") && svg.contains("Kedge: 30.0 MiB"),
            "{svg}"
        );
    }
}
