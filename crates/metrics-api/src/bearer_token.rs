//! The bearer token of a request, which a TokenReview verifies. It is never logged.

use std::fmt;

/// A credential. Nothing but [`BearerToken::expose`] gives it away.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// Parses an `Authorization` header. Other schemes than `Bearer` are ignored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.trim().split(' ');
        let is_bearer = words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        let token = words.next().filter(|token| is_bearer && !token.is_empty());
        token.map(|token| Self(token.to_owned()))
    }

    /// The token itself, to be sent to the API server and nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_are_found() {
        let rows = [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("Bearer abc trailing", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("", None),
        ];
        for (header, expected) in rows {
            let token = BearerToken::parse(header);
            assert_eq!(token.as_ref().map(BearerToken::expose), expected, "{header:?}");
        }
    }

    #[test]
    fn debug_output_hides_the_token() {
        assert_eq!(format!("{:?}", BearerToken("secret".to_owned())), "***");
    }
}
