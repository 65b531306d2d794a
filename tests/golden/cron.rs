//! Cron windows against rows that were computed by the library KEDA uses.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use kedge_core::cron::{Schedule, Window, metric_base, parse_zone};
use kedge_core::quantity::{Quantity, format_float};
use kedge_tests::{csv, files};

type Row = BTreeMap<String, String>;

/// The result columns of a row.
#[derive(Debug, PartialEq)]
struct CronResult {
    next_start: String,
    next_end: String,
    active: String,
    value: String,
    name: String,
}

/// The result in the row, or `None` if KEDA rejects the trigger.
fn expected(row: &Row) -> Option<CronResult> {
    row["error_stage"].is_empty().then(|| CronResult {
        next_start: row["next_start_utc"].clone(),
        next_end: row["next_end_utc"].clone(),
        active: row["active"].clone(),
        value: row["metric_value"].clone(),
        name: row["metric_name"].clone(),
    })
}

/// Our result for the same input.
fn compute(row: &Row) -> anyhow::Result<CronResult> {
    let (start, end, zone) = (row["start"].trim(), row["end"].trim(), row["timezone"].trim());
    let window = Window { start: Schedule::parse(start)?, end: Schedule::parse(end)?, zone: parse_zone(zone)? };
    let replicas: i64 = row["desiredReplicas"].parse()?;
    anyhow::ensure!(start != end, "start and end are the same text");
    anyhow::ensure!(replicas != 0, "desiredReplicas is 0");

    let now: DateTime<Utc> = row["now_utc"].parse()?;
    let next = |schedule: &Schedule| match schedule.next_after(now, window.zone) {
        Some(next) => next.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        None => "none".to_owned(),
    };
    let open = window.is_open(now);
    let published = Quantity::parse(&format_float(if open { replicas as f64 } else { 0.0 }))?;
    Ok(CronResult {
        next_start: next(&window.start),
        next_end: next(&window.end),
        active: open.to_string(),
        value: published.value().to_string(),
        name: format!("s0-{}", metric_base(zone, start, end)),
    })
}

#[test]
fn windows_open_and_close_when_they_do_in_keda() {
    let rows = csv::rows(&files::golden("cron-golden.csv"));
    assert!(rows.len() >= 150, "only {} rows", rows.len());
    let mut failures = Vec::new();
    for row in &rows {
        let (ours, theirs) = (compute(row), expected(row));
        if ours.as_ref().ok() != theirs.as_ref() {
            failures.push(format!("{}: {ours:?} instead of {theirs:?} ({})", row["id"], row["note"]));
        }
    }
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn rows_near_the_change_of_a_window_change_with_it() {
    let rows = csv::rows(&files::golden("cron-golden.csv"));
    for row in rows.iter().filter(|row| row["error_stage"].is_empty()) {
        let (start, end) = (Schedule::parse(&row["start"]).unwrap(), Schedule::parse(&row["end"]).unwrap());
        let window = Window { start, end, zone: parse_zone(&row["timezone"]).unwrap() };
        let now: DateTime<Utc> = row["now_utc"].parse().unwrap();
        let change = window.next_change(now).unwrap();
        assert!(change > now, "{}", row["id"]);
        let before = change - chrono::TimeDelta::nanoseconds(1);
        assert_eq!(window.is_open(before.max(now)), window.is_open(now), "{}", row["id"]);
    }
}
