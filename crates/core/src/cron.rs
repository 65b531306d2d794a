//! Cron windows: when a schedule starts, when another ends them, and whether now lies between.
//!
//! The dialect and its treatment of clock changes are those of KEDA, which computes with robfig/cron v3: five fields,
//! no seconds, no `@daily`. `field` reads one field, `search` finds the next occurrence; this file holds the schedule,
//! the window, zones and the metric name.

mod field;
mod search;
mod window;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use field::Values;

pub use field::{CronFieldError, Field};
pub use window::Window;

/// Why a schedule or a zone cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("a schedule needs five fields (minute, hour, day of month, month, day of week), but {found} were given")]
    FieldCount { found: usize },
    #[error("`{text}` is a descriptor, which is not supported; write five fields, such as `0 8 * * *`")]
    Descriptor { text: String },
    #[error("{field}: {problem}")]
    Field { field: Field, problem: CronFieldError },
    #[error("a zone in front of a schedule needs a blank after it, such as `CRON_TZ=Europe/Berlin 0 8 * * *`")]
    BareZone,
    #[error("time zone `{name}` is not known; use an IANA name, such as `Europe/Berlin`")]
    UnknownZone { name: String },
    #[error("time zone `Local` would depend on the machine; use an IANA name, such as `Europe/Berlin`")]
    LocalZone,
}

/// A cron expression: the minutes at which something starts or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
    /// The zone that the expression itself names.
    zone: Option<Tz>,
}

impl Schedule {
    /// Reads five fields, with an optional `TZ=<zone>` or `CRON_TZ=<zone>` in front of them.
    pub fn parse(text: &str) -> Result<Schedule, CronError> {
        let (zone, expression) = split_zone(text.trim())?;
        if expression.starts_with('@') {
            return Err(CronError::Descriptor { text: expression.to_owned() });
        }
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(CronError::FieldCount { found: fields.len() });
        };
        Ok(Schedule {
            minutes: Field::Minute.parse(minute)?,
            hours: Field::Hour.parse(hour)?,
            days: Field::DayOfMonth.parse(day)?,
            months: Field::Month.parse(month)?,
            weekdays: Field::DayOfWeek.parse(weekday)?,
            zone,
        })
    }

    /// The first occurrence strictly after `now`, on the clocks of `zone` unless the expression names its own. `None`
    /// when there is none until the end of the fifth year from now.
    pub fn next_after(&self, now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        search::next_after(self, now, self.zone_or(zone))
    }

    fn zone_or(&self, zone: Tz) -> Tz {
        self.zone.unwrap_or(zone)
    }
}

fn split_zone(text: &str) -> Result<(Option<Tz>, &str), CronError> {
    let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return Ok((None, text));
    };
    let (name, expression) = rest.split_once(' ').ok_or(CronError::BareZone)?;
    let zone = match name {
        // KEDA: `Local` in front of a schedule is the same as nothing.
        "Local" => None,
        _ => Some(parse_zone(name)?),
    };
    Ok((zone, expression.trim()))
}

/// Reads an IANA zone name; no name at all is UTC.
pub fn parse_zone(text: &str) -> Result<Tz, CronError> {
    match text {
        // KEDA: an empty name is UTC, not an error.
        "" => Ok(Tz::UTC),
        "Local" => Err(CronError::LocalZone),
        name => name.parse().map_err(|_| CronError::UnknownZone { name: name.to_owned() }),
    }
}

/// The metric name of a cron trigger, without the `s<index>-` in front: `cron-Etc-UTC-0xSl2xxx-01-23Sl2xxx`.
pub fn metric_base(zone: &str, start: &str, end: &str) -> String {
    let base = format!("cron-{zone}-{}-{}", name_schedule(start), name_schedule(end));
    base.replace(['/', '.', ':', '%', '(', ')'], "-")
}

fn name_schedule(text: &str) -> String {
    text.replace(' ', "").replace('*', "x").replace('/', "Sl").replace('?', "Qm").replace(',', "Cm")
}

#[cfg(test)]
mod tests;
