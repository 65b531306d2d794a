//! Signing in at brokers: not at all, PLAIN, SCRAM, OAUTHBEARER, or as an identity of AWS.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use chrono::{DateTime, Utc};
use kedge_core::outbound_policy::OutboundPolicy;
use kedge_core::secret::Secret;
use kedge_wire::kafka::messages::{SaslAuthenticate, SaslHandshake};
use kedge_wire::kafka::{Bytes, ErrorCode};
use kedge_wire::scram::{ScramClient, ScramError, ScramHash};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value};

use super::connection::KafkaConnection;
use crate::error::{ReadError, cut};
use crate::http::{HttpClients, TlsProfile, USER_AGENT};
use crate::identity::{CloudIdentity, Signer, Signers};
use crate::oauth::{OAuthClient, OAuthToken};
use crate::sessions::ExchangeError;
use crate::trigger::FieldError;

/// What the right to connect to a cluster of AWS is called in a signature.
const MSK_ACTION: &str = "kafka-cluster:Connect";

/// For how long a signature holds, in seconds.
const MSK_EXPIRES: &str = "900";

/// What to do where a broker does not accept who signs in.
const CHECK_USER: &str = "check `username` and `password`";
const CHECK_CLIENT: &str =
    "check `username`, `password` and `scopes`, and that the broker accepts tokens of `oauthTokenEndpointUri`";
const CHECK_IDENTITY: &str = "allow the identity kafka-cluster:Connect, and check `awsRegion`";

/// Who signs in. Equal values share connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Credentials {
    None,
    Plain(User),
    Scram(ScramHash, User),
    OAuth {
        client: OAuthClient,
        extensions: Vec<(String, Secret)>,
    },
    Msk {
        identity: CloudIdentity,
        /// Where the outbound policy decides who may use the operator's identities: the namespace of the trigger.
        namespace: Option<String>,
        region: String,
        form: MskForm,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct User {
    pub(crate) name: Secret,
    pub(crate) password: Secret,
}

/// How a signature of AWS is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MskForm {
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
    OAuth { token: Box<OAuthToken>, extensions: Vec<(String, Secret)> },
    Msk { signer: Arc<Signer>, grant: MskGrant, region: String, form: MskForm },
}

/// Which brokers may receive a signature.
#[derive(Debug)]
struct MskGrant {
    identity: CloudIdentity,
    policy: Arc<OutboundPolicy>,
    namespace: Option<String>,
}

impl SignIn {
    pub(super) fn new(credentials: &Credentials, http: &HttpClients, signers: &Signers) -> Result<Self, FieldError> {
        let method = match credentials.clone() {
            Credentials::None => Method::None,
            Credentials::Plain(user) => Method::Plain(user),
            Credentials::Scram(hash, user) => Method::Scram(hash, user),
            Credentials::OAuth { client, extensions } => {
                let token_client = http.client(&TlsProfile::default())?;
                let token = OAuthToken::new(client, token_client, http.settings().limit(None));
                Method::OAuth { token: Box::new(token), extensions }
            }
            Credentials::Msk { identity, namespace, region, form } => {
                let signer = signers.signer(&identity, http)?;
                let policy = Arc::clone(&http.settings().outbound_policy);
                Method::Msk { signer, grant: MskGrant { identity, policy, namespace }, region, form }
            }
        };
        Ok(Self { method, now_ms: AtomicI64::new(0) })
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self.method, Method::None)
    }

    /// Sets the time to that of a reading, also back: a clock that was ahead must not leave signatures in the future.
    pub(super) fn set_now(&self, now: DateTime<Utc>) {
        self.now_ms.store(now.timestamp_millis(), Ordering::Relaxed);
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.now_ms.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Signs a new connection in. Errors have the words of the broker without what was sent to it.
    pub(super) async fn run(&self, connection: &mut KafkaConnection, host: &str) -> Result<(), ExchangeError> {
        match &self.method {
            Method::None => Ok(()),
            Method::Plain(user) => {
                let signed = sign_in_by_password(connection, user).await;
                signed.map_err(|error| error.hiding(&[&user.password]).or_if_denied(CHECK_USER))
            }
            Method::Scram(hash, user) => {
                let signed = sign_in_by_scram(connection, *hash, user).await;
                signed.map_err(|error| error.hiding(&[&user.password]).or_if_denied(CHECK_USER))
            }
            Method::OAuth { token, extensions } => self.sign_in_by_oauth(connection, token, extensions).await,
            Method::Msk { signer, grant, region, form } => {
                grant.check(host)?;
                let now = self.now();
                match form {
                    MskForm::Token => {
                        let token = msk_token(signer, region, now).await.map_err(ExchangeError::Other)?;
                        let signed = sign_in_by_token(connection, &token, &[]).await;
                        signed.map_err(|error| error.hiding(&[&token]).or_if_denied(CHECK_IDENTITY))
                    }
                    MskForm::Json => {
                        let message = msk_json(signer, host, now).await.map_err(ExchangeError::Other)?;
                        sign_in_by_json(connection, &message).await
                    }
                }
            }
        }
    }

    async fn sign_in_by_oauth(
        &self,
        connection: &mut KafkaConnection,
        token: &OAuthToken,
        extensions: &[(String, Secret)],
    ) -> Result<(), ExchangeError> {
        let header = token.header(self.now()).await.map_err(ExchangeError::Other)?;
        let text = header.to_str().unwrap_or_default();
        // The type of the token is not sent.
        let sent = Secret::new(text.split_once(' ').map_or(text, |(_, token)| token));
        let signed = sign_in_by_token(connection, &sent, extensions).await;
        if let Err(ExchangeError::Denied(_)) = signed {
            token.discard().await;
        }
        let secrets: Vec<&Secret> = [&sent].into_iter().chain(extensions.iter().map(|(_, value)| value)).collect();
        signed.map_err(|error| error.hiding(&secrets).or_if_denied(CHECK_CLIENT))
    }
}

impl MskGrant {
    /// Any broker that the others name would receive the signature.
    fn check(&self, host: &str) -> Result<(), ExchangeError> {
        let Some(namespace) = &self.namespace else { return Ok(()) };
        let permitted = self.identity.clone().permitted(&self.policy, namespace, host);
        let explain = |error: FieldError| ReadError::NoCredentials { identity: "aws", problem: error.to_string() };
        permitted.map(drop).map_err(|error| ExchangeError::Other(explain(error)))
    }
}

async fn sign_in_by_password(connection: &mut KafkaConnection, user: &User) -> Result<(), ExchangeError> {
    handshake(connection, "PLAIN").await?;
    let message = format!("\0{}\0{}", user.name.reveal(), user.password.reveal());
    authenticate(connection, message.into_bytes()).await.map(drop)
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
            ExchangeError::Denied(error.to_string())
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
    token: &Secret,
    extensions: &[(String, Secret)],
) -> Result<(), ExchangeError> {
    handshake(connection, "OAUTHBEARER").await?;
    let challenge = authenticate(connection, bearer_message(token, extensions).into_bytes()).await?;
    if challenge.is_empty() {
        return Ok(());
    }
    // RFC 7628: an error is a challenge, which this byte answers; then the broker refuses, or closes the connection.
    let challenge = String::from_utf8_lossy(&challenge).into_owned();
    match authenticate(connection, vec![1]).await {
        Err(ExchangeError::Denied(words)) => Err(ExchangeError::Denied(format!("{words}: {challenge}"))),
        _ => Err(ExchangeError::Denied(challenge)),
    }
}

/// RFC 7628, with extensions as in KIP-342.
fn bearer_message(token: &Secret, extensions: &[(String, Secret)]) -> String {
    let extension = |(name, value): &(String, Secret)| format!("\u{1}{name}={}", value.reveal());
    let extensions: String = extensions.iter().map(extension).collect();
    format!("n,,\u{1}auth=Bearer {}{extensions}\u{1}\u{1}", token.reveal())
}

/// A URL of the service that carries its signature, in base64.
async fn msk_token(signer: &Signer, region: &str, now: DateTime<Utc>) -> Result<Secret, ReadError> {
    let host = format!("kafka.{region}.amazonaws.com");
    let query = signer.presign(&host, &[("Action", MSK_ACTION), ("X-Amz-Expires", MSK_EXPIRES)], now).await?;
    let user_agent = USER_AGENT.replace('/', "%2F");
    Ok(Secret::new(BASE64_URL.encode(format!("https://{host}/?{query}&User-Agent={user_agent}"))))
}

/// The same for one broker, as an object of what the URL would have.
async fn msk_json(signer: &Signer, host: &str, now: DateTime<Utc>) -> Result<Map<String, Value>, ReadError> {
    let query = signer.presign(host, &[("Action", MSK_ACTION), ("X-Amz-Expires", MSK_EXPIRES)], now).await?;
    let signed = form_urlencoded::parse(query.as_bytes());
    let mut members: Map<String, Value> =
        signed.map(|(name, value)| (name.to_lowercase(), value.into_owned().into())).collect();
    members.extend(
        [("version", "2020_10_22"), ("host", host), ("user-agent", USER_AGENT)]
            .map(|(name, value)| (name.to_owned(), value.into())),
    );
    Ok(members)
}

async fn sign_in_by_json(connection: &mut KafkaConnection, members: &Map<String, Value>) -> Result<(), ExchangeError> {
    handshake(connection, "AWS_MSK_IAM").await?;
    let message = Value::Object(members.clone()).to_string();
    let signed = authenticate(connection, message.into_bytes()).await.map(drop);
    let secret = |name: &str| members.get(name).and_then(Value::as_str).map(Secret::new);
    let secrets: Vec<Secret> = ["x-amz-signature", "x-amz-security-token"].into_iter().filter_map(secret).collect();
    signed.map_err(|error| error.hiding(&secrets.iter().collect::<Vec<_>>()).or_if_denied(CHECK_IDENTITY))
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
        code if code.is_denial() => Err(ExchangeError::Denied(format!("{code}: {words}"))),
        code => Err(ExchangeError::Refused(format!("{code}: {words}"))),
    }
}
