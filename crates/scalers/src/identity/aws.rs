//! AWS: whose keys sign a request, and where they come from. `sign` does the signing, `sts` assumes roles, `operator`
//! finds the keys of the operator itself.

mod operator;
mod sign;
mod sts;

use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::{HeaderName, HeaderValue};
use kedge_api::authentication::{PodIdentity, PodIdentityProvider};

use super::Ambient;
use super::means::{Means, read_file};
use super::token::Lease;
use crate::http::Call;
use crate::metadata::{Reader, convert};
use crate::trigger::{FieldError, Secret, TriggerConfig};
use crate::trigger_type::{Field, FieldGroup, Source};

pub(crate) const FIELDS: FieldGroup = FieldGroup {
    title: "AWS",
    fields: &[
        REGION,
        IDENTITY_OWNER,
        ROLE_ARN,
        AUTH_ACCESS_KEY_ID,
        AUTH_SECRET_ACCESS_KEY,
        SESSION_TOKEN,
        ACCESS_KEY_ID,
        SECRET_ACCESS_KEY,
    ],
};

const REGION: Field = Field::optional("awsRegion")
    .sources(&[Source::Metadata, Source::Authentication])
    .default_of("the operator's `AWS_REGION` or `AWS_DEFAULT_REGION`")
    .help("The region that requests are signed for");
const IDENTITY_OWNER: Field = Field::optional("identityOwner")
    .help("Whose identity signs: `pod` for that of the trigger, anything else for that of the operator");
const ROLE_ARN: Field =
    Field::authentication(kedge_core::credentials::identity::ROLE_PARAMETER).help("The role that the operator assumes");
const AUTH_ACCESS_KEY_ID: Field = Field::authentication("awsAccessKeyID")
    .aliases(&["awsAccessKeyId"])
    .required_if("`awsSecretAccessKey` is given")
    .help("The id of the access key");
const AUTH_SECRET_ACCESS_KEY: Field =
    Field::secret("awsSecretAccessKey").required_if("`awsAccessKeyID` is given").help("The secret of the access key");
const SESSION_TOKEN: Field = Field::secret("awsSessionToken").help("The token of temporary keys");
const ACCESS_KEY_ID: Field = Field::optional("awsAccessKeyID")
    .sources(&[Source::Metadata, Source::Environment])
    .required_if("`awsSecretAccessKeyFromEnv` is given")
    .help("The id of the access key, where authentication gives none");
const SECRET_ACCESS_KEY: Field = Field::secret("awsSecretAccessKey")
    .sources(&[Source::Environment])
    .required_if("`awsAccessKeyID` is given")
    .help("The secret of the access key, where authentication gives none");

/// What requests are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Credentials {
    pub(super) access_key: Secret,
    pub(super) secret_key: Secret,
    pub(super) session_token: Option<Secret>,
}

/// Whom to be at AWS, and for which service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Persona {
    proof: Proof,
    region: String,
    service: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Proof {
    Keys(Credentials),
    /// Whoever the operator is.
    Operator,
    Role {
        arn: String,
        external_id: Option<String>,
        entrance: Entrance,
    },
}

/// How a role is taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entrance {
    /// With the token of the operator's service account, else as `Assume`.
    WebIdentityFirst,
    /// By the operator's identity.
    Assume,
}

/// The identity that a trigger asks for, if it asks for one of AWS.
pub(crate) fn parse(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    ambient: &Ambient,
    service: &'static str,
) -> Option<Persona> {
    let proof = parse_proof(read, trigger)?;
    let given = read.text(REGION);
    let region = given.or_else(|| ambient.get("AWS_REGION")).or_else(|| ambient.get("AWS_DEFAULT_REGION"));
    if region.is_none() {
        let remedy = "give the region of the service, as in eu-central-1";
        read.error(FieldError::new("awsRegion", "is missing, and requests to AWS are signed for a region", remedy));
    }
    Some(Persona { proof, region: region?.to_owned(), service })
}

fn parse_proof(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>) -> Option<Proof> {
    let provider = trigger.pod_identity.map(|identity| identity.provider);
    if let Some(identity) = trigger.pod_identity.filter(|identity| identity.provider == PodIdentityProvider::Aws) {
        return Some(parse_pod_identity(read, identity));
    }
    let found = match read.text(IDENTITY_OWNER) {
        None | Some("pod") => parse_own(read),
        // KEDA: any other owner is the operator.
        Some(_) => return Some(Proof::Operator),
    };
    if provider == Some(PodIdentityProvider::AwsEks) && found.is_none() {
        read.error(FieldError::new(
            "podIdentity",
            "aws-eks gives no role",
            "annotate the target's service account with eks.amazonaws.com/role-arn",
        ));
    }
    found
}

fn parse_pod_identity(read: &Reader<'_>, identity: &PodIdentity) -> Proof {
    let given = |own: &Option<String>| own.as_deref().map(str::trim).filter(|own| !own.is_empty()).map(str::to_owned);
    let (named, of_workload) = (given(&identity.role_arn), read.text(ROLE_ARN));
    // KEDA: the external id belongs to the role that is named beside it.
    let external_id = named.as_ref().and_then(|_| given(&identity.external_id));
    match named.or(of_workload.map(str::to_owned)) {
        Some(arn) => Proof::Role { arn, external_id, entrance: Entrance::WebIdentityFirst },
        None => Proof::Operator,
    }
}

/// What the trigger itself brings: a role, keys, or nothing.
fn parse_own(read: &mut Reader<'_>) -> Option<Proof> {
    if let Some(arn) = read.text(ROLE_ARN) {
        return Some(Proof::Role { arn: arn.to_owned(), external_id: None, entrance: Entrance::Assume });
    }
    if read.text(AUTH_ACCESS_KEY_ID).is_some() || read.text(AUTH_SECRET_ACCESS_KEY).is_some() {
        let token = read.text(SESSION_TOKEN).map(Secret::new);
        return parse_keys(read, AUTH_ACCESS_KEY_ID, AUTH_SECRET_ACCESS_KEY, token);
    }
    let is_mentioned = read.is_mentioned(ACCESS_KEY_ID) || read.is_mentioned(SECRET_ACCESS_KEY);
    if is_mentioned { parse_keys(read, ACCESS_KEY_ID, SECRET_ACCESS_KEY, None) } else { None }
}

fn parse_keys(read: &mut Reader<'_>, id: Field, key: Field, session_token: Option<Secret>) -> Option<Proof> {
    let (id, key) = (read.required(id, convert::text), read.required(key, convert::text));
    let credentials = Credentials { access_key: Secret::new(id?), secret_key: Secret::new(key?), session_token };
    Some(Proof::Keys(credentials))
}

impl Persona {
    /// Whoever assumes the role, where there is one.
    pub(super) fn base(&self) -> Option<Self> {
        matches!(self.proof, Proof::Role { .. }).then(|| Self { proof: Proof::Operator, ..self.clone() })
    }

    /// Keys to sign with. `base` gives those of whoever assumes the role.
    pub(super) async fn fetch(
        &self,
        means: &Means,
        base: impl Future<Output = Result<Credentials, String>>,
        now: DateTime<Utc>,
    ) -> Result<Lease<Credentials>, String> {
        match &self.proof {
            Proof::Keys(credentials) => Ok(Lease::forever(credentials.clone())),
            Proof::Operator => operator::fetch(means, &self.region).await,
            Proof::Role { arn, external_id, entrance } => {
                if *entrance == Entrance::WebIdentityFirst
                    && let Some(lease) = self.enter_with_token(means, arn).await
                {
                    return Ok(lease);
                }
                sts::assume(means, &self.region, arn, external_id.as_deref(), &base.await?, now).await
            }
        }
    }

    /// Takes on the role with the operator's token, if it has one and if that is enough.
    async fn enter_with_token(&self, means: &Means, arn: &str) -> Option<Lease<Credentials>> {
        let file = means.ambient.get("AWS_WEB_IDENTITY_TOKEN_FILE")?;
        // KEDA: five seconds; half of the time there is leaves the other half for the other way.
        let limit = (means.limit / 2).min(Duration::from_secs(5));
        let entering = async {
            let token = read_file(file.as_ref())?;
            sts::assume_with_token(means, &self.region, arn, sts::SESSION, token.trim()).await
        };
        match tokio::time::timeout(limit, entering).await {
            Ok(Ok(lease)) => Some(lease),
            Ok(Err(problem)) => {
                tracing::debug!(problem, "the web identity token does not open the role; it is assumed instead");
                None
            }
            Err(_) => None,
        }
    }

    /// Signs the call. Its query is sent in the form in which it is signed, so that nobody can read it differently.
    pub(super) fn sign(&self, call: &mut Call, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), String> {
        sign_call(call, credentials, &self.region, self.service, now)
    }
}

fn sign_call(
    call: &mut Call,
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: DateTime<Utc>,
) -> Result<(), String> {
    if let Some(query) = call.uri().query() {
        let query = sign::canonical_query(query);
        call.set_query(&query).map_err(str::to_owned)?;
    }
    let request = sign::Signable { method: call.method().as_str(), uri: call.uri(), headers: &[], body: call.body() };
    for (name, value) in sign::sign(&request, credentials, region, service, now) {
        let mut value = HeaderValue::try_from(value).map_err(|_| "the keys have characters that no header can have")?;
        value.set_sensitive(true);
        call.set_header(HeaderName::from_static(name), value);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
