//! Durations and instants, as users write them and as they are shown.

use chrono::{DateTime, TimeDelta, Utc};
use kedge_scalers::metadata::convert;

/// The longest run: past it a list of events is of no use.
const SPAN_MAX: TimeDelta = TimeDelta::days(3 * 366);

/// Reads `90s`, `5m` or `1h30m`.
pub(super) fn parse_span(text: &str) -> Result<TimeDelta, String> {
    let problem = || "write it with its unit, as 90s, 5m or 1h30m".to_owned();
    if text.chars().all(|letter| letter.is_ascii_digit()) {
        return Err(problem());
    }
    let span = convert::duration(text).map_err(|_| problem())?;
    limit(TimeDelta::from_std(span).ok())
}

/// Reads a number of hours.
pub(super) fn parse_hours(text: &str) -> Result<TimeDelta, String> {
    let hours: f64 = text.parse().map_err(|_| "write a number of hours, as 24 or 0.5".to_owned())?;
    if !(hours.is_finite() && hours > 0.0) {
        return Err("write a number of hours above 0".to_owned());
    }
    // The cast stops at the largest number, which is then too long.
    limit(TimeDelta::try_milliseconds((hours * 3_600_000.0) as i64))
}

fn limit(span: Option<TimeDelta>) -> Result<TimeDelta, String> {
    span.filter(|span| *span <= SPAN_MAX).ok_or_else(|| "write at most three years".to_owned())
}

/// Reads `2026-01-05T08:00:00Z`.
pub(super) fn parse_instant(text: &str) -> Result<DateTime<Utc>, String> {
    let parsed = DateTime::parse_from_rfc3339(text);
    parsed.map(|instant| instant.to_utc()).map_err(|_| "write it as 2026-01-05T08:00:00Z".to_owned())
}

/// `1 h 30 min`, `15.01 s`: the two largest units, without parts that are zero.
pub(super) fn show(span: TimeDelta) -> String {
    let (hours, minutes) = (span.num_hours(), span.num_minutes() % 60);
    let seconds = (span.num_milliseconds() % 60_000) as f64 / 1000.0;
    let parts = match (hours, minutes) {
        (0, 0) => [None, None, Some(format!("{seconds} s"))],
        (0, _) => [None, Some(format!("{minutes} min")), (seconds >= 0.5).then(|| format!("{seconds:.0} s"))],
        _ => [Some(format!("{hours} h")), (minutes > 0).then(|| format!("{minutes} min")), None],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(parse_span("1h30m"), Ok(TimeDelta::minutes(90)));
        assert_eq!(parse_span("0s"), Ok(TimeDelta::zero()));
        assert_eq!(parse_hours("0.5"), Ok(TimeDelta::minutes(30)));
        for wrong in ["", "5", "five", "-5s", "9999999h", "5 m"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "-1", "NaN", "inf", "1e300", "2h"] {
            assert!(parse_hours(wrong).is_err(), "{wrong}");
        }
        assert!(parse_instant("2026-01-05").is_err());
        assert_eq!(parse_instant("2026-01-05T01:00:00+01:00").unwrap(), parse_instant("2026-01-05T00:00:00Z").unwrap());
    }

    #[test]
    fn spans_are_shown_in_their_largest_units() {
        let rows = [
            (0, "0 s"),
            (15_010, "15.01 s"),
            (60_000, "1 min"),
            (95_000, "1 min 35 s"),
            (3_600_000, "1 h"),
            (5_430_000, "1 h 30 min"),
            (172_800_000, "48 h"),
        ];
        for (milliseconds, expected) in rows {
            assert_eq!(show(TimeDelta::milliseconds(milliseconds)), expected);
        }
    }
}
