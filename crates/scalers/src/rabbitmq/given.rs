//! What a trigger has to sign in with, and how the server is trusted.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kedge_api::authentication::{PodIdentity, PodIdentityProvider};
use kedge_core::secret::Secret;

use super::broker_url::{BrokerUrl, Password, Security};
use super::fields::{CA, CERT, KEY, PASSWORD, TLS, UNSAFE_SSL, USERNAME, WORKLOAD_IDENTITY_RESOURCE};
use super::spoken::{Spoken, need_http};
use crate::amqp_session::{Credentials, Mechanism};
use crate::auth;
use crate::field::Field;
use crate::http::{TlsProfile, Verification, basic};
use crate::identity::{CloudIdentity, azure};
use crate::metadata::{Reader, convert};
use crate::oauth::OAuthClient;
use crate::shared::Shared;
use crate::trigger::{FieldError, TriggerConfig};

/// What a trigger has to sign in with.
pub(super) struct Given {
    pub(super) user: Option<(String, Secret)>,
    pub(super) oauth: Option<OAuthClient>,
    pub(super) workload_resource: Option<String>,
    pub(super) is_tls_enabled: bool,
    pub(super) is_unsafe: bool,
    pub(super) ca: Option<Secret>,
    pub(super) identity: Option<(Secret, Secret)>,
}

pub(super) fn parse_given(read: &mut Reader<'_>, spoken: Option<Spoken>) -> Given {
    let is_tls_enabled = read.or_default(TLS, |text| convert::one_of(text, &["enable", "disable"])) == "enable";
    let is_unsafe = read.or_default(UNSAFE_SSL, convert::boolean);
    let ca = read.text(CA).map(Secret::new);
    let identity = parse_pair(read, CERT, KEY).map(|(cert, key)| (Secret::new(cert), Secret::new(key)));
    let user = parse_pair(read, USERNAME, PASSWORD).map(|(user, password)| (user.to_owned(), Secret::new(password)));
    let workload_resource = read.text(WORKLOAD_IDENTITY_RESOURCE).map(str::to_owned);
    let oauth = auth::parse_oauth_client(read);
    if workload_resource.is_some() {
        need_http(read, WORKLOAD_IDENTITY_RESOURCE, spoken, "is given");
    }
    if oauth.is_some() {
        let field = auth::OAUTH_TOKEN_URI;
        need_http(read, field, spoken, "is given");
        if user.is_some() || workload_resource.is_some() {
            let problem = "is given together with a user and a password, or with `workloadIdentityResource`";
            read.error(FieldError::new(field.name, problem, "keep one way to sign in"));
        }
    }
    Given { user, oauth, workload_resource, is_tls_enabled, is_unsafe, ca, identity }
}

/// Two parameters, of which neither goes without the other.
fn parse_pair<'a>(read: &mut Reader<'a>, first: Field, second: Field) -> Option<(&'a str, &'a str)> {
    let (one, other) = (read.text(first), read.text(second));
    let (missing, given) = match (one, other) {
        (Some(one), Some(other)) => return Some((one, other)),
        (None, None) => return None,
        (None, Some(_)) => (first, second),
        (Some(_), None) => (second, first),
    };
    if !read.may_be_resolved_later(missing) {
        let problem = format!("is missing, and `{}` is given", given.name);
        read.error(FieldError::new(missing.name, problem, "give both in the TriggerAuthentication, or neither"));
    }
    None
}

impl Given {
    pub(super) fn tls_profile(&self) -> TlsProfile {
        let verification = if self.is_unsafe { Verification::Off } else { Verification::Full };
        TlsProfile { verification, ca: self.ca.clone(), identity: self.identity.clone() }
    }

    // KEDA: over AMQP, only `tls: enable` gives effect to these; a URL that begins with amqps:// uses TLS without it.
    pub(super) fn security(&self, url: &BrokerUrl) -> Option<TlsProfile> {
        (url.security == Security::Tls)
            .then(|| if self.is_tls_enabled { self.tls_profile() } else { TlsProfile::default() })
    }

    // KEDA: the client certificate signs in only where there is no password anywhere.
    pub(super) fn credentials(&self, url: &BrokerUrl) -> Credentials {
        let has_password = self.user.is_some() || matches!(url.password, Password::Given(_));
        let has_certificate = self.is_tls_enabled && self.identity.is_some();
        match &self.user {
            Some((username, password)) => Credentials::Plain { username: username.clone(), password: password.clone() },
            None if has_certificate && !has_password || url.mechanism == Mechanism::External => {
                Credentials::Certificate
            }
            None => Credentials::Plain { username: url.username.clone(), password: url.password.secret() },
        }
    }
}

pub(super) fn basic_header(user: Option<(String, Secret)>) -> HeaderMap {
    let header = user.and_then(|(username, password)| basic(username.as_bytes(), password.reveal().as_bytes()));
    header.into_iter().map(|value| (AUTHORIZATION, value)).collect()
}

/// The identity of pod identity `azure-workload`, or that of the operator.
pub(super) fn workload_identity(
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    resource: &str,
) -> Result<CloudIdentity, FieldError> {
    let own = PodIdentity {
        provider: PodIdentityProvider::AzureWorkload,
        identity_id: None,
        identity_tenant_id: None,
        identity_authority_host: None,
        role_arn: None,
        external_id: None,
        identity_owner: None,
    };
    let named = trigger.pod_identity.filter(|identity| identity.provider == PodIdentityProvider::AzureWorkload);
    let suffix = if resource.ends_with(".default") { "" } else { "/.default" };
    let environment = &shared.http.settings().cloud_environment;
    azure::parse(named.unwrap_or(&own), environment, format!("{resource}{suffix}")).map(CloudIdentity::Azure)
}
