//! Parsing the text of a quantity.

use super::decimal::{Decimal, NANO};
use super::{Amount, Notation, Quantity};

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("`{text}` is not a quantity; write a number with an optional suffix, such as 5, 2.5, 1500m or 1Gi")]
    Malformed { text: String },
    #[error(
        "`{suffix}` is no suffix of a quantity; use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or e<exponent>"
    )]
    Suffix { suffix: String },
    #[error("`{text}` has no digits; write a number in front of the suffix")]
    NoDigits { text: String },
}

/// Up to this many digits an `i64` holds any number.
const SMALL_DIGITS_MAX: usize = 18;

pub(super) fn parse(text: &str) -> Result<Quantity, ParseError> {
    let parts = scan(text).ok_or_else(|| ParseError::Malformed { text: text.to_owned() })?;
    let unit = parse_unit(parts.suffix).ok_or_else(|| ParseError::Suffix { suffix: parts.suffix.to_owned() })?;
    let small = match unit {
        Unit::Suffix(exponent) | Unit::Exponent(exponent) => parse_small_decimal(text, &parts, exponent),
        Unit::Binary(bits) => parse_small_binary(text, &parts, bits),
    };
    match small {
        Some((amount, spelling)) => Ok(Quantity { amount, notation: unit.notation(), spelling }),
        None => parse_large(text, &parts, unit),
    }
}

struct Parts<'a> {
    negative: bool,
    /// Digits in front of the point, without leading zeros; at least one.
    whole: &'a str,
    fraction: &'a str,
    /// Both and the point between them, as written, without the sign.
    number: &'a str,
    suffix: &'a str,
}

/// Takes a text apart.
///
/// KEDA: Kubernetes wants no digits: a sign, a point or a suffix alone is a zero.
fn scan(text: &str) -> Option<Parts<'_>> {
    if text.is_empty() {
        return None;
    }
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let significant = unsigned.trim_start_matches('0');
    if significant.is_empty() {
        return Some(Parts { negative, whole: "0", fraction: "", number: "0", suffix: "" });
    }
    let (whole, rest) = split_digits(significant);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    let number = &unsigned[..unsigned.len() - suffix.len()];
    let exponent = suffix.trim_start_matches(|character| "eEinumkKMGTP".contains(character));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let whole = if whole.is_empty() { "0" } else { whole };
    split_digits(exponent).1.is_empty().then_some(Parts { negative, whole, fraction, number, suffix })
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

#[derive(Clone, Copy)]
enum Unit {
    /// A power of ten, written as a suffix or not at all.
    Suffix(i32),
    /// A power of ten, written as an exponent.
    Exponent(i32),
    /// A power of two.
    Binary(u32),
}

impl Unit {
    fn notation(self) -> Notation {
        match self {
            Unit::Suffix(_) => Notation::DecimalSuffix,
            Unit::Exponent(_) => Notation::DecimalExponent,
            Unit::Binary(_) => Notation::BinarySuffix,
        }
    }
}

fn parse_unit(suffix: &str) -> Option<Unit> {
    let unit = match suffix {
        "n" => Unit::Suffix(-9),
        "u" => Unit::Suffix(-6),
        "m" => Unit::Suffix(-3),
        "" => Unit::Suffix(0),
        "k" => Unit::Suffix(3),
        "M" => Unit::Suffix(6),
        "G" => Unit::Suffix(9),
        "T" => Unit::Suffix(12),
        "P" => Unit::Suffix(15),
        "E" => Unit::Suffix(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // KEDA: only the low 32 bits of an exponent count; 1e4294967297 is 10.
            Unit::Exponent(exponent as i32)
        }
    };
    Some(unit)
}

/// An amount, and the text it came from where that is to be kept.
type Small = (Amount, Option<String>);

/// Up to 18 digits, nothing finer than nano.
fn parse_small_decimal(text: &str, parts: &Parts<'_>, exponent: i32) -> Option<Small> {
    if parts.whole.len() + parts.fraction.len() > SMALL_DIGITS_MAX {
        return None;
    }
    let scale = exponent.checked_sub(parts.fraction.len() as i32).filter(|scale| *scale >= NANO)?;
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let magnitude: i64 = digits.parse().expect("18 digits fit");
    let value = if parts.negative { -magnitude } else { magnitude };
    let canonical = scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0');
    Some((Amount::Small { value, scale }, canonical.then(|| text.to_owned())))
}

/// Integers whose product has about 15 digits at most.
fn parse_small_binary(text: &str, parts: &Parts<'_>, bits: u32) -> Option<Small> {
    // 2^10 counts as three digits, and one is kept in reserve.
    let digits = parts.whole.len() + bits as usize * 3 / 10 + 1;
    if !parts.fraction.is_empty() || digits > 15 {
        return None;
    }
    let count: i64 = parts.whole.parse().expect("15 digits fit");
    let magnitude = count.checked_mul(1 << bits)?;
    let value = if parts.negative { -magnitude } else { magnitude };
    // KEDA: a count that is a multiple of 8 is printed in canonical form, any other is kept as written, 1025Ki as well as 01Ki.
    Some((Amount::Small { value, scale: 0 }, (count % 8 != 0).then(|| text.to_owned())))
}

fn parse_large(text: &str, parts: &Parts<'_>, unit: Unit) -> Result<Quantity, ParseError> {
    let (exponent, bits) = match unit {
        Unit::Suffix(exponent) | Unit::Exponent(exponent) => (i64::from(exponent), 0),
        Unit::Binary(bits) => (0, bits),
    };
    let number = Decimal::parse(parts.negative, parts.number, exponent)
        .ok_or_else(|| ParseError::NoDigits { text: text.to_owned() })?;
    let magnitude = number.abs().times_power_of_two(bits).round_to_nano();
    let notation = match unit.notation() {
        Notation::BinarySuffix if magnitude.compare(&Decimal::new(i64::MAX, 0)).is_gt() => {
            return Ok(largest_binary(parts.negative));
        }
        Notation::BinarySuffix if magnitude.compare(&Decimal::new(1, 0)).is_lt() => Notation::DecimalSuffix,
        notation => notation,
    };
    Ok(Quantity { amount: Amount::Large(magnitude.with_sign_of(&number)), notation, spelling: None })
}

/// KEDA: only binary quantities are capped.
fn largest_binary(negative: bool) -> Quantity {
    let value = if negative { -i64::MAX } else { i64::MAX };
    Quantity { amount: Amount::Small { value, scale: 0 }, notation: Notation::BinarySuffix, spelling: None }
}
