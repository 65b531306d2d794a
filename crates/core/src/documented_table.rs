//! The tables of pages that tests run.

/// The rows of the tables with this many columns, without their heads, which begin with `case`.
pub(crate) fn rows(page: &str, columns: usize) -> Vec<Vec<&str>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells| cells.len() == columns && cells[0] != "case").collect()
}
