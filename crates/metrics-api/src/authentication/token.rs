//! The bearer token of a request, which a TokenReview verifies. It is never logged.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::AuthenticationError;

/// A credential. Nothing but [`BearerToken::expose`] gives it away.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// Finds the token among the headers. Other ways to authorise are none of ours.
    pub(crate) fn find(headers: &HeaderMap) -> Result<Option<Self>, AuthenticationError> {
        let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
        let text = value.to_str().map_err(|_| AuthenticationError::Header(AUTHORIZATION.to_string()))?;
        let mut words = text.trim().split(' ');
        let is_bearer = words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        let token = words.next().filter(|token| is_bearer && !token.is_empty());
        Ok(token.map(|token| Self(token.to_owned())))
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
    use http::HeaderValue;

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
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().expect("a header"));
            let token = BearerToken::find(&headers).expect("text");
            assert_eq!(token.as_ref().map(BearerToken::expose), expected, "{header:?}");
        }
        assert!(BearerToken::find(&HeaderMap::new()).expect("text").is_none());
    }

    #[test]
    fn a_header_that_is_not_text_is_rejected_not_ignored() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").expect("a header"));
        let error = BearerToken::find(&headers).expect_err("must not pass");
        assert_eq!(error.to_string(), "the header authorization is not text");
    }

    #[test]
    fn debug_output_hides_the_token() {
        assert_eq!(format!("{:?}", BearerToken("secret".to_owned())), "***");
    }
}
