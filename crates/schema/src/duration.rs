//! Durations as the format of that name writes them: like Go's (`1h30m`), or a number and a word (`22 minutes`).

use std::sync::LazyLock;

use chrono::Duration;
use regex::Regex;

const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

static GO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)").expect("a constant pattern compiles")
});
static WORDY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("a constant pattern compiles"));

/// Parses a duration; none if the text is not one.
pub fn parse(text: &str) -> Option<Duration> {
    let nanoseconds = parse_go(text).or_else(|| parse_wordy(text))?;
    Some(Duration::nanoseconds(nanoseconds))
}

fn parse_go(text: &str) -> Option<i64> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if unsigned == "0" {
        return Some(0);
    }
    let mut rest = Some(unsigned).filter(|rest| !rest.is_empty())?;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let found = GO.captures(rest)?;
        sum += found[1].parse::<f64>().ok()? * nanoseconds_of(&found[2].replace('μ', "µ"))? as f64;
        rest = &rest[found[0].len()..];
    }
    (sum < i64::MAX as f64).then_some((sign * sum) as i64)
}

fn parse_wordy(text: &str) -> Option<i64> {
    let mut sum: Option<i64> = None;
    for found in WORDY.captures_iter(text) {
        let count: i64 = found[1].parse().ok()?;
        if let Some(unit) = nanoseconds_of(&found[2].to_lowercase()) {
            sum = Some(sum.unwrap_or(0).wrapping_add(count.wrapping_mul(unit)));
        }
    }
    sum
}

/// A unit by one of its short names, or by how its long name begins.
fn nanoseconds_of(unit: &str) -> Option<i64> {
    let named = |names: &[&str]| {
        let long = names.last().is_some_and(|long| unit.starts_with(long));
        names.contains(&unit) || long
    };
    UNITS.iter().find(|(names, _)| named(names)).map(|(_, nanoseconds)| *nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations_are_read_in_both_ways_of_writing() {
        let rows = [
            ("1h30m", Some(5_400_000)),
            ("-1.5s", Some(-1_500)),
            ("0", Some(0)),
            ("22 minutes", Some(1_320_000)),
            ("2 weeks", Some(1_209_600_000)),
            ("3 d", Some(259_200_000)),
            ("", None),
            ("h", None),
            ("5", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).map(|duration| duration.num_milliseconds()), expected, "{text}");
        }
    }
}
