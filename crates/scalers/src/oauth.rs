//! OAuth 2.0 client credentials: the token of a client, requested from a token endpoint, kept until it expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use form_urlencoded::byte_serialize;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method};
use serde::Deserialize;

use crate::error::ReadError;
use crate::http::{Address, Call, HttpClient, basic};
use crate::identity::token::{Expiring, LIFETIME_MAX, Renewing};
use crate::observer::unobserved;
use crate::trigger::Secret;

/// The client, and where its tokens are requested.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OAuthClient {
    pub(crate) token_uri: String,
    pub(crate) client_id: Secret,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) scopes: Vec<String>,
    /// More parameters of the request.
    pub(crate) endpoint_params: Vec<(String, String)>,
}

/// The token of a client.
#[derive(Debug)]
pub(crate) struct OAuthToken {
    oauth: OAuthClient,
    client: Arc<HttpClient>,
    limit: Duration,
    header: Renewing<HeaderValue>,
    /// Whether the token endpoint wants the secret in the form, instead of a header.
    wants_form: AtomicBool,
}

/// The answer of a token endpoint.
#[derive(Deserialize)]
struct TokenResponse {
    #[serde(default)]
    access_token: String,
    #[serde(default)]
    token_type: String,
    expires_in: Option<serde_json::Value>,
    error: Option<serde_json::Value>,
}

impl OAuthToken {
    pub(crate) fn new(oauth: OAuthClient, client: Arc<HttpClient>, limit: Duration) -> Self {
        Self { oauth, client, limit, header: Renewing::default(), wants_form: AtomicBool::new(false) }
    }

    /// The value of the `Authorization` header.
    pub(crate) async fn header(&self, now: DateTime<Utc>) -> Result<HeaderValue, ReadError> {
        // KEDA: only queries of the source are counted.
        let fetched = unobserved(self.header.get(now, self.fetch(now))).await;
        fetched.map_err(|problem| ReadError::NoCredentials { identity: "oauth client", problem })
    }

    /// Requests a new token next time: the source did not accept this one.
    pub(crate) async fn discard(&self) {
        self.header.discard().await;
    }

    async fn fetch(&self, now: DateTime<Utc>) -> Result<Expiring<HeaderValue>, String> {
        let has_secret = self.oauth.client_secret.is_some();
        if !has_secret || self.wants_form.load(Ordering::Relaxed) {
            return parse(&self.request(SecretPlace::Form).await?, now);
        }
        // KEDA: the header first, and the form after any failure.
        if let Ok(header) = self.request(SecretPlace::Header).await.and_then(|body| parse(&body, now)) {
            return Ok(header);
        }
        let header = parse(&self.request(SecretPlace::Form).await?, now)?;
        self.wants_form.store(true, Ordering::Relaxed);
        Ok(header)
    }

    async fn request(&self, place: SecretPlace) -> Result<Bytes, String> {
        let address = Address::parse(&self.oauth.token_uri).map_err(|problem| format!("oauthTokenURI {problem}"))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let (SecretPlace::Header, Some(secret)) = (place, &self.oauth.client_secret) {
            let escape = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let (id, secret) = (escape(self.oauth.client_id.reveal()), escape(secret.reveal()));
            let value = basic(id.as_bytes(), secret.as_bytes()).ok_or("the client cannot be written in a header")?;
            headers.insert(header::AUTHORIZATION, value);
        }
        let body = self.oauth.form(place);
        let call = Call::new(Method::POST, address, headers, body.into(), self.limit);
        self.client.fetch(&call).await.map_err(|error| error.to_string())
    }
}

/// Where the secret of the client is in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretPlace {
    Header,
    Form,
}

impl OAuthClient {
    fn form(&self, place: SecretPlace) -> String {
        let given = |name: &str| self.endpoint_params.iter().any(|(given, _)| given == name);
        let mut form = form_urlencoded::Serializer::new(String::new());
        // KEDA: the parameters of the endpoint may replace it.
        if !given("grant_type") {
            form.append_pair("grant_type", "client_credentials");
        }
        if !self.scopes.is_empty() {
            form.append_pair("scope", &self.scopes.join(" "));
        }
        form.extend_pairs(&self.endpoint_params);
        if place == SecretPlace::Form {
            form.append_pair("client_id", self.client_id.reveal());
            if let Some(secret) = &self.client_secret {
                form.append_pair("client_secret", secret.reveal());
            }
        }
        form.finish()
    }
}

/// Reads JSON, or a form, as some endpoints answer. Errors show nothing of the answer.
fn parse(body: &[u8], now: DateTime<Utc>) -> Result<Expiring<HeaderValue>, String> {
    let response: TokenResponse = match serde_json::from_slice(body) {
        Ok(response) => response,
        Err(_) => parse_form(body),
    };
    if response.error.is_some() || response.access_token.is_empty() {
        return Err("the token endpoint gave no access_token".to_owned());
    }
    let token_type = match response.token_type.as_str() {
        "" => "Bearer",
        // Go: these spellings are the standard ones.
        given if given.eq_ignore_ascii_case("bearer") => "Bearer",
        given if given.eq_ignore_ascii_case("basic") => "Basic",
        given if given.eq_ignore_ascii_case("mac") => "MAC",
        given => given,
    };
    let mut value = HeaderValue::try_from(format!("{token_type} {}", response.access_token))
        .map_err(|_| "the token has characters that no header can have".to_owned())?;
    value.set_sensitive(true);
    let seconds = response.expires_in.as_ref().and_then(seconds).filter(|seconds| *seconds > 0);
    let lifetime = seconds.map(|seconds| TimeDelta::try_seconds(seconds).unwrap_or(LIFETIME_MAX).min(LIFETIME_MAX));
    // KEDA: a token without an end is kept for ever.
    Ok(Expiring { value, expires_at: lifetime.and_then(|lifetime| now.checked_add_signed(lifetime)) })
}

fn parse_form(body: &[u8]) -> TokenResponse {
    let field =
        |name: &str| form_urlencoded::parse(body).find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    TokenResponse {
        access_token: field("access_token").unwrap_or_default(),
        token_type: field("token_type").unwrap_or_default(),
        expires_in: field("expires_in").map(Into::into),
        error: field("error").map(Into::into),
    }
}

/// Some write the number as a text.
fn seconds(value: &serde_json::Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(secret: Option<&str>, scopes: &[&str], params: &[(&str, &str)]) -> OAuthClient {
        OAuthClient {
            token_uri: "https://token".to_owned(),
            client_id: Secret::new("me"),
            client_secret: secret.map(Secret::new),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            endpoint_params: params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn the_form_has_what_is_given() {
        let rows = [
            (client(None, &[], &[]), SecretPlace::Form, "grant_type=client_credentials&client_id=me"),
            (client(Some("s&s"), &["a", "b"], &[]), SecretPlace::Header, "grant_type=client_credentials&scope=a+b"),
            (
                client(Some("s&s"), &[], &[("audience", "x"), ("grant_type", "other")]),
                SecretPlace::Form,
                "audience=x&grant_type=other&client_id=me&client_secret=s%26s",
            ),
        ];
        for (client, place, expected) in rows {
            assert_eq!(client.form(place), expected);
        }
    }

    #[test]
    fn answers_are_json_or_forms() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let rows = [
            (r#"{"access_token":"t","expires_in":60}"#, Some(("Bearer t", Some(60)))),
            (r#"{"access_token":"t","token_type":"bearer","expires_in":"60"}"#, Some(("Bearer t", Some(60)))),
            (r#"{"access_token":"t","token_type":"DPoP"}"#, Some(("DPoP t", None))),
            ("access_token=t&token_type=bearer&expires_in=60", Some(("Bearer t", Some(60)))),
            (r#"{"access_token":"t","expires_in":9223372036854775807}"#, Some(("Bearer t", Some(30 * 86400)))),
            (r#"{"error":"invalid_client","access_token":"t"}"#, None),
            (r#"{"access_token":""}"#, None),
            ("<html>hunter2</html>", None),
            (r#"{"access_token":"a\nb"}"#, None),
        ];
        for (body, expected) in rows {
            let parsed = parse(body.as_bytes(), now);
            assert!(!format!("{parsed:?}").contains("hunter2"));
            let found = parsed.ok().map(|found| {
                let seconds = found.expires_at.map(|end| (end - now).num_seconds());
                (found.value.to_str().unwrap().to_owned(), seconds)
            });
            assert_eq!(found, expected.map(|(value, seconds)| (value.to_owned(), seconds)), "{body}");
        }
    }
}
