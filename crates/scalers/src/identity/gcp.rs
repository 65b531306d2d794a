//! Google Cloud: a service account, authenticated by its key or by the metadata server of the machine.

mod key;

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use http::Method;
use http::header::HeaderName;
use kedge_api::authentication::PodIdentityProvider;

use super::token::{self, Expiring};
use super::token_client::{TokenClient, read_file};
use crate::field::{Field, FieldGroup, Source};
use crate::metadata::Reader;
use crate::metadata::convert::{ConversionError, Converted};
use crate::trigger::{FieldError, Secret, TriggerConfig};
use key::ServiceAccount;

pub(crate) const FIELDS: FieldGroup =
    FieldGroup { title: "Google Cloud", fields: &[APPLICATION_CREDENTIALS, CREDENTIALS, CREDENTIALS_FILE] };

const APPLICATION_CREDENTIALS: Field =
    Field::secret("GoogleApplicationCredentials").help("The JSON key of a service account");
const CREDENTIALS: Field = Field::secret("credentials")
    .sources(&[Source::Environment])
    .help("The JSON key of a service account, where authentication gives none");
const CREDENTIALS_FILE: Field = Field::optional("credentialsFromEnvFile")
    .help("The variable of the target's container that holds the path of a key file on the operator's file system");

// Where every machine of Google's finds its own metadata.
const METADATA_HOST: &str = "169.254.169.254";

/// An identity at Google Cloud, and the scope of its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GcpIdentity {
    source: CredentialSource,
    scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CredentialSource {
    /// The operator's own credentials.
    Operator,
    /// The key of a service account, JSON.
    Key(Secret),
    /// A file with such a key.
    KeyFile(PathBuf),
}

/// The identity that a trigger configures, if it configures one of Google Cloud.
pub(crate) fn parse(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>, scope: &'static str) -> Option<GcpIdentity> {
    let source = if trigger.pod_identity.is_some_and(|identity| identity.provider == PodIdentityProvider::Gcp) {
        Some(CredentialSource::Operator)
    } else if read.text(APPLICATION_CREDENTIALS).is_some() {
        read.required(APPLICATION_CREDENTIALS, parse_key)
    } else if read.is_mentioned(CREDENTIALS) {
        read.required(CREDENTIALS, parse_key)
    } else if let Some(variable) = read.text(CREDENTIALS_FILE) {
        read.take(parse_key_file(trigger, variable))
    } else {
        None
    };
    source.map(|source| GcpIdentity { source, scope })
}

fn parse_key(text: &str) -> Converted<CredentialSource> {
    match ServiceAccount::parse(text) {
        Ok(_) => Ok(CredentialSource::Key(Secret::new(text))),
        Err(problem) => Err(ConversionError::new(problem, "give the JSON key of a service account")),
    }
}

/// The variable holds the path of a file, and not what is in it.
fn parse_key_file(trigger: &TriggerConfig<'_>, variable: &str) -> Result<CredentialSource, FieldError> {
    match trigger.environment.get(variable).map(|path| path.trim()).filter(|path| !path.is_empty()) {
        Some(path) => Ok(CredentialSource::KeyFile(PathBuf::from(path))),
        None => Err(FieldError::new(
            CREDENTIALS_FILE.name,
            format!("is missing: the target's container has no value for the variable {variable}"),
            "name a variable that holds the path of a key file",
        )),
    }
}

impl GcpIdentity {
    /// Whether the credentials are the operator's, or in a file of the operator's.
    pub(super) fn is_of_operator(&self) -> bool {
        matches!(self.source, CredentialSource::Operator | CredentialSource::KeyFile(_))
    }

    pub(super) async fn fetch(&self, client: &TokenClient, now: DateTime<Utc>) -> Result<Expiring<Secret>, String> {
        let file = match &self.source {
            CredentialSource::Key(key) => return self.fetch_with_key(key.reveal(), client, now).await,
            CredentialSource::KeyFile(path) => Some(path.clone()),
            CredentialSource::Operator => {
                client.cloud_environment.get("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from)
            }
        };
        match file {
            Some(path) => self.fetch_with_key(&read_file(&path).await?, client, now).await,
            None => self.fetch_from_machine(client, now).await,
        }
    }

    async fn fetch_with_key(
        &self,
        key: &str,
        client: &TokenClient,
        now: DateTime<Utc>,
    ) -> Result<Expiring<Secret>, String> {
        let account =
            ServiceAccount::parse(key).map_err(|problem| format!("the key of the service account {problem}"))?;
        let assertion = account.assertion(self.scope, now)?;
        let fields = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
        let body = client.send(&client.form(account.token_uri(), &fields)?).await?;
        token::parse_token_response(&body, now)
    }

    async fn fetch_from_machine(&self, client: &TokenClient, now: DateTime<Utc>) -> Result<Expiring<Secret>, String> {
        let host = client.cloud_environment.get("GCE_METADATA_HOST").unwrap_or(METADATA_HOST);
        let scope: String = form_urlencoded::byte_serialize(self.scope.as_bytes()).collect();
        let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token?scopes={scope}");
        let flavor = (HeaderName::from_static("metadata-flavor"), "Google");
        token::parse_token_response(&client.send_direct(Method::GET, &url, flavor).await?, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    const KEY: &str = r#"{"type":"service_account"}"#;

    fn parsed(sample: &Sample) -> Result<Option<CredentialSource>, String> {
        let trigger = sample.trigger();
        let mut read = Reader::new(&trigger);
        let identity = parse(&mut read, &trigger, "scope");
        read.finish(Some(identity.map(|identity| identity.source))).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_source_that_is_given_counts() {
        let plain = || Sample::new("prometheus");
        let file = plain().with("credentialsFromEnvFile", "PATH").environment("PATH", "/key.json");
        let rows = [
            ("none", plain(), Ok(None)),
            (
                "the operator's",
                file.clone().pod_identity(PodIdentityProvider::Gcp),
                Ok(Some(CredentialSource::Operator)),
            ),
            ("a file", file, Ok(Some(CredentialSource::KeyFile(PathBuf::from("/key.json"))))),
            ("no such variable", plain().with("credentialsFromEnvFile", "PATH"), Err("the variable PATH")),
            ("no such variable", plain().with("credentialsFromEnv", "KEY"), Err("the variable KEY")),
            ("no key", plain().with("credentialsFromEnv", "KEY").environment("KEY", KEY), Err("`credentials`")),
            ("no key", plain().auth("GoogleApplicationCredentials", KEY), Err("`GoogleApplicationCredentials`")),
        ];
        for (name, sample, expected) in rows {
            match (parsed(&sample), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{name}: {error}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }
}
