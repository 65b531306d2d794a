//! OAuth 2.0 client credentials.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::SecretValue;

/// OAuth 2.0: the operator fetches a token from the token server and sends it to the source.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct OAuth2 {
    /// The grant type; clientCredentials is the only one, and the default.
    #[schemars(extend("default" = "clientCredentials"))]
    pub r#type: OAuth2Type,

    /// The id of this client at the token server.
    pub client_id: String,

    /// The secret of this client.
    pub client_secret: Option<SecretValue>,

    /// The address of the token server: an http or https URL.
    pub token_url: String,

    /// The scopes to request.
    pub scopes: Option<Vec<String>>,

    /// More parameters to send to the token server.
    pub token_url_params: Option<BTreeMap<String, String>>,
}

/// The OAuth 2.0 grants that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub enum OAuth2Type {
    #[serde(alias = "")]
    ClientCredentials,
}
