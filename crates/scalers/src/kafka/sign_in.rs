//! Signing in at brokers: not at all, PLAIN, SCRAM, OAUTHBEARER, or as an identity of AWS.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use chrono::{DateTime, Utc};
use kedge_core::secret::Secret;
use kedge_wire::kafka::messages::{SaslAuthenticate, SaslHandshake};
use kedge_wire::kafka::{Bytes, ErrorCode};
use kedge_wire::scram::{ScramClient, ScramError, ScramHash};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value};

use super::session::KafkaConnection;
use crate::error::{ReadError, cut};
use crate::http::{TlsProfile, USER_AGENT};
use crate::identity::{CloudIdentity, Signer};
use crate::oauth::{OAuthClient, OAuthToken};
use crate::sessions::ExchangeError;
use crate::shared::Shared;
use crate::trigger::FieldError;

/// What the right to connect to a cluster of AWS is called in a signature.
const MSK_ACTION: &str = "kafka-cluster:Connect";

/// For how long a signature holds, in seconds.
const MSK_EXPIRES: &str = "900";

/// Who signs in. Equal values share connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Credentials {
    None,
    Plain(User),
    Scram(ScramHash, User),
    OAuth { client: OAuthClient, extensions: Vec<(String, String)> },
    Msk { identity: CloudIdentity, region: String, form: MskForm },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct User {
    pub(super) name: Secret,
    pub(super) password: Secret,
}

/// How a signature of AWS is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MskForm {
    /// As a token of OAUTHBEARER.
    // KEDA: `kafka` signs in so.
    Token,
    /// As JSON of the mechanism AWS_MSK_IAM.
    // KEDA: `apache-kafka` signs in so.
    Json,
}

/// Signs connections in.
#[derive(Debug)]
pub(super) struct SignIn {
    method: Method,
    /// The time of the newest reading, in milliseconds of Unix: tokens and signatures depend on it.
    now_ms: AtomicI64,
}

#[derive(Debug)]
enum Method {
    None,
    Plain(User),
    Scram(ScramHash, User),
    OAuth { token: Box<OAuthToken>, extensions: Vec<(String, String)> },
    Msk { signer: Arc<Signer>, region: String, form: MskForm },
}

impl SignIn {
    pub(super) fn new(credentials: &Credentials, shared: &Shared) -> Result<Self, FieldError> {
        let method = match credentials.clone() {
            Credentials::None => Method::None,
            Credentials::Plain(user) => Method::Plain(user),
            Credentials::Scram(hash, user) => Method::Scram(hash, user),
            Credentials::OAuth { client, extensions } => {
                let http = shared.http.client(&TlsProfile::default())?;
                let token = OAuthToken::new(client, http, shared.http.settings().limit(None));
                Method::OAuth { token: Box::new(token), extensions }
            }
            Credentials::Msk { identity, region, form } => {
                Method::Msk { signer: shared.signers.signer(&identity, &shared.http)?, region, form }
            }
        };
        Ok(Self { method, now_ms: AtomicI64::new(0) })
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self.method, Method::None)
    }

    /// Tells the time of a reading.
    pub(super) fn set_now(&self, now: DateTime<Utc>) {
        self.now_ms.fetch_max(now.timestamp_millis(), Ordering::Relaxed);
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.now_ms.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Signs a new connection in.
    pub(super) async fn run(&self, connection: &mut KafkaConnection, host: &str) -> Result<(), ExchangeError> {
        match &self.method {
            Method::None => Ok(()),
            Method::Plain(user) => {
                handshake(connection, "PLAIN").await?;
                let message = format!("\0{}\0{}", user.name.reveal(), user.password.reveal());
                let answer = authenticate(connection, message.into_bytes()).await;
                answer.map(drop).map_err(|error| hide(error, &user.password))
            }
            Method::Scram(hash, user) => {
                sign_in_by_scram(connection, *hash, user).await.map_err(|error| hide(error, &user.password))
            }
            Method::OAuth { token, extensions } => {
                let header = token.header(self.now()).await.map_err(ExchangeError::Other)?;
                let text = header.to_str().unwrap_or_default();
                // The type of the token is not sent.
                let token = text.split_once(' ').map_or(text, |(_, token)| token);
                sign_in_by_token(connection, token, extensions).await
            }
            Method::Msk { signer, region, form: MskForm::Token } => {
                let token = msk_token(signer, region, self.now()).await.map_err(ExchangeError::Other)?;
                sign_in_by_token(connection, &token, &[]).await
            }
            Method::Msk { signer, form: MskForm::Json, .. } => {
                let message = msk_json(signer, host, self.now()).await.map_err(ExchangeError::Other)?;
                handshake(connection, "AWS_MSK_IAM").await?;
                authenticate(connection, message.into_bytes()).await.map(drop)
            }
        }
    }
}

async fn sign_in_by_scram(connection: &mut KafkaConnection, hash: ScramHash, user: &User) -> Result<(), ExchangeError> {
    handshake(connection, hash.mechanism()).await?;
    let scram = ScramClient::new(hash, user.name.reveal(), user.password.reveal(), &nonce()?);
    let server_first = authenticate(connection, scram.first().into_bytes()).await?;
    let (last, proof) = scram.last(&server_first).map_err(explain_scram)?;
    let server_last = authenticate(connection, last.into_bytes()).await?;
    proof.check(&server_last).map_err(explain_scram)
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
    filled.map_err(|_| ExchangeError::Malformed("the machine has no random numbers".to_owned()))?;
    Ok(BASE64.encode(bytes))
}

async fn sign_in_by_token(
    connection: &mut KafkaConnection,
    token: &str,
    extensions: &[(String, String)],
) -> Result<(), ExchangeError> {
    handshake(connection, "OAUTHBEARER").await?;
    let challenge = authenticate(connection, bearer_message(token, extensions).into_bytes()).await?;
    if challenge.is_empty() {
        return Ok(());
    }
    // RFC 7628: an error is a challenge, which this byte answers; then the broker refuses.
    authenticate(connection, vec![1]).await?;
    Err(ExchangeError::Denied(cut(&String::from_utf8_lossy(&challenge))))
}

/// RFC 7628, with extensions as in KIP-342.
fn bearer_message(token: &str, extensions: &[(String, String)]) -> String {
    let extensions: String = extensions.iter().map(|(name, value)| format!("\u{1}{name}={value}")).collect();
    format!("n,,\u{1}auth=Bearer {token}{extensions}\u{1}\u{1}")
}

/// A URL of the service that carries its signature, in base64.
async fn msk_token(signer: &Signer, region: &str, now: DateTime<Utc>) -> Result<String, ReadError> {
    let host = format!("kafka.{region}.amazonaws.com");
    let query = signer.presign(&host, &[("Action", MSK_ACTION), ("X-Amz-Expires", MSK_EXPIRES)], now).await?;
    let user_agent = USER_AGENT.replace('/', "%2F");
    Ok(BASE64_URL.encode(format!("https://{host}/?{query}&User-Agent={user_agent}")))
}

/// The same for one broker, as an object of what the URL would have.
async fn msk_json(signer: &Signer, host: &str, now: DateTime<Utc>) -> Result<String, ReadError> {
    let query = signer.presign(host, &[("Action", MSK_ACTION), ("X-Amz-Expires", MSK_EXPIRES)], now).await?;
    let signed = form_urlencoded::parse(query.as_bytes());
    let mut members: Map<String, Value> =
        signed.map(|(name, value)| (name.to_lowercase(), value.into_owned().into())).collect();
    members.extend(
        [("version", "2020_10_22"), ("host", host), ("user-agent", USER_AGENT)]
            .map(|(name, value)| (name.to_owned(), value.into())),
    );
    Ok(Value::Object(members).to_string())
}

/// Agrees on a mechanism.
async fn handshake(connection: &mut KafkaConnection, mechanism: &str) -> Result<(), ExchangeError> {
    let answer = connection.call(&SaslHandshake { mechanism: mechanism.to_owned() }).await?;
    match answer.error_code {
        ErrorCode::NONE => Ok(()),
        ErrorCode::UNSUPPORTED_SASL_MECHANISM => {
            let offered = answer.mechanisms.join(", ");
            let problem = format!(
                "UNSUPPORTED_SASL_MECHANISM: the broker has {offered}, and not {mechanism}; set `sasl` to match"
            );
            Err(ExchangeError::Refused(cut(&problem)))
        }
        ErrorCode::ILLEGAL_SASL_STATE => {
            let problem = "ILLEGAL_SASL_STATE: the listener takes no user; leave out `sasl`, or use another port";
            Err(ExchangeError::Refused(problem.to_owned()))
        }
        other => Err(ExchangeError::Refused(other.to_string())),
    }
}

/// Sends a message of the mechanism, and receives the broker's.
async fn authenticate(connection: &mut KafkaConnection, message: Vec<u8>) -> Result<Vec<u8>, ExchangeError> {
    let answer = connection.call(&SaslAuthenticate { bytes: Bytes(message) }).await?;
    let words = answer.message.unwrap_or_default();
    match answer.error_code {
        ErrorCode::NONE => Ok(answer.bytes.0),
        code if code.is_denial() => Err(ExchangeError::Denied(cut(&format!("{code}: {words}")))),
        code => Err(ExchangeError::Refused(cut(&format!("{code}: {words}")))),
    }
}

/// The error without the password, which a server may repeat.
fn hide(error: ExchangeError, password: &Secret) -> ExchangeError {
    let hide = |message: String| message.replace(password.reveal(), "***");
    match error {
        ExchangeError::Denied(message) => ExchangeError::Denied(hide(message)),
        ExchangeError::Refused(message) => ExchangeError::Refused(hide(message)),
        other => other,
    }
}
