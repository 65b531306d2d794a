//! The formats of strings and numbers that the API server validates; it ignores all others.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use chrono::NaiveDate;
use regex::Regex;

use super::duration;

/// A format that is checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    /// A string, and whether it is one.
    Text(fn(&str) -> bool),
    Int32,
    Int64,
    Float,
    Double,
}

impl Format {
    /// The format of this name for values of a type, if it is checked there.
    pub(super) fn named(kind: &str, int_or_string: bool, name: &str) -> Option<Self> {
        match (kind, name) {
            (_, "") => None,
            _ if int_or_string => text_format(name),
            ("" | "string", _) => text_format(name),
            ("integer", "int32") => Some(Self::Int32),
            ("integer", "int64") => Some(Self::Int64),
            ("number", "float") => Some(Self::Float),
            ("number", "double") => Some(Self::Double),
            _ => None,
        }
    }
}

/// Dashes in names do not count.
fn text_format(name: &str) -> Option<Format> {
    let check: fn(&str) -> bool = match name.replace('-', "").as_str() {
        "bsonobjectid" => |text| matches(&BSON, text),
        "byte" => |text| matches(&BASE64, text),
        "cidr" => is_cidr,
        "creditcard" => is_credit_card,
        "date" => is_date,
        "datetime" => is_date_time,
        "duration" => |text| duration::parse(text).is_some(),
        "email" => |text| matches(&EMAIL, text),
        "hexcolor" => |text| matches(&HEX_COLOR, text),
        "hostname" => is_hostname,
        "ipv4" => is_ipv4,
        "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "k8slongname" => |text| text.len() <= 253 && matches(&LONG_NAME, text),
        "k8sshortname" => |text| text.len() <= 63 && matches(&SHORT_NAME, text),
        "mac" => |text| matches(&MAC, text),
        "password" => |_| true,
        "rgbcolor" => |text| matches(&RGB_COLOR, text),
        "ssn" => |text| matches(&SSN, text),
        "uri" => is_request_uri,
        "uuid" => |text| matches(&UUID, text),
        "uuid3" => |text| matches(&UUID3, text),
        "uuid4" => |text| matches(&UUID4, text),
        "uuid5" => |text| matches(&UUID5, text),
        _ => return None,
    };
    Some(Format::Text(check))
}

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a constant pattern compiles"));)*
    };
}

patterns! {
    BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    BSON = r"^[0-9a-fA-F]{24}$";
    CREDIT_CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
    DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
    EMAIL = r#"^(?:[^<>@",]*<)?[^\s<>@",()]+@[^\s<>@",()]+>?$"#;
    HEX_COLOR = r"^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    HOSTNAME = r"^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$";
    LONG_NAME = r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$";
    MAC = r"^(?i)(?:[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?::[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19}|(?:-[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){7}|(?:-[0-9a-f]{2}){19})|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){2}|(?:\.[0-9a-f]{4}){3}|(?:\.[0-9a-f]{4}){9}))$";
    RGB_COLOR = r"^rgb\([\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(?:[\t\n\f\r ]*,[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])){2}[\t\n\f\r ]*\)$";
    SHORT_NAME = r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$";
    SSN = r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    UUID = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
}

fn matches(pattern: &Regex, text: &str) -> bool {
    pattern.is_match(text)
}

fn is_date(text: &str) -> bool {
    matches(&DATE, text) && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// A date and a time of day with an offset; the range of the offset is not checked.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let within = |found: regex::Captures<'_>| &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59";
    is_date(date) && TIME.captures(time).is_some_and(within)
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && matches(&HOSTNAME, text) && text.split('.').all(|label| label.len() <= 63)
}

/// Leading zeros are tolerated.
fn is_ipv4(text: &str) -> bool {
    let plain: Vec<&str> = text.split('.').map(without_leading_zeros).collect();
    plain.join(".").parse::<Ipv4Addr>().is_ok() || text.contains('.') && text.parse::<Ipv6Addr>().is_ok()
}

fn without_leading_zeros(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" if !number.is_empty() => "0",
        trimmed => trimmed,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match () {
        () if address.parse::<Ipv6Addr>().is_ok() => 128,
        () if is_ipv4(address) => 32,
        () => return false,
    };
    bits.bytes().all(|digit| digit.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// An absolute URI, or a path that begins with a slash.
fn is_request_uri(text: &str) -> bool {
    let clean = !text.is_empty() && !text.contains(|c: char| c.is_ascii_control()) && escapes_are_whole(text);
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let absolute = scheme.is_some_and(|scheme| {
        let mut characters = scheme.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && characters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    clean && (text == "*" || text.starts_with('/') || absolute && authority_is_clean(text))
}

fn escapes_are_whole(text: &str) -> bool {
    let hex = |part: &str| part.len() >= 2 && part.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    text.split('%').skip(1).all(hex)
}

fn authority_is_clean(text: &str) -> bool {
    let authority = text.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(""));
    let port = authority.rsplit_once(':').filter(|_| !authority.ends_with(']')).map_or("", |(_, port)| port);
    !authority.contains([' ', '<', '>', '"', '\\', '^', '{', '}', '`'])
        && port.bytes().all(|digit| digit.is_ascii_digit())
}

fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|character| character.to_digit(10)).collect()
}

fn is_credit_card(text: &str) -> bool {
    let digits = digits_of(text);
    let number: String = digits.iter().map(u32::to_string).collect();
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(at, digit)| if at % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    matches(&CREDIT_CARD, &number) && sum.is_multiple_of(10)
}

fn without_dashes(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_whitespace() && *character != '-').collect()
}

fn is_isbn10(text: &str) -> bool {
    let plain = without_dashes(text);
    let value = |(at, character): (usize, char)| match character {
        'X' if at == 9 => Some(10 * 10),
        _ => character.to_digit(10).map(|digit| (at as u32 + 1) * digit),
    };
    let values: Option<Vec<u32>> = plain.chars().enumerate().map(value).collect();
    plain.len() == 10 && values.is_some_and(|values| values.iter().sum::<u32>() % 11 == 0)
}

fn is_isbn13(text: &str) -> bool {
    let plain = without_dashes(text);
    let digits = digits_of(&plain);
    let sum: u32 = digits.iter().enumerate().map(|(at, digit)| if at % 2 == 1 { 3 * digit } else { *digit }).sum();
    plain.len() == 13 && digits.len() == 13 && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn strings_of_a_format_are_recognised() {
        let rows = [
            ("date-time", "2014-12-15T19:30:20.000Z", true),
            ("date-time", "2014-12-15t19:30:20+01:00", true),
            ("date-time", "2014-12-15 19:30:20Z", false),
            ("date-time", "2014-12-15T24:30:20Z", false),
            ("date", "2014-02-30", false),
            ("date", "2014-02-28", true),
            ("duration", "1h30m", true),
            ("duration", "22 ns", true),
            ("duration", "soon", false),
            ("ipv4", "010.1.2.3", true),
            ("ipv4", "1.2.3", false),
            ("ipv6", "::1", true),
            ("ipv6", "1.2.3.4", false),
            ("cidr", "10.0.0.0/8", true),
            ("cidr", "10.0.0.0/33", false),
            ("mac", "00:1a:2b:3c:4d:5e", true),
            ("mac", "00:1a", false),
            ("hostname", "example.com", true),
            ("hostname", "-a", false),
            ("uri", "https://example.com/a?b=c", true),
            ("uri", "/a", true),
            ("uri", "a", false),
            ("uri", "http://a b/", false),
            ("email", "a@example.com", true),
            ("email", "a.example.com", false),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", true),
            ("uuid4", "123e4567-e89b-12d3-a456-426614174000", false),
            ("byte", "aGk=", true),
            ("byte", "a", false),
            ("isbn", "0321751043", true),
            ("isbn13", "978-0321751041", true),
            ("isbn10", "0321751044", false),
            ("creditcard", "4111 1111 1111 1111", true),
            ("creditcard", "4111 1111 1111 1112", false),
            ("k8s-short-name", "web-1", true),
            ("k8s-short-name", "web.1", false),
            ("k8s-long-name", "web.1", true),
        ];
        for (name, text, expected) in rows {
            let Some(Format::Text(check)) = Format::named("string", false, name) else {
                panic!("{name} is not checked")
            };
            assert_eq!(check(text), expected, "{text} as {name}");
        }
    }

    #[test]
    fn formats_of_other_types_are_not_checked() {
        assert!(Format::named("integer", false, "date").is_none());
        assert!(Format::named("string", false, "int32").is_none());
        assert!(Format::named("object", false, "date").is_none());
    }
}
