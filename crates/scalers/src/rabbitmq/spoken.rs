//! Which protocol a trigger speaks, and what has no meaning in it.

use super::fields::{HOST, PROTOCOL};
use crate::field::Field;
use crate::metadata::{Reader, convert};
use crate::percent::has_whole_escapes;
use crate::trigger::FieldError;

pub(super) const HOST_REMEDY: &str =
    "write amqp://user:password@rabbitmq.queues:5672/vhost, or http://user:password@rabbitmq.queues:15672/vhost";

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Amqp,
    /// The management API.
    Http,
}

pub(super) fn parse_spoken(read: &mut Reader<'_>, host: Option<&str>) -> Option<Spoken> {
    let named = match read.or_default(PROTOCOL, |text| convert::one_of(text, &["amqp", "http", "auto"])) {
        "amqp" => Some(Spoken::Amqp),
        "http" => Some(Spoken::Http),
        _ => None,
    };
    let Some(host) = host else { return named };
    let scheme = host.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase()).unwrap_or_default();
    let of_host = match scheme.as_str() {
        "amqp" | "amqps" => Spoken::Amqp,
        "http" | "https" => Spoken::Http,
        _ => {
            let problem = "does not begin with amqp://, amqps://, http:// or https://";
            read.error(FieldError::new(HOST.name, problem, HOST_REMEDY));
            return None;
        }
    };
    // KEDA: Go's parser of URLs does not look into queries.
    if !has_whole_escapes(host.split('?').next().unwrap_or_default()) {
        let problem = "has a `%` that two hexadecimal digits do not follow";
        read.error(FieldError::new(HOST.name, problem, "write %25 for the sign itself"));
        return None;
    }
    if named.is_some_and(|named| named != of_host) {
        let problem = format!("does not fit `host`, which begins with {scheme}://");
        read.error(FieldError::new(PROTOCOL.name, problem, "remove it, or correct `host`"));
        return None;
    }
    Some(of_host)
}

/// Reports a parameter that has no meaning over AMQP.
pub(super) fn need_http(read: &mut Reader<'_>, field: Field, spoken: Option<Spoken>, what: &str) {
    if spoken == Some(Spoken::Amqp) {
        let problem = format!("{what}, which only the management API can answer");
        read.error(FieldError::new(
            field.name,
            problem,
            "let `host` be the URL of the management API: http:// or https://",
        ));
    }
}
