//! Conversions between the times of the API (jiff) and our own (chrono).

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;

const NANOS: i128 = 1_000_000_000;

/// Times outside the range of the API become its nearest end.
pub fn to_time(at: DateTime<Utc>) -> Time {
    let nanos = i128::from(at.timestamp()) * NANOS + i128::from(at.timestamp_subsec_nanos());
    let end = if nanos < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Time(Timestamp::from_nanosecond(nanos).unwrap_or(end))
}

/// As [`to_time`], for the fields that count microseconds.
pub fn to_micro_time(at: DateTime<Utc>) -> MicroTime {
    MicroTime(to_time(at).0)
}

/// As [`from_time`], for the fields that count microseconds.
pub fn from_micro_time(time: &MicroTime) -> DateTime<Utc> {
    from_time(&Time(time.0))
}

/// Every time of the API fits: chrono's range is larger.
pub fn from_time(time: &Time) -> DateTime<Utc> {
    let nanos = time.0.as_nanosecond();
    let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or_default();
    let rest = u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or_default();
    DateTime::from_timestamp(seconds, rest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_conversion_in_both_directions() {
        for millis in [-1_500, -1, 0, 1, 1_700_000_000_123] {
            let at = DateTime::from_timestamp_millis(millis).unwrap();
            assert_eq!(from_time(&to_time(at)), at, "{millis}");
        }
    }
}
