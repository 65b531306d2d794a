//! What the errors of servers mean, and what can be done about them.

use kedge_core::secret::Secret;
use kedge_wire::postgres::{ServerError, SqlState};

use crate::error::{Endpoint, ReadError};
use crate::sessions::{ExchangeError, shown_words};

/// The server's words, and a remedy where there is one.
fn explain(error: &ServerError, password: Option<&Secret>) -> String {
    let words = shown_words(&error.to_string(), password.as_slice());
    match remedy(&error.code) {
        Some(remedy) => format!("{words}; {remedy}"),
        None => words,
    }
}

fn remedy(code: &SqlState) -> Option<&'static str> {
    match code.0.as_str() {
        SqlState::INVALID_PASSWORD => {
            Some("check the user and the password in `connection`, or `userName` and `password`")
        }
        SqlState::INVALID_AUTHORIZATION => Some("check the user and `sslmode`, and what pg_hba.conf allows"),
        SqlState::INVALID_CATALOG_NAME => Some("check the name of the database in `connection`, or `dbName`"),
        SqlState::INSUFFICIENT_PRIVILEGE => Some("grant the user what the query needs, or CONNECT on the database"),
        "53300" => Some("raise max_connections of the server, or use a pooler"),
        "57014" => Some("use a cheaper query, or raise statement_timeout"),
        _ if code.class() == "42" => Some("correct `query`"),
        _ => None,
    }
}

/// Whether the server refuses for want of credentials, of permissions, or of the database that they are for.
fn is_denial(code: &SqlState) -> bool {
    matches!(
        code.0.as_str(),
        SqlState::INVALID_PASSWORD
            | SqlState::INVALID_AUTHORIZATION
            | SqlState::INSUFFICIENT_PRIVILEGE
            | SqlState::INVALID_CATALOG_NAME
    )
}

/// The server does not let the user in.
pub(super) fn refusal(error: &ServerError, password: Option<&Secret>) -> ExchangeError {
    match is_denial(&error.code) {
        true => ExchangeError::Denied(explain(error, password)),
        false => ExchangeError::Refused(explain(error, password)),
    }
}

/// The query failed.
pub(crate) fn query_failure(endpoint: Endpoint, error: &ServerError) -> ReadError {
    match is_denial(&error.code) {
        true => ReadError::Denied { endpoint, message: explain(error, None) },
        false => ReadError::Refused { endpoint, message: explain(error, None) },
    }
}

/// Whether no other server, and no other encryption, would help.
// pgx: after these three, it tries no other host. Other refusals may come from pg_hba.conf, and depend on encryption.
pub(crate) fn is_final(error: &ReadError) -> bool {
    match error {
        ReadError::Denied { message, .. } => {
            let code = message.split(':').next().unwrap_or_default();
            [SqlState::INVALID_PASSWORD, SqlState::INVALID_CATALOG_NAME, SqlState::INSUFFICIENT_PRIVILEGE]
                .contains(&code)
        }
        ReadError::NoCredentials { .. } | ReadError::Config { .. } => true,
        _ => false,
    }
}
