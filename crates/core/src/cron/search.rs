//! The next occurrence of a schedule, step by step as robfig/cron finds it, because its steps decide what happens when
//! clocks change: which hour is skipped, which fires twice, which day is passed over.

use chrono::{DateTime, Datelike, Days, FixedOffset, Months, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta};
use chrono::{TimeZone, Timelike, Utc};
use chrono_tz::Tz;

use super::Schedule;

/// KEDA: the search for an occurrence ends the end of the fifth year from now.
const YEARS_AHEAD: i32 = 5;

/// See [`Schedule::next_after`]. Where the calendar itself ends, nothing occurs.
pub(super) fn next_after(schedule: &Schedule, now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let moment = Moment::first_after(now, zone)?;
    let mut search = Search { schedule, moment, fresh: true };
    let last_year = moment.local.year() + YEARS_AHEAD;
    let stages = [Search::find_month, Search::find_day, Search::find_hour, Search::find_minute, Search::find_second];
    'restart: while search.moment.local.year() <= last_year {
        for find in stages {
            if find(&mut search)? == Stage::Overflowed {
                continue 'restart;
            }
        }
        return Some(search.moment.utc.and_utc());
    }
    None
}

/// An instant, and what the clocks of a zone show at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    zone: Tz,
    pub(super) utc: NaiveDateTime,
    pub(super) local: NaiveDateTime,
}

impl Moment {
    /// The next full second; occurrences fall on nothing else.
    pub(super) fn first_after(now: DateTime<Utc>, zone: Tz) -> Option<Moment> {
        Moment::at(zone, DateTime::from_timestamp(now.timestamp().checked_add(1)?, 0)?.naive_utc())
    }

    fn at(zone: Tz, utc: NaiveDateTime) -> Option<Moment> {
        Some(Moment { zone, utc, local: utc.checked_add_offset(offset_at(zone, utc))? })
    }

    /// Reads a wall time as Go does: with the offset that is in force at the instant which the offset in force at the
    /// wall time (taken for UTC) leads to. A time in a gap moves by the length of the gap.
    pub(super) fn at_wall_time(zone: Tz, local: NaiveDateTime) -> Option<Moment> {
        let guess = local.checked_sub_offset(offset_at(zone, local))?;
        Moment::at(zone, local.checked_sub_offset(offset_at(zone, guess))?)
    }

    fn with_wall_time(self, date: NaiveDate, time: NaiveTime) -> Option<Moment> {
        Moment::at_wall_time(self.zone, date.and_time(time))
    }

    /// Adds real time.
    fn after(self, span: TimeDelta) -> Option<Moment> {
        Moment::at(self.zone, self.utc.checked_add_signed(span)?)
    }

    fn next_calendar_day(self) -> Option<Moment> {
        self.with_wall_time(self.local.date().checked_add_days(Days::new(1))?, self.local.time())
    }

    /// The same day of the next month; where that month is too short, the days continue into the one after.
    fn next_calendar_month(self) -> Option<Moment> {
        let first = self.local.date().with_day(1)?.checked_add_months(Months::new(1))?;
        let date = first.checked_add_days(Days::new(u64::from(self.local.day0())))?;
        self.with_wall_time(date, self.local.time())
    }
}

pub(super) fn offset_at(zone: Tz, utc: NaiveDateTime) -> FixedOffset {
    zone.offset_from_utc_datetime(&utc).fix()
}

/// How a stage of the search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// This field matches.
    Found,
    /// It ran over into the next larger unit, which has to be checked again.
    Overflowed,
}

struct Search<'a> {
    schedule: &'a Schedule,
    moment: Moment,
    /// Nothing was advanced yet. The first advance, and only that one, drops all smaller units.
    fresh: bool,
}

impl Search<'_> {
    fn find_month(&mut self) -> Option<Stage> {
        while !self.schedule.months.contains(self.moment.local.month()) {
            if self.is_first_advance() {
                self.moment = self.moment.with_wall_time(self.moment.local.date().with_day(1)?, NaiveTime::MIN)?;
            }
            self.moment = self.moment.next_calendar_month()?;
            if self.moment.local.month() == 1 {
                return Some(Stage::Overflowed);
            }
        }
        Some(Stage::Found)
    }

    fn find_day(&mut self) -> Option<Stage> {
        while !self.schedule.allows_day(self.moment.local.date()) {
            if self.is_first_advance() {
                self.moment = self.moment.with_wall_time(self.moment.local.date(), NaiveTime::MIN)?;
            }
            self.moment = self.next_day()?;
            if self.moment.local.day() == 1 {
                return Some(Stage::Overflowed);
            }
        }
        Some(Stage::Found)
    }

    fn next_day(&self) -> Option<Moment> {
        let next = self.moment.next_calendar_day()?;
        // KEDA: where midnight is missing, full hours lead back to the day before or on to what follows the gap.
        let next = match i64::from(next.local.hour()) {
            0 => next,
            hour @ 13.. => next.after(TimeDelta::hours(24 - hour))?,
            hour => next.after(TimeDelta::hours(-hour))?,
        };
        // A zone that leaves out a day (Samoa, 30 December 2011) would lead back to where we are, for ever.
        if next.utc > self.moment.utc { Some(next) } else { self.moment.after(TimeDelta::hours(24)) }
    }

    fn find_hour(&mut self) -> Option<Stage> {
        while !self.schedule.hours.contains(self.moment.local.hour()) {
            if self.is_first_advance() {
                let time = NaiveTime::from_hms_opt(self.moment.local.hour(), 0, 0)?;
                self.moment = self.moment.with_wall_time(self.moment.local.date(), time)?;
            }
            // KEDA: an hour is 60 real minutes; where clocks move by 30, the half hour stays until the day ends.
            self.moment = self.moment.after(TimeDelta::hours(1))?;
            if self.moment.local.hour() == 0 {
                return Some(Stage::Overflowed);
            }
        }
        Some(Stage::Found)
    }

    fn find_minute(&mut self) -> Option<Stage> {
        while !self.schedule.minutes.contains(self.moment.local.minute()) {
            if self.is_first_advance() {
                let seconds = self.moment.utc.and_utc().timestamp().rem_euclid(60);
                self.moment = self.moment.after(TimeDelta::seconds(-seconds))?;
            }
            self.moment = self.moment.after(TimeDelta::minutes(1))?;
            if self.moment.local.minute() == 0 {
                return Some(Stage::Overflowed);
            }
        }
        Some(Stage::Found)
    }

    fn find_second(&mut self) -> Option<Stage> {
        while self.moment.local.second() != 0 {
            // There are no smaller units to drop.
            self.fresh = false;
            self.moment = self.moment.after(TimeDelta::seconds(1))?;
            if self.moment.local.second() == 0 {
                return Some(Stage::Overflowed);
            }
        }
        Some(Stage::Found)
    }

    fn is_first_advance(&mut self) -> bool {
        std::mem::replace(&mut self.fresh, false)
    }
}

impl Schedule {
    /// KEDA: with a star in either field a day must satisfy both; without one, either is enough.
    pub(super) fn allows_day(&self, date: NaiveDate) -> bool {
        let by_day = self.days.contains(date.day());
        let by_weekday = self.weekdays.contains(date.weekday().num_days_from_sunday());
        if self.days.has_star() || self.weekdays.has_star() { by_day && by_weekday } else { by_day || by_weekday }
    }
}
