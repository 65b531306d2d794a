//! Quantities against rows that were computed by Kubernetes' own parser.

use std::collections::BTreeMap;

use kedge_core::quantity::Quantity;
use kedge_tests::{csv, files};

type Row = BTreeMap<String, String>;

/// All differences from the row.
fn differences(row: &Row) -> Vec<String> {
    let parsed = Quantity::parse(&row["input"]);
    let Ok(quantity) = parsed else {
        return if row["valid"] == "false" { Vec::new() } else { vec![format!("refused: {parsed:?}")] };
    };
    if row["valid"] == "false" {
        return vec![format!("accepted: {quantity:?}")];
    }
    let canonical = quantity.canonical();
    let again = Quantity::parse(&canonical).expect("the canonical text is a quantity");
    let mut differences = Vec::new();
    let texts = [
        ("canonical", canonical),
        ("milli_value", quantity.milli_value().to_string()),
        ("value", quantity.value().to_string()),
    ];
    for (column, ours) in texts {
        if ours != row[column] {
            differences.push(format!("{column} is {ours} instead of {}", row[column]));
        }
    }
    let floats = [("approx_f64", quantity.approx_f64()), ("approx_f64_of_canonical", again.approx_f64())];
    for (column, ours) in floats {
        let theirs: f64 = row[column].parse().unwrap();
        if ours.to_bits() != theirs.to_bits() {
            differences.push(format!("{column} is {ours:e} instead of {theirs:e}"));
        }
    }
    differences
}

#[test]
fn quantities_are_those_of_kubernetes() {
    let rows = csv::rows(&files::golden("quantity-golden.csv"));
    assert!(rows.len() >= 100, "only {} rows", rows.len());
    let failures: Vec<String> = rows
        .iter()
        .map(|row| (row, differences(row)))
        .filter(|(_, differences)| !differences.is_empty())
        .map(|(row, differences)| format!("`{}`: {}", row["input"], differences.join(", ")))
        .collect();
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}
