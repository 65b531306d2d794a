//! The path and the query of a request, decoded once. What they mean is left to `route` and `attributes`.

use http::Uri;

use crate::status::Status;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    path: String,
    query: Vec<(String, String)>,
}

impl Target {
    pub(crate) fn parse(uri: &Uri) -> Result<Self, Status> {
        let path = decode_percent(uri.path())
            .ok_or_else(|| Status::bad_request(format!("the path {:?} is not percent-encoded UTF-8", uri.path())))?;
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        Ok(Self { path, query })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The first value of a parameter.
    pub(crate) fn parameter(&self, name: &'static str) -> Option<&str> {
        self.parameters(name).next()
    }

    pub(crate) fn parameters(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a watch is wanted. Kubernetes reads every value but these two as yes, even an empty one.
    pub(crate) fn is_watch(&self) -> bool {
        self.parameter("watch").is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

/// Decodes a text in which every `%` starts a valid escape, and returns `None` for any other.
pub(crate) fn decode_percent(text: &str) -> Option<String> {
    let escapes_hold = text.split('%').skip(1).all(|rest| {
        let escape = rest.as_bytes().get(..2);
        escape.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if !escapes_hold {
        return None;
    }
    Some(percent_encoding::percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(uri: &str) -> Target {
        Target::parse(&uri.parse().expect("a URI")).expect("a target")
    }

    #[test]
    fn only_complete_escapes_are_decoded() {
        let rows = [
            ("plain", Some("plain")),
            ("a%2Fb", Some("a/b")),
            ("s0%3Aqueue", Some("s0:queue")),
            ("100%", None),
            ("%4", None),
            ("%zz", None),
            ("%ff", None),
            ("%C3%A9", Some("é")),
        ];
        for (text, expected) in rows {
            assert_eq!(decode_percent(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_broken_path_is_a_bad_request() {
        let status = Target::parse(&"/apis/%zz".parse().expect("a URI")).expect_err("must not parse");
        assert_eq!(status.code().as_u16(), 400);
        assert_eq!(status.message(), r#"the path "/apis/%zz" is not percent-encoded UTF-8"#);
    }

    #[test]
    fn a_query_is_a_form() {
        let target = target("/x?labelSelector=a%3Db%2Cc+in+%28d%29&labelSelector=second&empty");
        assert_eq!(target.parameter("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(target.parameters("labelSelector").count(), 2);
        assert_eq!(target.parameter("empty"), Some(""));
        assert_eq!(target.parameter("absent"), None);
    }

    #[test]
    fn a_watch_is_anything_but_a_plain_no() {
        let rows = [
            ("/x", false),
            ("/x?watch=true", true),
            ("/x?watch=1", true),
            ("/x?watch", true),
            ("/x?watch=0", false),
            ("/x?watch=False", false),
        ];
        for (uri, expected) in rows {
            assert_eq!(target(uri).is_watch(), expected, "{uri}");
        }
    }
}
