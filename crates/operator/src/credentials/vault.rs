//! HashiCorp Vault: signing in, and reading what authentication objects name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use kedge_api::authentication::{HashiCorpVault, VaultAuthentication, VaultSecretType};
use kedge_core::credentials::outbound_filter::{VaultFilter, Verdict};
use kedge_core::credentials::token_policy::TokenPolicy;
use kedge_core::credentials::vault::{VaultRequest, plan_requests, value};
use kedge_core::credentials::{CredentialError, vault};
use kedge_core::outbound_policy::IdentityProvider;
use kedge_core::secret::Secret;
use kedge_scalers::http::exchange::{Exchange, ExchangeError, ExchangeOptions};
use kedge_scalers::{ReadError, credential_file};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::Resolution;
use super::jwt;
use super::resolve::{AuthenticationObject, Found};

/// Vault cannot be watched: it is read again after this time.
const AGE_MAX: Duration = Duration::from_secs(300);

/// The pause before a failure is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// The operator's environment variables for Vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `VAULT_TOKEN`: wins over the token of an authentication object.
    pub token: Option<Secret>,
    /// `VAULT_NAMESPACE`: where an authentication object names none.
    pub namespace: Option<String>,
    /// The CAs of Vault servers, instead of those of the machine.
    pub ca: Option<CaSource>,
    /// `VAULT_CLIENT_CERT` and `VAULT_CLIENT_KEY`: the files of the client certificate and its key.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// `VAULT_SKIP_VERIFY`.
    pub skip_verify: bool,
    /// `VAULT_CLIENT_TIMEOUT`.
    pub timeout: Option<Duration>,
    /// `VAULT_HEADERS`.
    pub headers: HeaderMap,
}

/// Where CA certificates are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaSource {
    /// `VAULT_CACERT`: a file.
    File(PathBuf),
    /// `VAULT_CACERT_BYTES`: the PEM text.
    Text(Secret),
    /// `VAULT_CAPATH`: all files of a folder.
    Folder(PathBuf),
}

impl Settings {
    /// How Vault servers are reached. Files are read each time: they are rotated.
    async fn exchange_options(&self) -> Result<ExchangeOptions, CredentialError> {
        let ca = match &self.ca {
            None => None,
            Some(CaSource::Text(text)) => Some(text.clone()),
            Some(CaSource::File(file)) => Some(named("VAULT_CACERT", file, credential_file::read(file).await)?),
            Some(CaSource::Folder(folder)) => {
                Some(named("VAULT_CAPATH", folder, credential_file::read_folder(folder).await)?)
            }
        };
        let identity = match &self.client_certificate {
            None => None,
            Some((certificate, key)) => Some((
                named("VAULT_CLIENT_CERT", certificate, credential_file::read(certificate).await)?,
                named("VAULT_CLIENT_KEY", key, credential_file::read(key).await)?,
            )),
        };
        Ok(ExchangeOptions { ca, identity, skip_verify: self.skip_verify, timeout: self.timeout })
    }
}

/// What was read, or an error that names the variable.
fn named(variable: &str, path: &Path, read: Result<String, String>) -> Result<Secret, CredentialError> {
    read.map(Secret::new).map_err(|problem| CredentialError::Unreadable {
        what: format!("{}, which {variable} of the operator names,", path.display()),
        problem,
    })
}

/// A Vault server that one authentication object names.
struct Server<'a> {
    exchange: &'a Exchange,
    address: &'a str,
    namespace: Option<&'a str>,
    headers: &'a HeaderMap,
    options: ExchangeOptions,
    place: String,
}

impl Resolution<'_> {
    pub(super) async fn take_vault(
        &mut self,
        authentication: &AuthenticationObject,
        vault: &HashiCorpVault,
        found: &mut Found,
    ) {
        let credentials = self.credentials;
        let settings = &credentials.settings.vault;
        let options = match settings.exchange_options().await {
            Ok(options) => options,
            Err(problem) => {
                self.refresh_after(AGAIN);
                return found.note(problem);
            }
        };
        let server = Server {
            exchange: &credentials.exchange,
            address: vault.address.trim_end_matches('/'),
            namespace: vault.namespace.as_deref().or(settings.namespace.as_deref()),
            headers: &settings.headers,
            options,
            place: authentication.place("hashiCorpVault"),
        };
        if let Err(problem) = server.check(&credentials.settings.outbound_filter.hashi_corp_vault) {
            return found.note(problem);
        }
        let token = match self.sign_in(&server, vault).await {
            Ok(token) => token,
            Err(problem) => {
                self.refresh_after(AGAIN);
                return found.note(problem);
            }
        };
        for request in plan_requests(&vault.secrets) {
            match server.fetch(&request, &token).await {
                Ok(data) => self.take_response(&server, vault, &request, &data, found),
                Err(problem) => {
                    self.refresh_after(AGAIN);
                    found.note(problem);
                }
            }
        }
    }

    fn take_response(
        &mut self,
        server: &Server<'_>,
        vault: &HashiCorpVault,
        request: &VaultRequest<'_>,
        data: &Map<String, Value>,
        found: &mut Found,
    ) {
        match request.engine {
            VaultSecretType::Pki => self.refresh_before(certificate_lifetime(data)),
            _ => self.refresh_after(AGE_MAX),
        }
        for secret in request.answers.iter().filter_map(|index| vault.secrets.get(*index)) {
            let value = value(request.engine, data, &secret.key).ok_or_else(|| {
                let problem = format!("finds no text under the key {:?} of {}", secret.key, secret.path);
                CredentialError::invalid(&server.place, problem, "correct the key, or the type, or write it to Vault")
            });
            found.take(&secret.parameter, value);
        }
    }

    /// A token that works.
    async fn sign_in(&mut self, server: &Server<'_>, vault: &HashiCorpVault) -> Result<Secret, CredentialError> {
        let token = match vault.authentication {
            VaultAuthentication::Token => self.given_token(server, vault)?,
            VaultAuthentication::Kubernetes => self.exchanged_token(server, vault).await?,
        };
        server.call(Method::GET, "auth/token/lookup-self", Some(&token), None).await?;
        Ok(token)
    }

    fn given_token(&self, server: &Server<'_>, vault: &HashiCorpVault) -> Result<Secret, CredentialError> {
        // KEDA: the operator's own token wins.
        if let Some(own) = self.credentials.settings.vault.token.clone() {
            server.check_identity(self.namespace)?;
            return Ok(own);
        }
        let given = || vault.credential.as_ref()?.token.as_ref().filter(|token| !token.is_empty()).map(Secret::new);
        given().ok_or_else(|| {
            let remedy = "give credential.token, or set VAULT_TOKEN on the operator";
            CredentialError::invalid(&server.place, "has no token to sign in with", remedy)
        })
    }

    /// A token that Vault gives for one of Kubernetes.
    async fn exchanged_token(
        &mut self,
        server: &Server<'_>,
        vault: &HashiCorpVault,
    ) -> Result<Secret, CredentialError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (Some(mount), Some(role)) = (given(&vault.mount), given(&vault.role)) else {
            let remedy = "give both, as Vault's kubernetes method knows them";
            return Err(CredentialError::invalid(
                &server.place,
                "needs mount and role to sign in by kubernetes",
                remedy,
            ));
        };
        let named = vault.credential.as_ref().and_then(|credential| given(&credential.service_account_name));
        let policy = &self.credentials.settings.token_policy;
        if *policy == TokenPolicy::Legacy {
            warn!(place = server.place, "signing in to Vault with a token whose audience is not restricted");
        }
        let jwt = match named {
            // KEDA: of the scaled object's namespace, also for a ClusterTriggerAuthentication.
            Some(account) => self.token(self.namespace, &account, server.place.clone()).await?,
            None => {
                server.check_identity(self.namespace)?;
                jwt::read(&self.token_file(vault), policy, &server.place).await?
            }
        };
        let body = json!({ "jwt": jwt.reveal(), "role": role });
        let path = format!("auth/{}/login", mount.trim_matches('/'));
        let response = server.call(Method::POST, &path, None, Some(body)).await?;
        let token = response.pointer("/auth/client_token").and_then(Value::as_str);
        token.map(Secret::new).ok_or_else(|| server.unreadable("its answer to the sign-in holds no token"))
    }
}

impl Resolution<'_> {
    /// The file with the token of the operator that signs in, where the object names no account.
    fn token_file(&self, vault: &HashiCorpVault) -> PathBuf {
        let settings = &self.credentials.settings;
        match (&vault.credential, &settings.token_policy) {
            (Some(credential), _) => credential.service_account.clone().unwrap_or_default().into(),
            (None, TokenPolicy::Legacy) => jwt::OWN_TOKEN.into(),
            (None, TokenPolicy::EnforceAudience(_)) => settings.vault_token_file.clone(),
        }
    }
}

impl Server<'_> {
    /// Whether an identity of the operator may be used for objects of this namespace.
    fn check_identity(&self, namespace: &str) -> Result<(), CredentialError> {
        let checked = self.exchange.check_identity(IdentityProvider::Vault, namespace, self.address);
        checked.map_err(|problem| {
            let remedy =
                "name a service account of your own, or let the administrator grant the identity in that policy";
            CredentialError::invalid(&self.place, format!("cannot sign in: {problem}"), remedy)
        })
    }

    /// Whether the administrator allows this address. No credential is read or sent before.
    fn check(&self, filter: &VaultFilter) -> Result<(), CredentialError> {
        match filter.verdict(self.address) {
            Verdict::Allowed => Ok(()),
            Verdict::AllowedWithWarning(problem) => {
                warn!(place = self.place, problem, "vault address not in the allowlist");
                Ok(())
            }
            Verdict::Denied(problem) => {
                let remedy = "use an allowed address, or add it to KEDA_OUTBOUND_FILTER of the operator";
                Err(CredentialError::invalid(&self.place, problem, remedy))
            }
        }
    }

    async fn fetch(&self, request: &VaultRequest<'_>, token: &Secret) -> Result<Map<String, Value>, CredentialError> {
        let method = if request.body.is_some() { Method::POST } else { Method::GET };
        let response = self.call(method, request.path, Some(token), request.body.clone()).await?;
        match response.get("data") {
            Some(Value::Object(data)) => Ok(data.clone()),
            _ => Err(self.unreadable(format!("its answer to {} holds no data", request.path))),
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&Secret>,
        body: Option<Value>,
    ) -> Result<Value, CredentialError> {
        let wrong = |problem: String, remedy: &str| CredentialError::invalid(&self.place, problem, remedy);
        let headers = self.headers(token).ok_or_else(|| {
            wrong("has a namespace or token that cannot be sent".to_owned(), "write it in one line of plain text")
        })?;
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let url = format!("{}/v1/{}", self.address, path.trim_start_matches('/'));
        let body = match self.exchange.send(method, &url, headers, body.into(), &self.options).await {
            Ok(body) => body,
            Err(ExchangeError::Address(problem)) => {
                return Err(wrong(format!("names an address that, with {path:?}, {problem}"), "correct it"));
            }
            Err(ExchangeError::Request(ReadError::Status { code: 404, .. })) => {
                let remedy =
                    "correct the path; for version 2 of the key-value engine it contains data/ after the mount";
                return Err(wrong(format!("asks for {path}, which Vault does not have"), remedy));
            }
            Err(ExchangeError::Request(ReadError::Status { code: code @ 400..500, .. })) if code != 429 => {
                let remedy = "check the credential, and the policies that it has in Vault";
                return Err(wrong(format!("is refused by Vault at {path} with status {code}"), remedy));
            }
            Err(error) => return Err(self.unreadable(error.to_string())),
        };
        serde_json::from_slice(&body).map_err(|_| self.unreadable(format!("its answer to {path} is not JSON")))
    }

    fn headers(&self, token: Option<&Secret>) -> Option<HeaderMap> {
        let mut headers = self.headers.clone();
        headers.insert("X-Vault-Request", HeaderValue::from_static("true"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(namespace) = self.namespace.filter(|namespace| !namespace.is_empty()) {
            headers.insert("X-Vault-Namespace", HeaderValue::from_str(namespace).ok()?);
        }
        if let Some(token) = token {
            let mut token = HeaderValue::from_str(token.reveal()).ok()?;
            token.set_sensitive(true);
            headers.insert("X-Vault-Token", token);
        }
        Some(headers)
    }

    fn unreadable(&self, problem: impl Into<String>) -> CredentialError {
        CredentialError::Unreadable { what: format!("the Vault that {} names", self.place), problem: problem.into() }
    }
}

/// How long a certificate lasts that was issued just now.
fn certificate_lifetime(data: &Map<String, Value>) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    vault::certificate_expiry(data).map_or(AGE_MAX, |end| end.saturating_sub(now)).max(AGAIN)
}
