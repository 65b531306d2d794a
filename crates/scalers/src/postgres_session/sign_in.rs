//! The first messages on a connection: the user signs in, with a password where the server asks for one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use kedge_core::secret::Secret;
use kedge_wire::postgres::request::md5_password;
use kedge_wire::postgres::{Authentication, Request, Response};
use kedge_wire::scram::{ScramClient, ScramError, ScramHash};
use ring::rand::{SecureRandom, SystemRandom};

use super::connection::{PostgresConnection, malformed};
use super::failure::refusal;
use crate::error::cut;
use crate::sessions::ExchangeError;

/// Who signs in.
#[derive(Clone, Copy, Debug)]
pub(super) struct User<'a> {
    pub(super) name: &'a str,
    pub(super) password: Option<&'a Secret>,
}

/// Begins a session with these parameters, and returns when it is ready for a query.
pub(super) async fn sign_in(
    connection: &mut PostgresConnection,
    parameters: &[(&str, &str)],
    user: User<'_>,
) -> Result<(), ExchangeError> {
    connection.send(Request::Startup(parameters)).await?;
    authenticate(connection, user).await?;
    until_ready(connection, user).await
}

async fn authenticate(connection: &mut PostgresConnection, user: User<'_>) -> Result<(), ExchangeError> {
    let asked = loop {
        match connection.receive().await? {
            Response::Authentication(asked) => break asked,
            Response::Error(error) => return Err(refusal(&error, user.password)),
            Response::Notice(_) | Response::NegotiateProtocolVersion => {}
            _ => return Err(malformed("the server begins without asking who it is")),
        }
    };
    match asked {
        Authentication::Ok => return Ok(()),
        Authentication::CleartextPassword => {
            let password = given(user.password)?;
            connection.send(Request::Password(password)).await?;
        }
        Authentication::Md5Password { salt } => {
            let answer = md5_password(user.name, given(user.password)?, salt);
            connection.send(Request::Password(&answer)).await?;
        }
        Authentication::Sasl { mechanisms } => {
            prove_by_scram(connection, &mechanisms, user).await?;
        }
        Authentication::Unsupported(method) => {
            let problem = format!(
                "the server asks for {method}, which is not supported; let pg_hba.conf have scram-sha-256 for this user"
            );
            return Err(ExchangeError::Refused(problem));
        }
        Authentication::SaslContinue(_) | Authentication::SaslFinal(_) => return Err(out_of_order()),
    }
    match next_authentication(connection, user).await? {
        Authentication::Ok => Ok(()),
        _ => Err(out_of_order()),
    }
}

async fn prove_by_scram(
    connection: &mut PostgresConnection,
    mechanisms: &[String],
    user: User<'_>,
) -> Result<(), ExchangeError> {
    let hash = ScramHash::Sha256;
    if !mechanisms.iter().any(|offered| offered == hash.mechanism()) {
        let offered = mechanisms.join(", ");
        let problem = format!("the server offers {offered}; let pg_hba.conf have scram-sha-256 for this user");
        return Err(ExchangeError::Refused(cut(&problem)));
    }
    // The server takes the user from the first message of all.
    let scram = ScramClient::new(hash, "", given(user.password)?, &nonce()?);
    let first = scram.first();
    connection.send(Request::SaslInitial { mechanism: hash.mechanism(), message: first.as_bytes() }).await?;
    let Authentication::SaslContinue(server_first) = next_authentication(connection, user).await? else {
        return Err(out_of_order());
    };
    let (last, proof) = scram.last(&server_first).map_err(explain_scram)?;
    connection.send(Request::SaslResponse(last.as_bytes())).await?;
    let Authentication::SaslFinal(server_last) = next_authentication(connection, user).await? else {
        return Err(out_of_order());
    };
    proof.check(&server_last).map_err(explain_scram)
}

async fn next_authentication(
    connection: &mut PostgresConnection,
    user: User<'_>,
) -> Result<Authentication, ExchangeError> {
    loop {
        match connection.receive().await? {
            Response::Authentication(asked) => return Ok(asked),
            Response::Error(error) => return Err(refusal(&error, user.password)),
            Response::Notice(_) => {}
            _ => return Err(out_of_order()),
        }
    }
}

async fn until_ready(connection: &mut PostgresConnection, user: User<'_>) -> Result<(), ExchangeError> {
    loop {
        match connection.receive().await? {
            Response::ReadyForQuery(_) => return Ok(()),
            Response::Error(error) => return Err(refusal(&error, user.password)),
            Response::ParameterStatus { .. }
            | Response::BackendKeyData
            | Response::Notice(_)
            | Response::NegotiateProtocolVersion => {}
            _ => return Err(out_of_order()),
        }
    }
}

fn given(password: Option<&Secret>) -> Result<&str, ExchangeError> {
    let problem = "the server asks for a password, and none is given; give `password`, or one in `connection`";
    password.map(Secret::reveal).ok_or_else(|| ExchangeError::Denied(problem.to_owned()))
}

fn out_of_order() -> ExchangeError {
    malformed("the messages of signing in are out of order")
}

fn explain_scram(error: ScramError) -> ExchangeError {
    match error {
        ScramError::Malformed => ExchangeError::Malformed(error.to_string()),
        ScramError::Refused(_) | ScramError::Unproved | ScramError::Iterations(_) => {
            ExchangeError::Denied(cut(&error.to_string()))
        }
    }
}

fn nonce() -> Result<String, ExchangeError> {
    let mut bytes = [0; 24];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| malformed("the machine has no random numbers"))?;
    Ok(BASE64.encode(bytes))
}
