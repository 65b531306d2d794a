//! The meaning of a failed call.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;
use tonic::{Code, Status};

use crate::error::{Endpoint, ReadError, cut};
use crate::http::{find, innermost};

/// Why a call failed. A status with a source was made on this side: the server sent no status.
pub(super) fn explain(status: &Status, method: &'static str, endpoint: Endpoint, limit: Duration) -> ReadError {
    let Some(source) = status.source() else {
        let message = cut(status.message());
        return ReadError::Rpc { endpoint, method, code: code(status.code()), message };
    };
    if let Some(tls) = find::<rustls::Error>(source) {
        return ReadError::Untrusted { endpoint, problem: tls.to_string() };
    }
    let timed_out = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    if find::<io::Error>(source).is_some_and(timed_out) {
        return ReadError::Timeout { endpoint, limit };
    }
    let problem = innermost(source);
    // HTTP/2 keeps only the text of a TLS error, as when a server rejects a certificate after the handshake.
    if problem.starts_with("received fatal alert") {
        return ReadError::Untrusted { endpoint, problem };
    }
    match find::<legacy::Error>(source).is_some_and(legacy::Error::is_connect) {
        true => ReadError::Connect { endpoint, problem },
        false => ReadError::Connect { endpoint, problem: format!("{method} broke off: {problem}") },
    }
}

/// Whether the server sent the status, which proves that it is reachable.
pub(super) fn is_from_server(status: &Status) -> bool {
    status.source().is_none()
}

/// The code as the documents of gRPC write it.
fn code(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(status: &Status) -> String {
        explain(status, "GetMetrics", Endpoint::from_host("s:1".to_owned()), Duration::from_secs(3)).to_string()
    }

    #[test]
    fn a_servers_own_words_are_repeated_on_one_line_and_cut() {
        let rows = [
            (Status::not_found("no queue"), "s:1 answered GetMetrics with NOT_FOUND: no queue".to_owned()),
            (Status::internal("a\nb"), "s:1 answered GetMetrics with INTERNAL: a b".to_owned()),
            (Status::unknown(""), "s:1 answered GetMetrics with UNKNOWN: no explanation".to_owned()),
            (Status::aborted("é".repeat(300)), format!("s:1 answered GetMetrics with ABORTED: {}...", "é".repeat(200))),
        ];
        for (status, expected) in rows {
            assert_eq!(message(&status), expected);
        }
    }

    #[test]
    fn a_status_made_on_this_side_is_not_an_answer() {
        let refused = Status::from_error(Box::new(io::Error::from(io::ErrorKind::ConnectionRefused)));
        assert!(!is_from_server(&refused) && is_from_server(&Status::unavailable("x")));
        let late = Status::from_error(Box::new(io::Error::from(io::ErrorKind::TimedOut)));
        assert_eq!(message(&late), "s:1 gave no answer within 3s");
    }
}
