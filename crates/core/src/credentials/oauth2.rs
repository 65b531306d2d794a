//! The parameters of `oauth2`.

use kedge_api::authentication::OAuth2;

use crate::secret::Secret;

/// All parameters except the client's secret.
pub fn params(oauth2: &OAuth2) -> Vec<(&'static str, Secret)> {
    let mut params =
        vec![("oauthTokenURI", Secret::new(&oauth2.token_url)), ("clientID", Secret::new(&oauth2.client_id))];
    if let Some(scopes) = oauth2.scopes.as_ref().filter(|scopes| !scopes.is_empty()) {
        params.push(("scopes", Secret::new(scopes.join(","))));
    }
    if let Some(more) = oauth2.token_url_params.as_ref().filter(|more| !more.is_empty()) {
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(more).finish();
        params.push(("endpointParams", Secret::new(encoded)));
    }
    params
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_become_parameters() {
        let oauth2: OAuth2 = serde_json::from_value(json!({
            "type": "clientCredentials", "clientId": "me", "tokenUrl": "https://t/token", "scopes": ["a", "b"],
            "tokenUrlParams": { "z": "1 2", "audience": "x&y" },
        }))
        .unwrap();
        let shown: Vec<_> = params(&oauth2).iter().map(|(name, value)| format!("{name}={}", value.reveal())).collect();
        assert_eq!(
            shown,
            ["oauthTokenURI=https://t/token", "clientID=me", "scopes=a,b", "endpointParams=audience=x%26y&z=1+2"]
        );
        let bare: OAuth2 = serde_json::from_value(json!({
            "type": "clientCredentials", "clientId": "me", "tokenUrl": "u", "scopes": [], "tokenUrlParams": {},
        }))
        .unwrap();
        assert_eq!(params(&bare).len(), 2);
    }
}
