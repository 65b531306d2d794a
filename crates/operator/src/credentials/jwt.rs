//! Files that hold a token of a service account. An authentication object may name any file of the operator's: only what
//! certainly is such a token leaves the operator.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_core::credentials::CredentialError;
use kedge_core::secret::Secret;
use kedge_scalers::credential_file;

/// Where a pod finds its own token.
pub(super) const OWN_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The token in a file.
pub(super) async fn read(path: &str, place: &str) -> Result<Secret, CredentialError> {
    let wrong = |problem: &str| {
        let remedy = "name a file with a token of a service account, or use credential.serviceAccountName";
        CredentialError::invalid(
            place,
            format!("signs in with the file {path:?}, which is not usable: {problem}"),
            remedy,
        )
    };
    let text = credential_file::read(path).await.map_err(|problem| wrong(&problem))?;
    let token = text.trim();
    match is_service_account_token(token) {
        true => Ok(Secret::new(token)),
        false => Err(wrong("it does not hold a token of a service account")),
    }
}

fn is_service_account_token(token: &str) -> bool {
    let subject = || {
        let mut parts = token.split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok().filter(|_| parts.next().is_none())?;
        let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
        claims["sub"].as_str().map(str::to_owned)
    };
    subject().is_some_and(|subject| subject.starts_with("system:serviceaccount:"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn only_tokens_of_service_accounts_are_taken() {
        let rows = [
            ("one", token(r#"{"sub": "system:serviceaccount:keda:operator"}"#), true),
            ("of a person", token(r#"{"sub": "ann"}"#), false),
            ("without a subject", token("{}"), false),
            ("not JSON", token("hunter2"), false),
            ("a password", "hunter2".to_owned(), false),
            ("four parts", format!("{}.x", token(r#"{"sub": "system:serviceaccount:a:b"}"#)), false),
        ];
        for (name, text, expected) in rows {
            assert_eq!(is_service_account_token(&text), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_none_is_named_and_not_quoted() {
        let path = std::env::temp_dir().join(format!("kedge-jwt-{}", std::process::id()));
        fs::write(&path, "hunter2").unwrap();
        let text = read(path.to_str().unwrap(), "`hashiCorpVault`").await.unwrap_err().to_string();
        assert!(text.contains("does not hold a token") && !text.contains("hunter2"), "{text}");
        fs::write(&path, format!("{}\n", token(r#"{"sub": "system:serviceaccount:a:b"}"#))).unwrap();
        assert!(read(path.to_str().unwrap(), "x").await.unwrap().reveal().starts_with("e30."));
        fs::remove_file(path).unwrap();
        for path in ["", "/", "/no/such/file"] {
            assert!(read(path, "x").await.is_err(), "{path}");
        }
    }
}
