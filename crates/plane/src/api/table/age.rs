//! Durations in short, as `kubectl` shows ages.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

/// The time since an instant as it is written in objects: `5m`; `<unknown>` where there is none.
pub(super) fn since(at: &Value, now: DateTime<Utc>) -> String {
    let at = at.as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
    at.map_or_else(|| "<unknown>".to_owned(), |at| short(now - at.with_timezone(&Utc)))
}

/// Two units at most, and only where the larger one is small.
fn short(age: TimeDelta) -> String {
    let seconds = age.num_seconds();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if days < 2 * 365 => format!("{days}d"),
        _ if days < 8 * 365 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_as_kubectl_shows_them() {
        let (minute, hour, day) = (60, 3600, 86_400);
        let rows = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (9 * minute + 5, "9m5s"),
            (10 * minute + 5, "10m"),
            (179 * minute, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 30 * minute, "7h30m"),
            (47 * hour, "47h"),
            (2 * day, "2d"),
            (7 * day + 3 * hour, "7d3h"),
            (700 * day, "700d"),
            (800 * day, "2y70d"),
            (9 * 365 * day, "9y"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(short(TimeDelta::seconds(seconds)), expected, "{seconds} s");
        }
    }
}
