//! Google Cloud: a service account, proved by its key or by the machine that runs under it.

mod key;

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use http::Method;
use http::header::HeaderName;
use kedge_api::authentication::PodIdentityProvider;

use super::means::{Means, read_file};
use super::token::{self, Lease};
use crate::metadata::Reader;
use crate::metadata::convert::{Converted, Flaw};
use crate::trigger::{FieldError, Secret, TriggerConfig};
use crate::trigger_type::{Field, FieldGroup, Source};
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

/// Whom to be at Google Cloud, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Persona {
    proof: Proof,
    scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Proof {
    /// Whoever the operator is.
    Operator,
    /// The key of a service account, JSON.
    Key(Secret),
    /// A file with such a key.
    KeyFile(PathBuf),
}

/// The identity that a trigger asks for, if it asks for one of Google Cloud.
pub(crate) fn parse(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>, scope: &'static str) -> Option<Persona> {
    let proof = if trigger.pod_identity.is_some_and(|identity| identity.provider == PodIdentityProvider::Gcp) {
        Some(Proof::Operator)
    } else if read.text(APPLICATION_CREDENTIALS).is_some() {
        read.required(APPLICATION_CREDENTIALS, parse_key)
    } else if read.is_mentioned(CREDENTIALS) {
        read.required(CREDENTIALS, parse_key)
    } else if let Some(variable) = read.text(CREDENTIALS_FILE) {
        read.take(parse_key_file(trigger, variable))
    } else {
        None
    };
    proof.map(|proof| Persona { proof, scope })
}

fn parse_key(text: &str) -> Converted<Proof> {
    match ServiceAccount::parse(text) {
        Ok(_) => Ok(Proof::Key(Secret::new(text))),
        Err(problem) => Err(Flaw::new(problem, "give the JSON key of a service account")),
    }
}

/// The variable holds the path of a file, and not what is in it.
fn parse_key_file(trigger: &TriggerConfig<'_>, variable: &str) -> Result<Proof, FieldError> {
    match trigger.environment.get(variable).map(|path| path.trim()).filter(|path| !path.is_empty()) {
        Some(path) => Ok(Proof::KeyFile(PathBuf::from(path))),
        None => Err(FieldError::new(
            CREDENTIALS_FILE.name,
            format!("is missing: the target's container has no value for the variable {variable}"),
            "name a variable that holds the path of a key file",
        )),
    }
}

impl Persona {
    pub(super) async fn fetch(&self, means: &Means, now: DateTime<Utc>) -> Result<Lease<Secret>, String> {
        let file = match &self.proof {
            Proof::Key(key) => return self.fetch_with_key(key.reveal(), means, now).await,
            Proof::KeyFile(path) => Some(path.clone()),
            Proof::Operator => means.ambient.get("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
        };
        match file {
            Some(path) => self.fetch_with_key(&read_file(&path)?, means, now).await,
            None => self.fetch_from_machine(means, now).await,
        }
    }

    async fn fetch_with_key(&self, key: &str, means: &Means, now: DateTime<Utc>) -> Result<Lease<Secret>, String> {
        let account =
            ServiceAccount::parse(key).map_err(|problem| format!("the key of the service account {problem}"))?;
        let assertion = account.assertion(self.scope, now)?;
        let fields = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
        let body = means.ask(&means.form(account.token_uri(), &fields)?).await?;
        token::parse_answer(&body, now)
    }

    async fn fetch_from_machine(&self, means: &Means, now: DateTime<Utc>) -> Result<Lease<Secret>, String> {
        let host = means.ambient.get("GCE_METADATA_HOST").unwrap_or(METADATA_HOST);
        let scope: String = form_urlencoded::byte_serialize(self.scope.as_bytes()).collect();
        let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token?scopes={scope}");
        let flavor = (HeaderName::from_static("metadata-flavor"), "Google");
        token::parse_answer(&means.ask_nearby(Method::GET, &url, flavor).await?, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    const KEY: &str = r#"{"type":"service_account"}"#;

    fn parsed(sample: &Sample) -> Result<Option<Proof>, String> {
        let trigger = sample.trigger();
        let mut read = Reader::new(&trigger);
        let persona = parse(&mut read, &trigger, "scope");
        read.finish(Some(persona.map(|persona| persona.proof))).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_way_that_is_given_counts() {
        let plain = || Sample::new("prometheus");
        let file = plain().with("credentialsFromEnvFile", "PATH").environment("PATH", "/key.json");
        let rows = [
            ("none", plain(), Ok(None)),
            ("the operator's", file.clone().pod_identity(PodIdentityProvider::Gcp), Ok(Some(Proof::Operator))),
            ("a file", file, Ok(Some(Proof::KeyFile(PathBuf::from("/key.json"))))),
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
