//! Tables of documentation pages that tests read.

use std::io::Write;

/// The cells of a row. A bar within a cell is written `\|`.
pub fn cells(line: &str) -> Vec<String> {
    // No text here holds this character.
    let line = line.replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The text of a cell that is code: within backticks, or within double ones where it has backticks itself.
pub fn code(cell: &str) -> Option<String> {
    let double = cell.strip_prefix("``").and_then(|rest| rest.strip_suffix("``"));
    let double = double.map(|text| text.strip_prefix(' ').and_then(|text| text.strip_suffix(' ')).unwrap_or(text));
    let single = || cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|text| !text.contains('`'));
    double.or_else(single).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Prints a line at once: the test harness captures the output of `println!` until the end.
pub fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
