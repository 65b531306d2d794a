//! A load from a CSV file: rows of time and value, each of which holds until the next.

use std::fmt;

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};

use super::amount::{FORMS, parse_amount};
use crate::simulate::spans::{parse_instant, parse_span};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    file: String,
    /// Times since the start of the run, ascending; `None` is no answer.
    rows: Vec<(TimeDelta, Option<f64>)>,
}

impl Table {
    pub(super) fn read(file: &str, start_at: DateTime<Utc>, length: TimeDelta) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file:?}; {FORMS}"))?;
        let rows = parse_rows(&text, start_at).with_context(|| file.to_owned())?;
        if !rows.iter().any(|(from, _)| (TimeDelta::zero()..length).contains(from)) {
            bail!("{file}: no row lies in the run; begin it with --start near {}", first_time(&rows, start_at));
        }
        Ok(Self { file: file.to_owned(), rows })
    }

    /// Before the first row there is nothing.
    pub(super) fn value(&self, elapsed: TimeDelta) -> Option<f64> {
        let after = self.rows.partition_point(|(from, _)| *from <= elapsed);
        after.checked_sub(1).map_or(Some(0.0), |row| self.rows[row].1)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} rows)", self.file, self.rows.len())
    }
}

fn first_time(rows: &[(TimeDelta, Option<f64>)], start_at: DateTime<Utc>) -> String {
    let first = rows.first().map_or(start_at, |(from, _)| start_at + *from);
    first.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn parse_rows(text: &str, start_at: DateTime<Utc>) -> anyhow::Result<Vec<(TimeDelta, Option<f64>)>> {
    let mut rows: Vec<(TimeDelta, Option<f64>)> = Vec::new();
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        // A first row without any digit names the columns.
        if rows.is_empty() && !line.contains(|letter: char| letter.is_ascii_digit()) {
            continue;
        }
        let row = parse_row(line, start_at).with_context(|| format!("line {number}, {line:?}"))?;
        if rows.last().is_some_and(|last| row.0 <= last.0) {
            bail!("line {number}, {line:?}: its time is not after that of the row before; sort the rows");
        }
        rows.push(row);
    }
    if rows.is_empty() {
        bail!("there are no rows; write time,value in each line, as 10m,250");
    }
    Ok(rows)
}

fn parse_row(line: &str, start_at: DateTime<Utc>) -> anyhow::Result<(TimeDelta, Option<f64>)> {
    let (time, value) = line.split_once(',').context("the comma between time and value is missing")?;
    let value = match value.trim() {
        "error" => None,
        value => Some(parse_amount(value).context("write a number, or `error` for no answer")?),
    };
    let time = time.trim();
    let instant = || parse_instant(time).map(|at| at - start_at);
    let since = parse_span(time).or_else(|_| instant()).map_err(|_| {
        anyhow::anyhow!("the time {time:?} cannot be read; write 90s or 1h30m after the start, or 2026-01-05T08:00:00Z")
    })?;
    Ok((since, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<(i64, Option<f64>)>, String> {
        let rows = parse_rows(text, parse_instant("2026-01-05T00:00:00Z").unwrap());
        let plain = |(from, value): (TimeDelta, _)| (from.num_seconds(), value);
        rows.map(|rows| rows.into_iter().map(plain).collect()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn rows_are_times_and_values() {
        let text = "time,value\n# a comment\n0s, 5\n1m30s,0.5\n\n2026-01-05T01:00:00Z,error\n";
        assert_eq!(rows(text), Ok(vec![(0, Some(5.0)), (90, Some(0.5)), (3600, None)]));
        let table = Table {
            file: String::new(),
            rows: vec![(TimeDelta::seconds(5), Some(2.0)), (TimeDelta::seconds(9), None)],
        };
        let value = |second| table.value(TimeDelta::seconds(second));
        assert_eq!([value(4), value(5), value(8), value(9)], [Some(0.0), Some(2.0), Some(2.0), None]);
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_line() {
        let table = [
            ("no rows", "time,value\n", "there are no rows"),
            ("no comma", "0s,1\n5s 3\n", "line 2, \"5s 3\": the comma"),
            ("no unit", "5,3\n", "the time \"5\" cannot be read"),
            ("no number", "5s,many\n", "`error` for no answer"),
            ("backwards", "5s,1\n5s,2\n", "line 2, \"5s,2\": its time is not after"),
        ];
        for (name, text, expected) in table {
            let error = rows(text).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
