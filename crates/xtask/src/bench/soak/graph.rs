//! The samples of a soak as a picture: one panel for each measure, one line for each replica.

use std::fmt::Write as _;

use super::samples::{MEASURES, Measure, Samples};

const WIDTH: f64 = 900.0;
const PANEL_HEIGHT: f64 = 160.0;
const MARGIN: f64 = 60.0;
const COLORS: [&str; 4] = ["#1f6feb", "#d9822b", "#2da44e", "#8250df"];

/// An SVG document.
pub(super) fn render(samples: &Samples) -> String {
    let height = MARGIN + MEASURES.len() as f64 * (PANEL_HEIGHT + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, measure) in MEASURES.iter().enumerate() {
        panel(&mut svg, samples, measure, MARGIN + number as f64 * (PANEL_HEIGHT + MARGIN));
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, samples: &Samples, measure: &Measure, top: f64) {
    let greatest = samples.0.iter().map(|sample| (measure.value)(sample)).max().unwrap_or_default().max(1);
    let last = samples.0.iter().map(|sample| sample.at).max().unwrap_or_default().max(1);
    let x = |at: u64| MARGIN + (WIDTH - 2.0 * MARGIN) * at as f64 / last as f64;
    let y = |value: u64| top + PANEL_HEIGHT * (1.0 - value as f64 / greatest as f64);
    let bottom = top + PANEL_HEIGHT;
    let name = measure.name;
    let _ =
        writeln!(svg, "<text x=\"{MARGIN}\" y=\"{}\">{name}, 0 to {greatest}; {} minutes</text>", top - 8.0, last / 60);
    let _ = writeln!(
        svg,
        "<rect x=\"{MARGIN}\" y=\"{top}\" width=\"{}\" height=\"{PANEL_HEIGHT}\" fill=\"none\" stroke=\"#ccc\"/>",
        WIDTH - 2.0 * MARGIN
    );
    if let Some(first) = samples.0.iter().find(|sample| sample.with_kills) {
        let x = x(first.at);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"#999\" stroke-dasharray=\"4\"/>"
        );
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#666\">leaders are killed</text>", x + 4.0, top + 16.0);
    }
    for replica in 0..samples.replicas() {
        let points: Vec<String> = samples
            .of(replica)
            .map(|sample| format!("{:.1},{:.1}", x(sample.at), y((measure.value)(sample))))
            .collect();
        let color = COLORS[replica % COLORS.len()];
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>",
            points.join(" ")
        );
    }
}
