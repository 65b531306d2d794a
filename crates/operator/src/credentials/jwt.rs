//! Files that hold a token of a service account. An authentication object may name any file of the operator's: only what
//! certainly is such a token leaves the operator.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use kedge_core::credentials::CredentialError;
use kedge_core::credentials::token_policy::{Claims, TokenPolicy, check_claims};
use kedge_core::secret::Secret;
use kedge_scalers::credential_file;

const NO_TOKEN: &str = "it does not hold a token of a service account";

/// Where a pod finds its own token.
pub(super) const OWN_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The token in a file, if the policy lets it be sent.
pub(super) async fn read(path: &Path, policy: &TokenPolicy, place: &str) -> Result<Secret, CredentialError> {
    let wrong = |problem: String| {
        let remedy = "name a file with a token of a service account, or use credential.serviceAccountName";
        let file = path.display();
        CredentialError::invalid(
            place,
            format!("signs in with the file {file}, which is not usable: {problem}"),
            remedy,
        )
    };
    let approved = policy.approved_audiences().map_err(&wrong)?;
    let token = Secret::new(credential_file::read(path).await.map_err(&wrong)?.trim());
    match approved {
        Some(approved) => check(&token, &approved),
        None => is_of_a_service_account(&token),
    }
    .map_err(wrong)?;
    Ok(token)
}

/// Whether a token may be sent: it is for one of these audiences, and for no other.
pub(super) fn check(token: &Secret, approved: &[&str]) -> Result<(), String> {
    check_claims(&claims(token)?, approved, Utc::now())
}

fn is_of_a_service_account(token: &Secret) -> Result<(), String> {
    match claims(token)?.sub.starts_with("system:serviceaccount:") {
        true => Ok(()),
        false => Err(NO_TOKEN.to_owned()),
    }
}

/// The claims of a token, which is not verified.
fn claims(token: &Secret) -> Result<Claims, String> {
    let claims = || {
        let mut parts = token.reveal().split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok().filter(|_| parts.next().is_none())?;
        serde_json::from_slice(&claims).ok()
    };
    claims().ok_or_else(|| NO_TOKEN.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use kedge_core::credentials::token_policy::{AudienceEntry, TokenMode};
    use serde_json::json;

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
            assert_eq!(is_of_a_service_account(&Secret::new(text)).is_ok(), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_none_is_named_and_not_quoted() {
        let path = std::env::temp_dir().join(format!("kedge-jwt-{}", std::process::id()));
        let legacy = &TokenPolicy::Legacy;
        fs::write(&path, "hunter2").unwrap();
        let text = read(&path, legacy, "`hashiCorpVault`").await.unwrap_err().to_string();
        assert!(text.contains("does not hold a token") && !text.contains("hunter2"), "{text}");
        fs::write(&path, format!("{}\n", token(r#"{"sub": "system:serviceaccount:a:b"}"#))).unwrap();
        assert!(read(&path, legacy, "x").await.unwrap().reveal().starts_with("e30."));
        fs::remove_file(path).unwrap();
        for path in ["", "/", "/no/such/file"] {
            assert!(read(Path::new(path), legacy, "x").await.is_err(), "{path}");
        }
    }

    #[tokio::test]
    async fn a_token_leaves_only_if_its_audience_is_approved() {
        let path = std::env::temp_dir().join(format!("kedge-audience-{}", std::process::id()));
        let entry = AudienceEntry { audience: "vault".to_owned(), namespace: None, service_account_name: None };
        let policy = TokenPolicy::new(TokenMode::EnforceAudience, vec![entry]).unwrap();
        let exp = Utc::now().timestamp() + 600;
        let claims = |aud: &str| json!({ "sub": "system:serviceaccount:a:b", "aud": [aud], "exp": exp }).to_string();
        fs::write(&path, token(&claims("vault"))).unwrap();
        assert!(read(&path, &policy, "x").await.is_ok());
        let text = read(&path, &TokenPolicy::default(), "x").await.unwrap_err().to_string();
        assert!(text.contains("configure KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES"), "{text}");
        fs::write(&path, token(&claims("https://kubernetes.default.svc"))).unwrap();
        let text = read(&path, &policy, "x").await.unwrap_err().to_string();
        assert!(text.contains("is not approved"), "{text}");
        fs::remove_file(path).unwrap();
    }
}
