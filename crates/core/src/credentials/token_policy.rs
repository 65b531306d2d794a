//! Which tokens of service accounts may be requested, and which may be sent to a server that an authentication object names. A token for
//! the API server's own audience would let that server act as the account.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};

use crate::object_name::{is_dns_label, is_dns_subdomain};

/// The policy of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenPolicy {
    /// Every token has an audience that the administrator listed.
    EnforceAudience(Vec<AudienceEntry>),
    /// Tokens for the API server are requested and sent. KEDA: before 2.21.
    Legacy,
}

/// Which of the two policies is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenMode {
    #[default]
    EnforceAudience,
    Legacy,
}

/// An audience that the administrator listed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AudienceEntry {
    pub audience: String,
    /// The account whose tokens are requested for this audience; without one, the audience counts for token files only.
    #[serde(default, deserialize_with = "non_empty")]
    pub namespace: Option<String>,
    #[serde(default, deserialize_with = "non_empty")]
    pub service_account_name: Option<String>,
}

/// KEDA: an empty text is absent.
fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// The claims of a token that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Claims {
    #[serde(default)]
    pub sub: String,
    #[serde(default)]
    pub aud: Audiences,
    pub exp: Option<i64>,
    pub nbf: Option<i64>,
}

/// One audience, or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Audiences {
    One(String),
    Several(Vec<String>),
}

impl Default for Audiences {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Audiences {
    fn all(&self) -> &[String] {
        match self {
            Self::One(audience) => std::slice::from_ref(audience),
            Self::Several(audiences) => audiences,
        }
    }
}

impl Default for TokenPolicy {
    fn default() -> Self {
        Self::EnforceAudience(Vec::new())
    }
}

impl TokenPolicy {
    /// The policy of a mode and a list of audiences, or what is wrong with them.
    pub fn new(mode: TokenMode, entries: Vec<AudienceEntry>) -> Result<Self, String> {
        check_entries(&entries)?;
        match mode {
            TokenMode::EnforceAudience => Ok(Self::EnforceAudience(entries)),
            TokenMode::Legacy if entries.is_empty() => Ok(Self::Legacy),
            // KEDA: legacy mode would ignore the list.
            TokenMode::Legacy => Err("legacy token mode cannot be combined with configured audiences".to_owned()),
        }
    }

    /// The audience that a token of an account is requested for: none in legacy mode. An error if no audience is listed for it.
    pub fn requested_audience(&self, namespace: &str, account: &str) -> Result<Option<&str>, String> {
        let Self::EnforceAudience(entries) = self else { return Ok(None) };
        let is_listed = |entry: &&AudienceEntry| {
            entry.namespace.as_deref() == Some(namespace) && entry.service_account_name.as_deref() == Some(account)
        };
        let listed = entries.iter().find(is_listed).map(|entry| Some(entry.audience.as_str()));
        listed.ok_or_else(|| {
            format!(
                "no configured token audience for service account {namespace}/{account} in KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES"
            )
        })
    }

    /// The audiences that a token from a file may have: any in legacy mode. An error if none is listed.
    pub fn approved_audiences(&self) -> Result<Option<Vec<&str>>, String> {
        match self {
            Self::Legacy => Ok(None),
            Self::EnforceAudience(entries) if entries.is_empty() => {
                let problem = "no approved service account token audiences";
                Err(format!("{problem}; configure KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES"))
            }
            Self::EnforceAudience(entries) => Ok(Some(entries.iter().map(|entry| entry.audience.as_str()).collect())),
        }
    }
}

/// Checks the claims of a token that is to be sent. The signature is not verified: its receiver does that.
pub fn check_claims(claims: &Claims, approved: &[&str], now: DateTime<Utc>) -> Result<(), String> {
    if !claims.sub.starts_with("system:serviceaccount:") {
        return Err("its subject is not a service account".to_owned());
    }
    let audiences = claims.aud.all();
    if audiences.is_empty() {
        return Err("it has no audience".to_owned());
    }
    if let Some(other) = audiences.iter().find(|audience| !approved.contains(&audience.as_str())) {
        return Err(format!("its audience {other:?} is not approved in KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES"));
    }
    let now = now.timestamp();
    match (claims.exp, claims.nbf) {
        (None, _) => Err("it never expires".to_owned()),
        (Some(expires), _) if expires <= now => Err("it has expired".to_owned()),
        (_, Some(begins)) if begins > now => Err("it is not valid yet".to_owned()),
        _ => Ok(()),
    }
}

fn check_entries(entries: &[AudienceEntry]) -> Result<(), String> {
    for (index, entry) in entries.iter().enumerate() {
        let wrong = |problem: &str| Err(format!("entry {index}: {problem}"));
        if entry.audience.is_empty() || entry.audience.trim() != entry.audience {
            return wrong("audience is empty, or has blanks around it");
        }
        match (&entry.namespace, &entry.service_account_name) {
            (None, None) => continue,
            (Some(namespace), Some(account)) if is_dns_label(namespace) && is_account_name(account) => {}
            (Some(_), Some(_)) => return wrong("namespace or serviceAccountName is not a name"),
            _ => return wrong("give namespace and serviceAccountName both, or neither"),
        }
        let same = |other: &AudienceEntry| {
            (&other.namespace, &other.service_account_name) == (&entry.namespace, &entry.service_account_name)
        };
        if entries[..index].iter().any(same) {
            return wrong("the service account is listed twice");
        }
    }
    Ok(())
}

fn is_account_name(text: &str) -> bool {
    text.len() <= 253 && is_dns_subdomain(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(audience: &str, account: Option<(&str, &str)>) -> AudienceEntry {
        AudienceEntry {
            audience: audience.to_owned(),
            namespace: account.map(|(namespace, _)| namespace.to_owned()),
            service_account_name: account.map(|(_, name)| name.to_owned()),
        }
    }

    #[test]
    fn a_policy_that_would_not_protect_is_an_error() {
        let half = AudienceEntry { namespace: Some("shop".to_owned()), ..entry("vault", None) };
        let pair = || entry("vault", Some(("shop", "reader")));
        let rows = [
            (vec![], Ok(())),
            (vec![pair(), entry("vault", None)], Ok(())),
            (vec![entry(" vault", None)], Err("entry 0: audience")),
            (vec![entry("", None)], Err("entry 0: audience")),
            (vec![half], Err("entry 0: give namespace")),
            (vec![pair(), pair()], Err("entry 1: the service account is listed twice")),
            (vec![entry("vault", Some(("shop", "*")))], Err("entry 0: namespace or serviceAccountName")),
        ];
        assert_eq!(TokenPolicy::new(TokenMode::Legacy, vec![]), Ok(TokenPolicy::Legacy));
        assert!(TokenPolicy::new(TokenMode::Legacy, vec![pair()]).unwrap_err().contains("cannot be combined"));
        for (entries, expected) in rows {
            let outcome = TokenPolicy::new(TokenMode::EnforceAudience, entries.clone()).map(drop);
            match (&outcome, expected) {
                (Ok(()), Ok(())) => {}
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                _ => panic!("{entries:?}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn an_empty_account_is_none() {
        let json = r#"[{"audience": "vault", "namespace": "", "serviceAccountName": null}, {"audience": "vault"}]"#;
        let entries: Vec<AudienceEntry> = serde_json::from_str(json).unwrap();
        assert_eq!(entries, [entry("vault", None), entry("vault", None)]);
    }

    #[test]
    fn a_token_is_requested_only_for_an_account_that_is_listed() {
        let entries = vec![entry("files", None), entry("vault", Some(("shop", "reader")))];
        let policy = TokenPolicy::new(TokenMode::EnforceAudience, entries).unwrap();
        assert_eq!(policy.requested_audience("shop", "reader"), Ok(Some("vault")));
        assert!(policy.requested_audience("shop", "writer").unwrap_err().contains("shop/writer"));
        assert!(policy.requested_audience("bank", "reader").is_err());
        assert_eq!(policy.approved_audiences(), Ok(Some(vec!["files", "vault"])));
        assert_eq!(TokenPolicy::Legacy.requested_audience("shop", "writer"), Ok(None));
        assert_eq!(TokenPolicy::Legacy.approved_audiences(), Ok(None));
        assert!(TokenPolicy::default().approved_audiences().is_err());
    }

    #[test]
    fn every_audience_of_a_token_must_be_approved_and_the_token_must_end() {
        let now = DateTime::from_timestamp(1000, 0).unwrap();
        let claims = |text: &str| serde_json::from_str::<Claims>(text).unwrap();
        let account = r#""sub": "system:serviceaccount:shop:reader""#;
        let rows = [
            (format!(r#"{{{account}, "aud": "vault", "exp": 2000}}"#), Ok(())),
            (format!(r#"{{{account}, "aud": ["vault", "files"], "exp": 2000, "nbf": 1000}}"#), Ok(())),
            (r#"{"sub": "ann", "aud": "vault", "exp": 2000}"#.to_owned(), Err("its subject")),
            (r#"{"aud": "vault", "exp": 2000}"#.to_owned(), Err("its subject")),
            (format!(r#"{{{account}, "exp": 2000}}"#), Err("it has no audience")),
            (format!(r#"{{{account}, "aud": ["vault", "https://kubernetes"], "exp": 2000}}"#), Err("is not approved")),
            (format!(r#"{{{account}, "aud": "vault"}}"#), Err("it never expires")),
            (format!(r#"{{{account}, "aud": "vault", "exp": 1000}}"#), Err("it has expired")),
            (format!(r#"{{{account}, "aud": "vault", "exp": 2000, "nbf": 1001}}"#), Err("it is not valid yet")),
        ];
        for (text, expected) in rows {
            let outcome = check_claims(&claims(&text), &["vault", "files"], now);
            match (&outcome, expected) {
                (Ok(()), Ok(())) => {}
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                _ => panic!("{text}: {outcome:?}"),
            }
        }
    }
}
