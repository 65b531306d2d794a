//! The request: the URL, and what signs in.

use std::fmt;
use std::time::Duration;

use form_urlencoded::Serializer;
use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use crate::auth::{ApiKey, Auth, KeyPlace};
use crate::error::ReadError;
use crate::http::{Address, Call, basic};
use crate::trigger::{FieldError, Secret};

// KEDA: its names for a key that has none.
const KEY_HEADER: &str = "X-API-KEY";
const KEY_PARAMETER: &str = "api_key";

/// The request. Users put credentials in the URL too.
#[derive(Clone)]
pub(super) struct QueryRequest {
    pub(super) address: Address,
    headers: HeaderMap,
    /// A parameter of the query that signs in.
    parameter: Option<(String, Secret)>,
    limit: Duration,
}

impl fmt::Debug for QueryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryRequest").finish_non_exhaustive()
    }
}

impl QueryRequest {
    pub(super) fn new(address: Address, auth: Option<&Auth>, limit: Duration) -> Result<Self, FieldError> {
        let headers = auth.map(headers).transpose()?.unwrap_or_default();
        let key = auth.and_then(|auth| auth.api_key.as_ref()).filter(|key| key.place == KeyPlace::Query);
        let parameter = key.map(|key| (key.name.clone().unwrap_or_else(|| KEY_PARAMETER.to_owned()), key.key.clone()));
        let query_request = Self { address, headers, parameter, limit };
        match query_request.with_parameter(&query_request.address) {
            Ok(_) => Ok(query_request),
            Err(problem) => Err(FieldError::new("url", problem, "check its query, or send the key as a header")),
        }
    }

    /// The query_request, put to an address.
    pub(super) fn call(&self, address: &Address) -> Result<Call, ReadError> {
        let address = self.with_parameter(address).map_err(|problem| ReadError::Config {
            field: "url",
            problem: problem.to_owned(),
            remedy: "check its query, or send the key as a header",
        })?;
        Ok(Call::get(address, self.headers.clone(), self.limit).only_ok())
    }

    fn with_parameter(&self, address: &Address) -> Result<Address, &'static str> {
        let mut address = address.clone();
        if let Some((name, value)) = &self.parameter {
            let query = with_parameter(address.uri.query().unwrap_or_default(), name, value.reveal());
            address.set_query(&query)?;
        }
        Ok(address)
    }
}

/// A query in which the parameter is set.
// KEDA: the query is rewritten, ordered by name.
fn with_parameter(query: &str, name: &str, value: &str) -> String {
    let mut pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known != name).collect();
    pairs.push((name.into(), value.into()));
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn headers(auth: &Auth) -> Result<HeaderMap, FieldError> {
    let unusable = |field: &str| {
        FieldError::new(field, "has characters that no header can have", "look for line ends and blanks in the secret")
    };
    let mut headers = HeaderMap::new();
    if let Some(ApiKey { key, place: KeyPlace::Header, name }) = &auth.api_key {
        let name = name.as_deref().unwrap_or(KEY_HEADER);
        let name = HeaderName::try_from(name).map_err(|_| unusable("keyParamName"))?;
        headers.insert(name, sensitive(key.reveal()).ok_or_else(|| unusable("apiKey"))?);
    }
    if let Some(user) = &auth.basic {
        let value = basic(user.username.reveal().as_bytes(), user.password.reveal().as_bytes());
        headers.insert(header::AUTHORIZATION, value.ok_or_else(|| unusable("username"))?);
    }
    if let Some(token) = &auth.bearer {
        let value = sensitive(&format!("Bearer {}", token.reveal()));
        headers.insert(header::AUTHORIZATION, value.ok_or_else(|| unusable("bearerToken"))?);
    }
    Ok(headers)
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_set_and_the_query_rewritten() {
        let rows = [
            ("", "api_key", "k", "api_key=k"),
            ("b=2&a=1", "api_key", "k&1", "a=1&api_key=k%261&b=2"),
            ("api_key=old&z=%20&api_key=older", "api_key", "new", "api_key=new&z=+"),
            ("b=2&b=1&a", "c", "", "a=&b=2&b=1&c="),
        ];
        for (query, name, value, expected) in rows {
            assert_eq!(with_parameter(query, name, value), expected, "{query}");
        }
    }
}
