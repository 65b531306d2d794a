//! Tests of quantities: spellings as tables, invariants as properties.

use proptest::prelude::*;

use super::*;

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn floats_are_published_as_kubernetes_would_store_them() {
    let rows = [
        (0.0, "0"),
        (-0.0, "0"),
        (-1.0, "0"),
        (f64::NAN, "0"),
        (f64::INFINITY, "0"),
        (f64::NEG_INFINITY, "0"),
        (0.0004, "0"),
        (0.0005, "1m"),
        (0.5, "500m"),
        (0.1, "100m"),
        (1.0, "1"),
        (1.9996, "2"),
        (99.95, "99.950"),
        (1e6, "1M"),
        (2.5, "2.500"),
        (1.2345, "1.234"),
        (12.0005, "12.001"),
        (1234.5, "1234.500"),
        (1000.0, "1k"),
        (1500.0, "1500"),
        (2000.0, "2k"),
        (1_500_000.0, "1500k"),
        (1e18, "1E"),
        (1e20, "100E"),
        (1e21, "9223372036854775807m"),
        (f64::MAX, "9223372036854775807m"),
    ];
    for (value, expected) in rows {
        assert_eq!(format_float(value), expected, "{value}");
    }
}

#[test]
fn millis_are_printed_in_the_largest_unit_that_needs_no_fraction() {
    let rows = [
        (16_667, "16667m"),
        (5_000, "5"),
        (1_500_000, "1500"),
        (1_000_000, "1k"),
        (0, "0"),
        (-1, "-1m"),
        (i64::MAX, "9223372036854775807m"),
        (i64::MIN, "-9223372036854775808m"),
    ];
    for (milli, expected) in rows {
        assert_eq!(Quantity::from_milli(milli).canonical(), expected);
        assert_eq!(Quantity::from_milli(milli).milli_value(), milli);
    }
}

#[test]
fn odd_corners_are_those_of_kubernetes() {
    let rows = [
        // text                      canonical                milli   value
        ("-", "0", 0, 0),
        (".", "0", 0, 0),
        ("Ki", "0", 0, 0),
        ("E", "0", 0, 0),
        ("007", "007", 7000, 7),
        ("8Ki", "8Ki", 8_192_000, 8192),
        ("1025Ki", "1025Ki", 1_049_600_000, 1_049_600),
        ("0.1Ki", "102400m", 102_400, 103),
        ("-0.0000000001", "-1n", 1, 1),
        ("1e4294967297", "10", 10_000, 10),
        ("1e-2147483648", "1e-9", 1, 1),
        ("100Ei", "9223372036854775807", -1000, i64::MAX),
        ("-100Ei", "-9223372036854775807", 1000, -i64::MAX),
        ("1234567890123456789012e2000000000", "123456789012345678901200e1999999998", 0, 0),
    ];
    for (text, canonical, milli, value) in rows {
        let parsed = quantity(text);
        assert_eq!(
            (parsed.canonical().as_str(), parsed.milli_value(), parsed.value()),
            (canonical, milli, value),
            "{text}"
        );
    }
    assert_eq!(quantity("0e400").approx_f64(), 0.0);
    assert_eq!(quantity("1000000000000000000000").canonical(), "1000E");
}

#[test]
fn errors_name_the_position_and_the_cause() {
    let rows = [
        ("", "`` is not a quantity; write a number with an optional suffix, such as 5, 2.5, 1500m or 1Gi"),
        (" 1", "` 1` is not a quantity; write a number with an optional suffix, such as 5, 2.5, 1500m or 1Gi"),
        ("1K", "`K` is no suffix of a quantity; use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or e<exponent>"),
        (".e-20", "`.e-20` has no digits; write a number in front of the suffix"),
    ];
    for (text, message) in rows {
        assert_eq!(Quantity::parse(text).expect_err(text).to_string(), message);
    }
}

const NEARLY: &str = "[-+]{0,2}[0-9.]{0,40}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,25}";
const WITHIN_RANGE: &str = "[0-9]{1,15}(\\.[0-9]{0,12})?[num]?";
const SUFFIXES: &str = "(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?[0-9]{1,3})?";

fn well_formed() -> impl Strategy<Value = String> {
    ("[-+]?(0{0,2}[0-9]{1,24}(\\.[0-9]{0,14})?|\\.[0-9]{1,14})", SUFFIXES).prop_map(|(number, suffix)| number + &suffix)
}

/// Every number that is taken from a quantity, to see that none of them panics.
fn look_at(quantity: &Quantity) {
    let _ = (quantity.milli_value(), quantity.value(), quantity.approx_f64(), quantity.canonical());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}") {
        if let Ok(parsed) = Quantity::parse(&text) {
            look_at(&parsed);
        }
    }

    #[test]
    fn no_text_that_is_nearly_a_quantity_makes_it_panic(text in NEARLY) {
        if let Ok(parsed) = Quantity::parse(&text) {
            look_at(&parsed);
        }
    }

    #[test]
    fn the_canonical_text_is_the_same_number(text in well_formed()) {
        let parsed = quantity(&text);
        let again = quantity(&parsed.canonical());
        prop_assert_eq!(parsed.cmp_value(&again), Ordering::Equal);
        prop_assert_eq!(again.canonical(), parsed.canonical());
    }

    #[test]
    fn a_larger_amount_never_has_fewer_millis(left in WITHIN_RANGE, right in WITHIN_RANGE) {
        let (left, right) = (quantity(&left), quantity(&right));
        match left.cmp_value(&right) {
            Ordering::Less => prop_assert!(left.milli_value() <= right.milli_value()),
            Ordering::Equal => prop_assert_eq!(left.milli_value(), right.milli_value()),
            Ordering::Greater => prop_assert!(left.milli_value() >= right.milli_value()),
        }
    }

    #[test]
    fn millis_survive_printing(milli in any::<i64>()) {
        let again = quantity(&Quantity::from_milli(milli).canonical());
        prop_assert_eq!(again.cmp_value(&Quantity::from_milli(milli)), Ordering::Equal);
    }

    #[test]
    fn published_floats_are_within_half_a_milli(value in 0.0..1e12_f64) {
        let published = quantity(&format_float(value));
        prop_assert!((published.approx_f64() - value).abs() <= 0.000_5 + value * 1e-15);
    }

    #[test]
    fn every_float_is_published(bits in any::<u64>()) {
        look_at(&quantity(&format_float(f64::from_bits(bits))));
    }
}
