//! Whether now lies inside a window, and until when that stays so.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;

use super::Schedule;
use super::search::{Moment, offset_at};

/// The time between a start and an end, on the clocks of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub start: Schedule,
    pub end: Schedule,
    pub zone: Tz,
}

impl Window {
    /// Inside, when no start comes before the next end.
    ///
    /// KEDA: past occurrences do not count. So a start that is skipped (31 June, an hour that summer time takes) leaves
    /// the window open, and one that recurs before the end keeps it closed.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        match (self.start.next_after(now, self.zone), self.end.next_after(now, self.zone)) {
            (Some(start), Some(end)) => start >= end,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    /// The next instant at which [`Self::is_open`] may change. `None` when the
    /// calendar ends first.
    pub fn next_change(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        [&self.start, &self.end].into_iter().filter_map(|schedule| schedule.holds_until(now, self.zone)).min()
    }
}

/// How far from a change of the clocks the next occurrence may depend on where the search for it begins: a day that is
/// passed over, and the part of a day that is needed to come to it.
const CLOCK_CHANGE_REACH: TimeDelta = TimeDelta::days(2);

impl Schedule {
    /// The instant up to which [`Schedule::next_after`] returns the same instant.
    fn holds_until(&self, now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let zone = self.zone_or(zone);
        let until = match self.next_after(now, zone) {
            Some(occurrence) => occurrence,
            None => next_year(now, zone)?,
        };
        let Some(near) = next_clock_change(now, until, zone).and_then(|at| at.checked_sub_signed(CLOCK_CHANGE_REACH))
        else {
            return Some(until);
        };
        Some(until.min(if now < near { near } else { next_hour(now)? }))
    }
}

/// When the search range is extended by a year: a second before the new year, because it begins with the next second.
fn next_year(now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let year = Moment::first_after(now, zone)?.local.year().checked_add(1)?;
    let midnight = NaiveDate::from_ymd_opt(year, 1, 1)?.and_time(NaiveTime::MIN);
    Moment::at_wall_time(zone, midnight)?.utc.and_utc().checked_sub_signed(TimeDelta::seconds(1))
}

/// The first change of the clocks, to the day, that lies before `until` and whose reach is not over.
fn next_clock_change(now: DateTime<Utc>, until: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let day = TimeDelta::days(1);
    let mut at = now.checked_sub_signed(CLOCK_CHANGE_REACH)?;
    while at < until {
        let next = at.checked_add_signed(day)?;
        if offset_at(zone, at.naive_utc()) != offset_at(zone, next.naive_utc()) {
            return Some(at);
        }
        at = next;
    }
    None
}

/// A second before the next hour of any zone begins: offsets are multiples of a quarter of an hour.
fn next_hour(now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    const QUARTER: i64 = 15 * 60;
    let second = now.timestamp().checked_add(1)?;
    DateTime::from_timestamp(second - second.rem_euclid(QUARTER) + QUARTER - 1, 0)
}
