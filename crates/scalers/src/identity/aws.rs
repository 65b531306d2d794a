//! AWS: the keys that sign a request, and where they come from. `sign` signs, `sts` assumes roles, `operator` finds the keys
//! of the operator itself.

mod operator;
mod sign;
mod sts;

use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::{HeaderName, HeaderValue};
use kedge_api::authentication::{PodIdentity, PodIdentityProvider};
use kedge_core::object_name::is_dns_label;

use super::token::Expiring;
use super::token_client::{TokenClient, read_file};
use crate::cloud_environment::CloudEnvironment;
use crate::field::{Field, FieldGroup, Source};
use crate::http::Call;
use crate::metadata::{Reader, convert};
use crate::trigger::{FieldError, Secret, TriggerConfig};

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

/// An identity at AWS, and the service that requests are signed for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AwsIdentity {
    source: CredentialSource,
    region: String,
    service: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CredentialSource {
    Keys(Credentials),
    /// The operator's own credentials.
    Operator,
    Role {
        arn: String,
        external_id: Option<String>,
        method: AssumeRoleMethod,
    },
}

/// How a role is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AssumeRoleMethod {
    /// With the token of the operator's service account, else as `Assume`.
    WebIdentityFirst,
    /// By the operator's identity.
    Assume,
}

/// The identity that a trigger configures, if it configures one of AWS.
pub(crate) fn parse(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    cloud_environment: &CloudEnvironment,
    service: &'static str,
) -> Option<AwsIdentity> {
    let source = parse_credential_source(read, trigger)?;
    let given = read.text(REGION);
    let region =
        given.or_else(|| cloud_environment.get("AWS_REGION")).or_else(|| cloud_environment.get("AWS_DEFAULT_REGION"));
    if region.is_none() {
        let remedy = "give the region of the service, as in eu-central-1";
        read.error(FieldError::new("awsRegion", "is missing, and requests to AWS are signed for a region", remedy));
    }
    let region = region?;
    // It becomes a part of the host name that credentials are sent to.
    if !is_dns_label(region) {
        let remedy = "give the name of the region, as in eu-central-1";
        read.error(FieldError::new("awsRegion", "is not the name of a region", remedy));
        return None;
    }
    Some(AwsIdentity { source, region: region.to_owned(), service })
}

fn parse_credential_source(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>) -> Option<CredentialSource> {
    let provider = trigger.pod_identity.map(|identity| identity.provider);
    if let Some(identity) = trigger.pod_identity.filter(|identity| identity.provider == PodIdentityProvider::Aws) {
        return Some(parse_pod_identity(read, identity));
    }
    let found = match read.text(IDENTITY_OWNER) {
        None | Some("pod") => parse_own(read),
        // KEDA: any other owner is the operator.
        Some(_) => return Some(CredentialSource::Operator),
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

fn parse_pod_identity(read: &Reader<'_>, identity: &PodIdentity) -> CredentialSource {
    let given = |own: &Option<String>| own.as_deref().map(str::trim).filter(|own| !own.is_empty()).map(str::to_owned);
    let (named, of_workload) = (given(&identity.role_arn), read.text(ROLE_ARN));
    // KEDA: the external id belongs to the role that is named beside it.
    let external_id = named.as_ref().and_then(|_| given(&identity.external_id));
    match named.or(of_workload.map(str::to_owned)) {
        Some(arn) => CredentialSource::Role { arn, external_id, method: AssumeRoleMethod::WebIdentityFirst },
        None => CredentialSource::Operator,
    }
}

/// What the trigger itself configures: a role, keys, or nothing.
fn parse_own(read: &mut Reader<'_>) -> Option<CredentialSource> {
    if let Some(arn) = read.text(ROLE_ARN) {
        return Some(CredentialSource::Role {
            arn: arn.to_owned(),
            external_id: None,
            method: AssumeRoleMethod::Assume,
        });
    }
    if read.text(AUTH_ACCESS_KEY_ID).is_some() || read.text(AUTH_SECRET_ACCESS_KEY).is_some() {
        let token = read.text(SESSION_TOKEN).map(Secret::new);
        return parse_keys(read, AUTH_ACCESS_KEY_ID, AUTH_SECRET_ACCESS_KEY, token);
    }
    let is_mentioned = read.is_mentioned(ACCESS_KEY_ID) || read.is_mentioned(SECRET_ACCESS_KEY);
    if is_mentioned { parse_keys(read, ACCESS_KEY_ID, SECRET_ACCESS_KEY, None) } else { None }
}

fn parse_keys(read: &mut Reader<'_>, id: Field, key: Field, session_token: Option<Secret>) -> Option<CredentialSource> {
    let (id, key) = (read.required(id, convert::text), read.required(key, convert::text));
    let credentials = Credentials { access_key: Secret::new(id?), secret_key: Secret::new(key?), session_token };
    Some(CredentialSource::Keys(credentials))
}

impl AwsIdentity {
    /// The region that requests are signed for.
    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// Whether the credentials are the operator's, or those of a role that the operator assumes.
    pub(super) fn is_of_operator(&self) -> bool {
        !matches!(self.source, CredentialSource::Keys(_))
    }

    /// The identity that assumes the role, where there is one.
    pub(super) fn base(&self) -> Option<Self> {
        matches!(self.source, CredentialSource::Role { .. })
            .then(|| Self { source: CredentialSource::Operator, ..self.clone() })
    }

    /// Keys to sign with. `base` gives those of the identity that assumes the role.
    pub(super) async fn fetch(
        &self,
        client: &TokenClient,
        base: impl Future<Output = Result<Credentials, String>>,
        now: DateTime<Utc>,
    ) -> Result<Expiring<Credentials>, String> {
        match &self.source {
            CredentialSource::Keys(credentials) => Ok(Expiring::forever(credentials.clone())),
            CredentialSource::Operator => operator::fetch(client, &self.region).await,
            CredentialSource::Role { arn, external_id, method } => {
                if *method == AssumeRoleMethod::WebIdentityFirst
                    && let Some(expiring) = self.assume_with_web_identity(client, arn).await
                {
                    return Ok(expiring);
                }
                sts::assume(client, &self.region, arn, external_id.as_deref(), &base.await?, now).await
            }
        }
    }

    /// Assumes the role with the operator's web identity token, if there is one and the role trusts it.
    async fn assume_with_web_identity(&self, client: &TokenClient, arn: &str) -> Option<Expiring<Credentials>> {
        let file = client.cloud_environment.get("AWS_WEB_IDENTITY_TOKEN_FILE")?;
        // KEDA: five seconds. Half of the limit leaves the other half for assuming the role directly.
        let limit = (client.limit / 2).min(Duration::from_secs(5));
        let assuming = async {
            let token = read_file(file.as_ref()).await?;
            sts::assume_with_token(client, &self.region, arn, sts::SESSION, token.trim()).await
        };
        match tokio::time::timeout(limit, assuming).await {
            Ok(Ok(expiring)) => Some(expiring),
            Ok(Err(problem)) => {
                tracing::debug!(problem, "the web identity token does not open the role; it is assumed instead");
                None
            }
            Err(_) => None,
        }
    }

    /// Signs the call. Its query is sent in the form in which it is signed, so that no server can parse it differently.
    pub(super) fn sign(&self, call: &mut Call, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), String> {
        sign_call(call, credentials, &self.region, self.service, now)
    }

    /// The query of a URL that carries its signature: a GET of the root of a host.
    pub(super) fn presign(
        &self,
        host: &str,
        parameters: &[(&str, &str)],
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> String {
        sign::presign(host, parameters, credentials, &self.region, self.service, now)
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
    // AWS: every header of its own must be signed.
    let own = call.headers().iter().filter(|(name, _)| name.as_str().starts_with("x-amz-"));
    let headers: Vec<(&str, &str)> =
        own.map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default())).collect();
    let request =
        sign::Signable { method: call.method().as_str(), uri: call.uri(), headers: &headers, body: call.body() };
    for (name, value) in sign::sign(&request, credentials, region, service, now) {
        let mut value = HeaderValue::try_from(value).map_err(|_| "the keys have characters that no header can have")?;
        value.set_sensitive(true);
        call.set_header(HeaderName::from_static(name), value);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
