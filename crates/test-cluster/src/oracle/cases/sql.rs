//! Queries that the SQL triggers share, and what cases are made of them.

use crate::oracle::case::Case;

/// Queries that need no table.
const QUERIES: &[&str] = &[
    "SELECT 0",
    "SELECT 7",
    "SELECT -3",
    "SELECT 2.5",
    "SELECT 0.0004",
    "SELECT 1e12",
    "SELECT 9223372036854775807",
    "SELECT CAST(7 AS DECIMAL(10,2))",
    "SELECT NULL",
    "SELECT '7'",
    "SELECT '7.5'",
    "SELECT ' 7'",
    "SELECT 'seven'",
    "SELECT ''",
    "SELECT '0x10'",
    "SELECT '1e3'",
    "SELECT 'NaN'",
    "SELECT 'Infinity'",
    "SELECT TRUE",
    "SELECT FALSE",
    "SELECT 1, 2",
    "SELECT 7 UNION ALL SELECT 8",
    "SELECT 7 WHERE 1 = 0",
    "SELECT COUNT(*) FROM absent",
    "SELEC 7",
    "SELECT 7;",
    "SELECT 7; SELECT 8",
    "-- nothing",
    "SELECT TIMESTAMP '2026-01-02 03:04:05'",
];

/// A reading of each query, and of one at activation values.
pub(super) fn readings(base: &Case, activation: &str) -> Vec<Case> {
    let mut cases: Vec<Case> =
        QUERIES.iter().map(|query| base.clone().with("query", query).named(format!("reads {query}")).read(1)).collect();
    for value in ["6.5", "7", "7.5", "-8"] {
        let case = base.clone().with_all(&[("query", "SELECT 7"), (activation, value)]);
        cases.push(case.named(format!("reads 7 above {value}")).read(1));
    }
    cases
}
