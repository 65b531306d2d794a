//! What is wrong with a trigger, each problem with its remedy.

use kedge_core::credentials::CredentialError;
use kedge_scalers::{FieldError, ReadError};

use super::report::Problem;

pub(super) fn of_field(error: FieldError) -> Problem {
    Problem { field: Some(error.field), problem: error.problem, remedy: Some(error.remedy) }
}

pub(super) fn of_credentials(error: &CredentialError) -> Problem {
    match error {
        CredentialError::Invalid { place, problem, remedy } => {
            Problem { field: None, problem: format!("{place} {problem}"), remedy: Some(remedy.clone()) }
        }
        other => of_text(&other.to_string()),
    }
}

pub(super) fn of_reading(error: &ReadError) -> Problem {
    match error {
        ReadError::Config { field, problem, remedy } => {
            Problem { field: Some((*field).to_owned()), problem: problem.clone(), remedy: Some((*remedy).to_owned()) }
        }
        ReadError::Cluster { .. } => of_text(&error.to_string()),
        other => {
            let text = other.to_string();
            match of_text(&text) {
                // The reading itself says what to do with which field.
                explained if explained.remedy.as_ref().is_some_and(|remedy| remedy.contains('`')) => explained,
                _ => Problem { field: None, problem: text, remedy: Some(for_source(other).to_owned()) },
            }
        }
    }
}

/// A message that ends with its remedy, if it has one.
pub(super) fn of_text(message: &str) -> Problem {
    match message.rsplit_once("; ") {
        Some((problem, remedy)) => {
            Problem { field: None, problem: problem.to_owned(), remedy: Some(remedy.to_owned()) }
        }
        None => Problem { field: None, problem: message.to_owned(), remedy: None },
    }
}

fn for_source(error: &ReadError) -> &'static str {
    match error {
        denied if denied.is_denied() => "check the credentials of the trigger, and what they allow",
        ReadError::Timeout { .. } => "use a cheaper query, or raise --timeout, or the trigger's own limit",
        ReadError::Connect { .. } => {
            "start the source, or correct its address; names of Services are known only inside the cluster: there, forward a port \
             with `kubectl port-forward`, and give its address with --metadata"
        }
        ReadError::Untrusted { .. } => {
            "give the CA of its certificate with --ca-dir or in the trigger's authentication, and correct the client certificate, \
             if it needs one"
        }
        ReadError::Status { .. } | ReadError::Rpc { .. } | ReadError::Refused { .. } => {
            "correct what the trigger asks for; the source has more in its log"
        }
        ReadError::NoValue { .. } => "correct what the trigger asks for, or wait until the source has a value",
        ReadError::NoCredentials { .. } => {
            "this process needs the identity, not the operator: set the variables of the cloud, or give keys with --auth"
        }
        _ => "correct what the trigger asks for",
    }
}
