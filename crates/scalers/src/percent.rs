//! Percent escapes in addresses.

/// Whether two hexadecimal digits follow each `%`. Go refuses other URLs.
pub(crate) fn has_whole_escapes(text: &str) -> bool {
    let is_whole =
        |tail: &str| tail.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    text.split('%').skip(1).all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_have_two_digits() {
        let rows =
            [("", true), ("a", true), ("%2F%ff", true), ("%", false), ("a%2", false), ("%zz", false), ("%%20", false)];
        for (text, expected) in rows {
            assert_eq!(has_whole_escapes(text), expected, "{text}");
        }
    }
}
