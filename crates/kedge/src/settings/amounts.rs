//! Counts, ports and durations in Go's notation.

use std::time::Duration;

use kedge_scalers::metadata::convert::{self, ConversionError, Converted};

/// A duration in Go's format. Unlike in a trigger, a number other than zero needs its unit.
pub(super) fn duration(text: &str) -> Converted<Duration> {
    let error = |problem: &str| ConversionError::new(problem, "write a number with its unit, as in 90s or 1m30s");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned != "0" && !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error("has no unit"));
    }
    convert::duration(text).map_err(|found| error(&found.problem))
}

pub(super) fn positive_duration(text: &str) -> Converted<Duration> {
    match duration(text)? {
        Duration::ZERO => Err(ConversionError::new("is not above zero", "give a longer time, such as 90s")),
        positive => Ok(positive),
    }
}

pub(super) fn count(text: &str) -> Converted<usize> {
    let whole = convert::integer(text)?;
    usize::try_from(whole).map_err(|_| ConversionError::new("is below zero", "give 0 or more"))
}

pub(super) fn positive_count(text: &str) -> Converted<usize> {
    match count(text) {
        Ok(0) => Err(ConversionError::new("is not above zero", "give 1 or more")),
        other => other,
    }
}

/// Whole milliseconds. KEDA: zero and less count as zero.
pub(super) fn milliseconds(text: &str) -> Converted<Duration> {
    Ok(Duration::from_millis(u64::try_from(convert::integer(text)?).unwrap_or(0)))
}

pub(super) fn port(text: &str) -> Converted<u16> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err(ConversionError::new("is not a port", "give a number from 1 to 65535")),
    }
}

/// A duration between two others, both included.
pub(super) fn duration_within(text: &str, least: Duration, most: Duration) -> Converted<Duration> {
    let given = duration(text)?;
    let hours = |limit: Duration| limit.as_secs() / 3600;
    if (least..=most).contains(&given) {
        return Ok(given);
    }
    Err(ConversionError::new("is out of range", format!("give {}h to {}h", hours(least), hours(most))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        let rows = [
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("0", Some(0)),
            ("-0", Some(0)),
            ("90", None),
            ("-5s", None),
            ("", None),
            ("soon", None),
            ("1 m", None),
        ];
        for (text, expected) in rows {
            let found = duration(text);
            assert_eq!(found.as_ref().ok().copied(), expected.map(Duration::from_millis), "{text:?}");
            assert!(found.is_ok() || found.unwrap_err().remedy.contains("90s"), "{text:?}");
        }
    }

    #[test]
    fn ports_are_those_one_can_listen_on() {
        for (text, expected) in [("1", Some(1)), ("65535", Some(65535)), ("0", None), ("65536", None), ("x", None)] {
            assert_eq!(port(text).ok(), expected, "{text}");
        }
    }
}
