//! The shapes of a load. A shape has one value at each instant; `day` generates one, `table` reads one from a file.

mod amount;
mod day;
mod table;

use std::f64::consts::TAU;
use std::fmt;

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};

use super::spans::{parse_span, show};
use amount::{FORMS, parse_amount};
use table::Table;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A working day, in shares of a peak.
    Day {
        seed: u64,
    },
    Constant(f64),
    /// From the start of the run to its end.
    Ramp {
        from: f64,
        to: f64,
        length: TimeDelta,
    },
    Wave {
        min: f64,
        max: f64,
        period: TimeDelta,
    },
    Spike {
        height: f64,
        at: TimeDelta,
        length: TimeDelta,
    },
    Table(Table),
}

/// An instant of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: DateTime<Utc>,
    /// Since the start.
    pub(super) elapsed: TimeDelta,
}

impl Shape {
    pub(super) fn parse(text: &str, start_at: DateTime<Utc>, length: TimeDelta, seed: u64) -> anyhow::Result<Self> {
        let parsed = match text.split_once(':') {
            None if text == "day" => return Ok(Self::Day { seed }),
            Some(("constant", rest)) => parse_amount(rest).map(Self::Constant),
            Some(("ramp", rest)) => parse_range(rest).map(|(from, to)| Self::Ramp { from, to, length }),
            Some(("wave", rest)) => parse_wave(rest),
            Some(("spike", rest)) => parse_spike(rest),
            _ => return Ok(Self::Table(Table::read(text, start_at, length)?)),
        };
        parsed.with_context(|| format!("{text:?} cannot be read; {FORMS}"))
    }

    /// The value, or `None` where the source fails.
    pub(super) fn value(&self, moment: Moment, peak: f64) -> Option<f64> {
        let elapsed = moment.elapsed;
        match self {
            Self::Day { seed } => Some(day::share(*seed, moment.now) * peak),
            Self::Constant(value) => Some(*value),
            Self::Ramp { from, to, length } => Some(from + (to - from) * share(elapsed, *length)),
            Self::Wave { min, max, period } => {
                Some(min + (max - min) * (1.0 - (TAU * share(elapsed, *period)).cos()) / 2.0)
            }
            Self::Spike { height, at, length } => {
                Some(if elapsed >= *at && elapsed < *at + *length { *height } else { 0.0 })
            }
            Self::Table(table) => table.value(elapsed),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day { seed } => write!(f, "a generated working day (seed {seed})"),
            Self::Constant(value) => write!(f, "always {value}"),
            Self::Ramp { from, to, .. } => write!(f, "from {from} to {to}"),
            Self::Wave { min, max, period } => write!(f, "between {min} and {max} every {}", show(*period)),
            Self::Spike { height, at, length } => write!(f, "{height} after {}, for {}", show(*at), show(*length)),
            Self::Table(table) => write!(f, "{table}"),
        }
    }
}

fn share(part: TimeDelta, total: TimeDelta) -> f64 {
    part.num_milliseconds() as f64 / total.num_milliseconds().max(1) as f64
}

fn parse_range(text: &str) -> anyhow::Result<(f64, f64)> {
    let (from, to) = text.split_once("..").context("`..` is missing")?;
    Ok((parse_amount(from)?, parse_amount(to)?))
}

fn parse_wave(text: &str) -> anyhow::Result<Shape> {
    let (range, period) = text.split_once('/').context("`/` and the period are missing")?;
    let (min, max) = parse_range(range)?;
    let period = parse_span(period).map_err(anyhow::Error::msg).context("the period")?;
    if period.is_zero() {
        bail!("the period must be longer than nothing");
    }
    Ok(Shape::Wave { min, max, period })
}

fn parse_spike(text: &str) -> anyhow::Result<Shape> {
    let (height, rest) = text.split_once('@').context("`@` and the time are missing")?;
    let (at, length) = rest.split_once('+').context("`+` and the length are missing")?;
    let span = |text| parse_span(text).map_err(anyhow::Error::msg);
    Ok(Shape::Spike {
        height: parse_amount(height)?,
        at: span(at).context("the time")?,
        length: span(length).context("the length")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Shape> {
        Shape::parse(text, DateTime::UNIX_EPOCH, TimeDelta::hours(1), 1)
    }

    #[test]
    fn a_shape_has_its_value_at_each_instant() {
        let rows = [
            ("constant:7.5", 0, 7.5),
            ("ramp:10..0", 0, 10.0),
            ("ramp:10..0", 30, 5.0),
            ("wave:2..6/20m", 0, 2.0),
            ("wave:2..6/20m", 10, 6.0),
            ("wave:2..6/20m", 40, 2.0),
            ("spike:50@10m+5m", 9, 0.0),
            ("spike:50@10m+5m", 10, 50.0),
            ("spike:50@10m+5m", 15, 0.0),
        ];
        for (text, minute, expected) in rows {
            let elapsed = TimeDelta::minutes(minute);
            let value =
                parse(text).unwrap().value(Moment { now: DateTime::UNIX_EPOCH + elapsed, elapsed }, 1.0).unwrap();
            assert!((value - expected).abs() < 1e-9, "{text} at {minute} min: {value}");
        }
    }

    #[test]
    fn an_unreadable_load_is_reported_with_the_accepted_forms() {
        for wrong in
            ["constant:", "constant:-1", "ramp:1", "wave:1..2", "wave:1..2/0s", "spike:1@5m", "spike:1@5+5m", "dya"]
        {
            let error = format!("{:#}", parse(wrong).unwrap_err());
            assert!(error.contains(wrong) && error.contains("wave:MIN..MAX/PERIOD"), "{wrong}: {error}");
        }
    }
}
