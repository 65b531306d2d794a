//! From text to values, by the rules that manifests were written for: JSON numbers, Go booleans and durations, lists,
//! maps and query strings. No function here repeats the text in its error: whether it may be shown is the reader's matter.

use std::time::Duration;

use kedge_core::selector::{self, LabelSelector, SelectorError};

/// Why a text is not a value of the wanted type, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionError {
    pub problem: String,
    pub remedy: String,
}

impl ConversionError {
    pub fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into() }
    }
}

pub type Converted<T> = Result<T, ConversionError>;

pub fn text(value: &str) -> Converted<String> {
    Ok(value.to_owned())
}

/// A JSON number without fraction and exponent that fits 64 bits.
pub fn integer(value: &str) -> Converted<i64> {
    let error = || ConversionError::new("is not an integer", "write plain digits, as in 5 or -3");
    match json_number(value) {
        Some(Number::Integer) => {
            value.parse().map_err(|_| ConversionError::new("does not fit 64 bits", "use a smaller number"))
        }
        _ => Err(error()),
    }
}

/// A JSON number.
pub fn float(value: &str) -> Converted<f64> {
    let error = || ConversionError::new("is not a number", "write it as in JSON: 5, -3, 0.5 or 1e3");
    json_number(value).ok_or_else(error)?;
    let number: f64 = value.parse().map_err(|_| error())?;
    if number.is_finite() { Ok(number) } else { Err(ConversionError::new("is out of range", "use a smaller number")) }
}

enum Number {
    Integer,
    Real,
}

/// What kind of JSON number a text is, if it is one.
fn json_number(value: &str) -> Option<Number> {
    let unsigned = value.strip_prefix('-').unwrap_or(value);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let exponent_digits = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    let valid =
        is_digits(whole) && !leading_zero && fraction.is_none_or(is_digits) && exponent_digits.is_none_or(is_digits);
    let plain = fraction.is_none() && exponent.is_none();
    valid.then_some(if plain { Number::Integer } else { Number::Real })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub fn boolean(value: &str) -> Converted<bool> {
    match value {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(ConversionError::new("is neither true nor false", "write \"true\" or \"false\"")),
    }
}

/// Go's duration text, or a plain number of milliseconds.
pub fn duration(value: &str) -> Converted<Duration> {
    let error =
        || ConversionError::new("is not a duration", "write it as 30s, 5m or 1h30m, or as a number of milliseconds");
    let (negative, unsigned) = match value.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, value.strip_prefix('+').unwrap_or(value)),
    };
    let nanos = if is_digits(unsigned) { unit_nanos(unsigned, "ms") } else { go_duration_nanos(unsigned) };
    let nanos = nanos.ok_or_else(error)?;
    if negative && nanos > 0 {
        return Err(ConversionError::new("is negative", "use a duration of zero or more"));
    }
    // Go counts nanoseconds in 63 bits, some 292 years.
    match i64::try_from(nanos) {
        Ok(nanos) => Ok(Duration::from_nanos(nanos.unsigned_abs())),
        Err(_) => Err(ConversionError::new("is out of range", "use a shorter duration")),
    }
}

/// The nanoseconds of one or more amounts with units, such as `1h30m`.
fn go_duration_nanos(text: &str) -> Option<u128> {
    let mut rest = text;
    let mut total = 0u128;
    while !rest.is_empty() {
        let amount_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, after) = rest.split_at(amount_end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        total = total.checked_add(unit_nanos(amount, unit)?)?;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

fn unit_nanos(amount: &str, unit: &str) -> Option<u128> {
    let scale: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let empty_or_digits = |text: &str| text.is_empty() || is_digits(text);
    if whole.len() + fraction.len() == 0 || !empty_or_digits(whole) || !empty_or_digits(fraction) {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // No unit has more than 13 digits of nanoseconds: what follows cannot count.
    let fraction = &fraction[..fraction.len().min(13)];
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let tenths = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(scale)?.checked_add(part * scale / tenths)
}

/// The elements between the separators, each trimmed and converted.
pub fn list<T>(value: &str, separator: char, convert: impl Fn(&str) -> Converted<T>) -> Converted<Vec<T>> {
    value.split(separator).map(|element| convert(element.trim())).collect()
}

/// A list of integers, in which `a-b` means all from a to b.
pub fn integer_ranges(value: &str) -> Converted<Vec<i64>> {
    const LENGTH_MAX: i64 = 100_000; // more would be a slip of the pen, and cost memory
    let mut numbers = Vec::new();
    for element in list(value, ',', text)? {
        // A minus at the beginning is a sign, not a range.
        match element.char_indices().skip(1).find(|(_, c)| *c == '-') {
            None => numbers.push(integer(&element)?),
            Some((at, _)) => {
                let (first, last) = (integer(element[..at].trim())?, integer(element[at + 1..].trim())?);
                if first > last || last.saturating_sub(first) >= LENGTH_MAX {
                    return Err(ConversionError::new(
                        "has a range that is reversed or too long",
                        "write the lower end first",
                    ));
                }
                numbers.extend(first..=last);
            }
        }
    }
    Ok(numbers)
}

/// A list of `key=value`.
pub fn map(value: &str) -> Converted<Vec<(String, String)>> {
    list(value, ',', |element| match element.split('=').collect::<Vec<_>>()[..] {
        [key, value] => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(ConversionError::new(
            "is not a list of key=value",
            "write name=value,other=value; neither `=` nor `,` can be part of a value",
        )),
    })
}

/// A query string, percent-decoded.
pub fn url_values(value: &str) -> Converted<Vec<(String, String)>> {
    let escapes_are_whole = value
        .split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()));
    // Go rejects the semicolon, which once was a separator too.
    if !escapes_are_whole || value.contains(';') {
        return Err(ConversionError::new("is not a query string", "write a=1&b=2, and other characters as %XX"));
    }
    Ok(form_urlencoded::parse(value.as_bytes()).map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
}

/// A comma list in which every element is one of `members`.
pub fn members(value: &str, members: &[&'static str]) -> Converted<Vec<&'static str>> {
    list(value, ',', |element| one_of(element, members))
}

/// Exactly one of `members`.
pub fn one_of(value: &str, members: &[&'static str]) -> Converted<&'static str> {
    let found = members.iter().copied().find(|member| *member == value);
    found.ok_or_else(|| ConversionError::new("is not among the allowed values", format!("use {}", members.join(", "))))
}

/// A label selector, which stays a text: it is the API server that selects.
pub fn selector(value: &str) -> Converted<String> {
    let invalid =
        |error: SelectorError| ConversionError::new(format!("is not a label selector: {error}"), selector::REMEDY);
    match LabelSelector::parse(value).map_err(invalid)? {
        // It would select every object.
        all if all.is_empty() => Err(ConversionError::new("is an empty label selector", selector::REMEDY)),
        _ => Ok(value.to_owned()),
    }
}

/// Refuses two elements of `set` in one list.
pub fn exclusive<'a>(elements: Vec<&'a str>, set: &[&str]) -> Converted<Vec<&'a str>> {
    match elements.iter().filter(|element| set.contains(element)).count() {
        0 | 1 => Ok(elements),
        _ => Err(ConversionError::new(
            "has values that exclude each other",
            format!("keep at most one of {}", set.join(", ")),
        )),
    }
}

#[cfg(test)]
mod tests;
