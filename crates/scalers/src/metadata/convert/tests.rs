use proptest::prelude::*;

use super::*;

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn numbers_are_those_of_json() {
    let rows: [(&str, Option<i64>, Option<f64>); 25] = [
        ("5", Some(5), Some(5.0)),
        ("0", Some(0), Some(0.0)),
        ("-3", Some(-3), Some(-3.0)),
        ("-0", Some(0), Some(-0.0)),
        ("9223372036854775807", Some(i64::MAX), Some(9_223_372_036_854_775_807_i64 as f64)),
        ("9223372036854775808", None, Some(9_223_372_036_854_775_808_u64 as f64)),
        ("0.5", None, Some(0.5)),
        ("5.0", None, Some(5.0)),
        ("1e3", None, Some(1000.0)),
        ("1E+3", None, Some(1000.0)),
        ("-1.5e-1", None, Some(-0.15)),
        ("0.1", None, Some(0.1)),
        ("05", None, None),
        ("+5", None, None),
        (".5", None, None),
        ("5.", None, None),
        ("1e", None, None),
        ("e3", None, None),
        ("0x10", None, None),
        ("1_000", None, None),
        ("NaN", None, None),
        ("Infinity", None, None),
        ("1e400", None, None),
        ("--5", None, None),
        ("", None, None),
    ];
    for (value, as_integer, as_float) in rows {
        assert_eq!(integer(value).ok(), as_integer, "{value} as integer");
        assert_eq!(float(value).ok(), as_float, "{value} as float");
    }
}

#[test]
fn booleans_are_those_of_go() {
    for value in ["1", "t", "T", "TRUE", "true", "True"] {
        assert_eq!(boolean(value), Ok(true), "{value}");
    }
    for value in ["0", "f", "F", "FALSE", "false", "False"] {
        assert_eq!(boolean(value), Ok(false), "{value}");
    }
    for value in ["yes", "no", "on", "tRUE", "2", ""] {
        assert!(boolean(value).is_err(), "{value}");
    }
}

#[test]
fn durations_are_those_of_go_or_milliseconds() {
    let rows = [
        ("30s", Some(30_000_000_000)),
        ("5m", Some(300_000_000_000)),
        ("1h30m", Some(5_400_000_000_000)),
        ("1.5s", Some(1_500_000_000)),
        (".5s", Some(500_000_000)),
        ("5.s", Some(5_000_000_000)),
        ("100ms", Some(100_000_000)),
        ("7us", Some(7_000)),
        ("7µs", Some(7_000)),
        ("7μs", Some(7_000)),
        ("9ns", Some(9)),
        ("1.00000000000000000001h", Some(3_600_000_000_000)),
        ("0", Some(0)),
        ("-0", Some(0)),
        ("500", Some(500_000_000)),
        ("+500", Some(500_000_000)),
        ("+5s", Some(5_000_000_000)),
        ("-5s", None),
        ("-500", None),
        ("1.5", None),
        ("5 s", None),
        ("5d", None),
        ("s", None),
        (".s", None),
        ("1..5s", None),
        ("5sm", None),
        ("10000000h", None),
        ("99999999999999999999999999999999999999999", None),
        ("", None),
        ("+", None),
    ];
    for (value, nanos) in rows {
        assert_eq!(duration(value).ok(), nanos.map(Duration::from_nanos), "{value}");
    }
    assert_eq!(duration("-5s").unwrap_err().problem, "is negative");
}

#[test]
fn lists_are_split_and_trimmed() {
    assert_eq!(list("a, b ,c", ',', text).unwrap(), ["a", "b", "c"]);
    assert_eq!(list("a;b,c", ';', text).unwrap(), ["a", "b,c"]);
    assert_eq!(list("1, 2", ',', integer).unwrap(), [1, 2]);
    assert!(list("1,x", ',', integer).is_err());
    assert!(list("1,", ',', integer).is_err());
}

#[test]
fn integer_lists_know_ranges() {
    let rows: [(&str, Option<Vec<i64>>); 7] = [
        ("1,3-5", Some(vec![1, 3, 4, 5])),
        ("-2-1", Some(vec![-2, -1, 0, 1])),
        ("4-4", Some(vec![4])),
        ("5-3", None),
        ("1-x", None),
        ("1-", None),
        ("0-9223372036854775807", None),
    ];
    for (value, expected) in rows {
        assert_eq!(integer_ranges(value).ok(), expected, "{value}");
    }
}

#[test]
fn maps_are_lists_of_pairs() {
    assert_eq!(map("a=1, b = 2").unwrap(), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(map("a=").unwrap(), pairs(&[("a", "")]));
    for value in ["a", "a=1,b", "a=1,", "a=b=c", "token=YWJj=="] {
        assert!(map(value).is_err(), "{value}");
    }
}

#[test]
fn url_values_are_a_query_string() {
    assert_eq!(url_values("a=1&b=x+y%2Fz").unwrap(), pairs(&[("a", "1"), ("b", "x y/z")]));
    assert_eq!(url_values("a").unwrap(), pairs(&[("a", "")]));
    for value in ["a=%", "a=%4", "a=%zz", "a=1;b=2", "a=%%41"] {
        assert!(url_values(value).is_err(), "{value}");
    }
}

#[test]
fn enums_are_case_sensitive_and_checked_element_by_element() {
    const MODES: &[&str] = &["basic", "tls", "bearer"];
    assert_eq!(members("basic, tls", MODES).unwrap(), ["basic", "tls"]);
    assert!(members("Basic", MODES).is_err());
    assert!(members("basic,", MODES).is_err());
    assert_eq!(one_of("tls", MODES), Ok("tls"));
    assert_eq!(one_of("none", MODES).unwrap_err().remedy, "use basic, tls, bearer");
}

#[test]
fn exclusive_sets_allow_one_of_them() {
    let set = ["bearer", "basic"];
    assert!(exclusive(vec!["bearer", "tls"], &set).is_ok());
    assert!(exclusive(vec![], &set).is_ok());
    assert!(exclusive(vec!["bearer", "basic"], &set).is_err());
    assert!(exclusive(vec!["basic", "basic"], &set).is_err(), "KEDA: counts elements, not kinds");
}

proptest! {
    #[test]
    fn no_text_makes_a_conversion_panic(value in ".*") {
        let _ = (integer(&value), float(&value), boolean(&value), duration(&value));
        let _ = (integer_ranges(&value), map(&value), url_values(&value));
    }

    #[test]
    fn every_integer_can_be_written(number: i64) {
        prop_assert_eq!(integer(&number.to_string()), Ok(number));
    }

    #[test]
    fn whole_seconds_are_a_thousand_milliseconds(seconds in 0u64..1_000_000) {
        prop_assert_eq!(duration(&format!("{seconds}s")), duration(&format!("{}", seconds * 1000)));
    }
}
