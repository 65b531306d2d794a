//! Limits of percent policies.

use kedge_core::hpa::model::normalise::behavior::{Direction, percent_limit};
use kedge_tests::{csv, files};

use super::{Differences, parse_column};

#[test]
fn percent_policies_allow_what_the_controller_allows() {
    let rows = csv::rows(&files::golden("hpa-percent-policy-golden.csv"));
    let mut differences = Differences(Vec::new());
    for row in &rows {
        let (start, percent) = (parse_column(row, "period_start_replicas"), parse_column(row, "percent"));
        let (direction, exact) = match row["direction"].as_str() {
            "up" => (Direction::Up, exact_ceil(i64::from(start), 100 + i64::from(percent))),
            "down" => (Direction::Down, i64::from(start) * (100 - i64::from(percent)) / 100),
            other => panic!("unknown direction {other}"),
        };
        let limit = i64::from(percent_limit(direction, start, percent));
        let modelled = [limit.to_string(), exact.to_string(), (limit != exact).to_string()];
        let recorded = ["limit", "exact_limit", "float_differs"].map(|column| row[column].clone());
        differences.compare(&format!("{} {start} {percent} %", row["direction"]), &recorded, &modelled);
    }
    differences.assert_none(rows.len(), 10);
}

fn exact_ceil(start: i64, percent: i64) -> i64 {
    (start * percent + 99).div_euclid(100)
}
