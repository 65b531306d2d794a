//! Tests of schedules and windows: the grammar as sentences, the search against a slow one.

use chrono::{Datelike, TimeDelta, Timelike};
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn errors_name_the_field_and_the_remedy() {
    let count = "a schedule needs five fields (minute, hour, day of month, month, day of week), but";
    let blank = "a zone in front of a schedule needs a blank after it, such as `CRON_TZ=Europe/Berlin 0 8 * * *`";
    let rows = [
        ("", format!("{count} 0 were given")),
        ("0 8 * *", format!("{count} 4 were given")),
        ("0 0 8 * * *", format!("{count} 6 were given")),
        ("0 9 * * 7", "day of week: 7 is out of range 0-6; Sunday is 0".to_owned()),
        ("0 24 * * *", "hour: 24 is out of range 0-23".to_owned()),
        ("0 8 0 * *", "day of month: 0 is out of range 1-31".to_owned()),
        (
            "0 8 * * fri-mon",
            "day of week: `fri-mon` ends before it begins; split it in two ranges, with a comma between them"
                .to_owned(),
        ),
        ("0 8 L * *", "day of month: `L` is not a number; use *, N, A-B, lists of them, and /step".to_owned()),
        (
            "0 8 * june *",
            "month: `june` is not a number or one of jan to dec; use *, N, A-B, lists of them, and /step".to_owned(),
        ),
        ("*/0 8 * * *", "minute: `*/0` has no step of 1 or more; write a whole number after the slash".to_owned()),
        ("1-2-3 8 * * *", "minute: `1-2-3` has more than one hyphen or slash; write A-B/step".to_owned()),
        (
            "@daily",
            "`@daily` is a descriptor, which is not supported; write five fields, such as `0 8 * * *`".to_owned(),
        ),
        ("TZ=UTC", blank.to_owned()),
        (
            "TZ=Mars/Olympus 0 8 * * *",
            "time zone `Mars/Olympus` is not known; use an IANA name, such as `Europe/Berlin`".to_owned(),
        ),
    ];
    for (text, message) in rows {
        assert_eq!(Schedule::parse(text).expect_err(text).to_string(), message, "{text}");
    }
}

#[test]
fn odd_spellings_mean_what_they_mean_to_keda() {
    let rows = [
        ("a plus sign and zeros are part of a number", "+5 008 * * *", "5 8 * * *"),
        ("a question mark is a star", "0 8 ? * ?", "0 8 * * *"),
        ("what follows the hyphen after a star is ignored", "*-5 8 * * *", "* 8 * * *"),
        ("a number with a step runs to the maximum", "50/4 8 * * *", "50,54,58 8 * * *"),
        ("names are case-insensitive", "0 8 * JAN-mar SuN", "0 8 * 1-3 0"),
        ("empty elements are dropped", "0 ,8,, * * *", "0 8 * * *"),
        ("a step beyond the range leaves the first value", "0 8/9223372036854775807 * * *", "0 8 * * *"),
        ("blanks around and between do not count", " 0\t8  * * * ", "0 8 * * *"),
        ("no zone in front is UTC", "TZ= 0 8 * * *", "TZ=UTC 0 8 * * *"),
        ("the local zone in front is none", "TZ=Local 0 8 * * *", "0 8 * * *"),
    ];
    for (name, odd, plain) in rows {
        assert_eq!(schedule(odd), schedule(plain), "{name}");
    }
    assert_ne!(schedule("0 8 */1 * 1"), schedule("0 8 1-31 * 1"), "a star is more than all its days");
}

#[test]
fn zones_are_iana_names() {
    assert_eq!(parse_zone(""), Ok(Tz::UTC));
    assert_eq!(parse_zone("Asia/Kolkata"), Ok(Tz::Asia__Kolkata));
    assert_eq!(parse_zone("Local"), Err(CronError::LocalZone));
    assert_eq!(parse_zone("europe/berlin"), Err(CronError::UnknownZone { name: "europe/berlin".to_owned() }));
}

#[test]
fn the_metric_name_spells_out_the_schedules() {
    assert_eq!(metric_base("Etc/UTC", "0 */2 * * *", "0 1-23/2 * * *"), "cron-Etc-UTC-0xSl2xxx-01-23Sl2xxx");
    assert_eq!(metric_base("UTC", "0,1 8 ? * *", "0 9.%(: * * *"), "cron-UTC-0Cm18Qmxx-09----xxx");
}

#[test]
fn a_day_that_a_zone_left_out_does_not_stop_the_search() {
    let next = schedule("0 8 15 * *").next_after(at("2011-12-20T00:00:00Z"), Tz::Pacific__Apia);
    assert_eq!(next, Some(at("2012-01-14T18:00:00Z")));
    let next = schedule("0 8 30 12 *").next_after(at("2011-12-20T00:00:00Z"), Tz::Pacific__Apia);
    assert_eq!(next, Some(at("2012-12-29T18:00:00Z")));
}

#[test]
fn nothing_occurs_beyond_the_calendar() {
    let every_minute = schedule("* * * * *");
    for now in [DateTime::<Utc>::MAX_UTC, DateTime::<Utc>::MAX_UTC - TimeDelta::seconds(1)] {
        assert_eq!(every_minute.next_after(now, Tz::Pacific__Kiritimati), None);
    }
    let first = every_minute.next_after(DateTime::<Utc>::MIN_UTC, Tz::UTC);
    assert_eq!(first, Some(DateTime::<Utc>::MIN_UTC + TimeDelta::minutes(1)));
    assert_eq!(every_minute.next_after(DateTime::<Utc>::MIN_UTC, Tz::America__New_York), None);
}

#[test]
fn an_open_window_changes_at_its_end_and_a_closed_one_at_its_start() {
    let window = Window { start: schedule("0 8 * * *"), end: schedule("0 18 * * *"), zone: Tz::Asia__Kolkata };
    let (start, end) = (at("2025-06-11T02:30:00Z"), at("2025-06-11T12:30:00Z"));
    assert!(!window.is_open(start - TimeDelta::nanoseconds(1)));
    assert_eq!(window.next_change(start - TimeDelta::nanoseconds(1)), Some(start));
    assert!(window.is_open(start));
    assert_eq!(window.next_change(start), Some(end));
    assert!(!window.is_open(end));
}

#[test]
fn a_schedule_that_never_occurs_is_searched_again_each_year() {
    // 2100 is no leap year, so that from 2096 on the next 29 February is too far away for a while.
    let window = Window { start: schedule("0 0 29 2 *"), end: schedule("0 0 1 1 *"), zone: Tz::UTC };
    let now = at("2096-06-01T00:00:00Z");
    assert!(window.is_open(now));
    assert_eq!(window.next_change(now), Some(at("2096-12-31T23:59:59Z")));
}

fn element(min: u32, max: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        3 => (min..=max).prop_map(|value| value.to_string()),
        2 => (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        2 => (1..=max + 1).prop_map(|step| format!("*/{step}")),
        1 => (min..=max, 1..=max).prop_map(|(from, step)| format!("{from}/{step}")),
    ]
}

fn list(min: u32, max: u32) -> impl Strategy<Value = String> {
    proptest::collection::vec(element(min, max), 1..3).prop_map(|elements| elements.join(","))
}

fn expression() -> impl Strategy<Value = String> {
    (list(0, 59), list(0, 23), list(1, 31), list(1, 12), list(0, 6))
        .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
}

fn zone() -> impl Strategy<Value = Tz> {
    proptest::sample::select(vec![
        Tz::UTC,
        Tz::Europe__Berlin,
        Tz::America__New_York,
        Tz::Africa__Cairo,
        Tz::America__Havana,
        Tz::America__Santiago,
        Tz::Asia__Kathmandu,
        Tz::Asia__Beirut,
        Tz::Australia__Lord_Howe,
        Tz::Pacific__Apia,
        Tz::Pacific__Auckland,
    ])
}

/// 2005 to 2037.
fn instant() -> impl Strategy<Value = DateTime<Utc>> {
    (1_100_000_000_i64..2_140_000_000, 0..1_000_000_000_u32)
        .prop_map(|(second, nano)| DateTime::from_timestamp(second, nano).expect("within the calendar"))
}

/// A few days around the clock changes of the zones above.
fn near_clock_change() -> impl Strategy<Value = DateTime<Utc>> {
    let days = ["2025-03-09", "2025-03-30", "2025-04-06", "2025-04-25", "2025-09-07", "2025-10-05", "2025-11-02"];
    (proptest::sample::select(days.to_vec()), -5 * 86_400..5 * 86_400_i64)
        .prop_map(|(day, second)| at(&format!("{day}T00:00:00Z")) + TimeDelta::seconds(second))
}

fn allows(schedule: &Schedule, at: DateTime<Utc>) -> bool {
    schedule.months.contains(at.month())
        && schedule.allows_day(at.date_naive())
        && schedule.hours.contains(at.hour())
        && schedule.minutes.contains(at.minute())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        let _ = (Schedule::parse(&text), parse_zone(&text), metric_base(&text, &text, &text));
    }

    #[test]
    fn no_text_that_is_nearly_a_schedule_makes_it_panic(
        text in "(TZ=(UTC|Local|X)? ?)?([-*?,/+0-9a-z]{1,6} {1,2}){3,6}",
        now in instant(),
        zone in zone(),
    ) {
        if let Ok(schedule) = Schedule::parse(&text) {
            let _ = schedule.next_after(now, zone);
        }
    }

    #[test]
    fn the_next_occurrence_is_later_and_on_a_full_minute(text in expression(), now in instant(), zone in zone()) {
        if let Some(next) = schedule(&text).next_after(now, zone) {
            prop_assert!(next > now);
            prop_assert_eq!(next.timestamp() % 60, 0);
        }
    }

    #[test]
    fn where_clocks_never_change_it_is_the_first_minute_that_matches(text in expression(), now in instant()) {
        let schedule = schedule(&text);
        let next = schedule.next_after(now, Tz::UTC);
        prop_assert!(next.is_none_or(|next| allows(&schedule, next)));
        let first = DateTime::from_timestamp(now.timestamp() / 60 * 60, 0).expect("within the calendar");
        let mut minutes = (1..3000).map(|minute| first + TimeDelta::minutes(minute));
        let slow = minutes.find(|minute| allows(&schedule, *minute));
        prop_assert_eq!(slow, next.filter(|next| *next < first + TimeDelta::minutes(3000)));
    }

    #[test]
    fn no_instant_of_the_calendar_makes_it_panic(text in expression(), second in any::<i64>(), zone in zone()) {
        let (min, max) = (DateTime::<Utc>::MIN_UTC.timestamp(), DateTime::<Utc>::MAX_UTC.timestamp());
        let now = DateTime::from_timestamp(second.clamp(min, max), 0).expect("within the calendar");
        let window = Window { start: schedule(&text), end: schedule("0 0 29 2 *"), zone };
        let _ = (window.is_open(now), window.next_change(now));
    }

    #[test]
    fn a_window_does_not_change_before_its_next_change(
        start in expression(),
        end in expression(),
        now in prop_oneof![instant(), near_clock_change()],
        zone in zone(),
        part in 0.0..1.0_f64,
    ) {
        let window = Window { start: schedule(&start), end: schedule(&end), zone };
        if let Some(change) = window.next_change(now) {
            prop_assert!(change > now);
            let span = (change - now).num_milliseconds() - 1;
            let between = now + TimeDelta::milliseconds((span as f64 * part) as i64);
            prop_assert_eq!(window.is_open(between), window.is_open(now), "{} of {}..{}", between, now, change);
        }
    }
}
