//! The key of a service account, and the signed statement that a token is given for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

// Where keys that name no other place are exchanged.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// The longest that Google accepts.
const LIFETIME_SECONDS: i64 = 3600;

/// The key of a service account, as Google's console writes it.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    key: RsaKeyPair,
    token_uri: String,
}

impl ServiceAccount {
    /// Reads the JSON. The error repeats nothing of it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|_| "is not JSON")?;
        let field = |name: &str| json[name].as_str().filter(|value| !value.is_empty()).map(str::to_owned);
        if let Some(kind) = field("type").filter(|kind| kind != "service_account") {
            return Err(format!(
                "is of the type {:?}, and only service_account is supported",
                kind.get(..40).unwrap_or(&kind)
            ));
        }
        Ok(Self {
            email: field("client_email").ok_or("has no client_email")?,
            key_id: field("private_key_id"),
            key: parse_key(&field("private_key").ok_or("has no private_key")?)?,
            token_uri: field("token_uri").unwrap_or_else(|| TOKEN_URI.to_owned()),
        })
    }

    pub(super) fn token_uri(&self) -> &str {
        &self.token_uri
    }

    /// A JSON Web Token by which the account requests a token of the scope.
    pub(super) fn assertion(&self, scope: &str, now: DateTime<Utc>) -> Result<String, String> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(key_id) = &self.key_id {
            header["kid"] = json!(key_id);
        }
        let now = now.timestamp();
        let claims = json!({
            "iss": self.email, "scope": scope, "aud": self.token_uri, "iat": now, "exp": now + LIFETIME_SECONDS,
        });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let statement = format!("{}.{}", encode(&header), encode(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), statement.as_bytes(), &mut signature)
            .map_err(|_| "nothing can be signed with the private_key")?;
        Ok(format!("{statement}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn parse_key(pem: &str) -> Result<RsaKeyPair, String> {
    let key = match PrivateKeyDer::from_pem_slice(pem.as_bytes()) {
        Ok(PrivateKeyDer::Pkcs8(key)) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        Ok(PrivateKeyDer::Pkcs1(key)) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        _ => return Err("has a private_key that is not an RSA key as PEM text".to_owned()),
    };
    key.map_err(|_| "has a private_key that is not a usable RSA key".to_owned())
}

#[cfg(test)]
mod tests {
    use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    const PEM: &str = include_str!("../../../tests/sources/unused_rsa_key.pem");

    fn json_key() -> Value {
        json!({"type": "service_account", "client_email": "kedge@p.iam", "private_key": PEM, "private_key_id": "7"})
    }

    #[test]
    fn the_statement_is_signed_with_the_key() {
        let account = ServiceAccount::parse(&json_key().to_string()).unwrap();
        let now = "2026-08-20T10:11:12Z".parse().unwrap();
        let assertion = account.assertion("scope", now).unwrap();
        let (statement, signature) = assertion.rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, account.key.public_key().as_ref());
        public.verify(statement.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let parts: Vec<Value> = statement
            .split('.')
            .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
            .collect();
        assert_eq!(parts[0], json!({"alg": "RS256", "typ": "JWT", "kid": "7"}));
        let claims =
            json!({"iss": "kedge@p.iam", "scope": "scope", "aud": TOKEN_URI, "iat": 1787220672, "exp": 1787224272});
        assert_eq!(parts[1], claims);
    }

    #[test]
    fn what_is_wrong_is_named_and_not_shown() {
        let without = |name: &str| {
            let mut json = json_key();
            json.as_object_mut().unwrap().remove(name);
            json.to_string()
        };
        let with = |name: &str, value: &str| {
            let mut json = json_key();
            json[name] = json!(value);
            json.to_string()
        };
        let ec = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let rows = [
            ("hunter2".to_owned(), "is not JSON"),
            ("[1]".to_owned(), "has no client_email"),
            (without("client_email"), "has no client_email"),
            (without("private_key"), "has no private_key"),
            (with("private_key", "hunter2"), "not an RSA key"),
            (with("private_key", &ec), "not a usable RSA key"),
            (with("type", "external_account"), "\"external_account\", and only service_account"),
        ];
        for (text, expected) in rows {
            let problem = ServiceAccount::parse(&text).unwrap_err();
            assert!(problem.contains(expected) && !problem.contains("hunter2"), "{problem}");
        }
    }
}
