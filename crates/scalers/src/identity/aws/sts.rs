//! Roles, taken on at AWS's Security Token Service.

use chrono::{DateTime, Utc};

use super::{Credentials, sign_call};
use crate::identity::means::Means;
use crate::identity::token::Lease;
use crate::trigger::Secret;

// KEDA: the name by which its sessions stand in the audit logs.
pub(super) const SESSION: &str = "KEDA";
const VERSION: &str = "2011-06-15";

/// Takes on a role as somebody who may.
pub(super) async fn assume(
    means: &Means,
    region: &str,
    arn: &str,
    external_id: Option<&str>,
    by: &Credentials,
    now: DateTime<Utc>,
) -> Result<Lease<Credentials>, String> {
    let mut fields =
        vec![("Action", "AssumeRole"), ("Version", VERSION), ("RoleArn", arn), ("RoleSessionName", SESSION)];
    fields.extend(external_id.map(|id| ("ExternalId", id)));
    let mut call = means.form(&endpoint(means, region), &fields)?;
    sign_call(&mut call, by, region, "sts", now)?;
    parse_answer(&means.ask(&call).await?)
}

/// Takes on a role with the token of a service account, which the role trusts.
pub(super) async fn assume_with_token(
    means: &Means,
    region: &str,
    arn: &str,
    session: &str,
    token: &str,
) -> Result<Lease<Credentials>, String> {
    let fields = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", arn),
        ("RoleSessionName", session),
        ("WebIdentityToken", token),
    ];
    parse_answer(&means.ask(&means.form(&endpoint(means, region), &fields)?).await?)
}

fn endpoint(means: &Means, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let usual = || format!("https://sts.{region}.{domain}/");
    means.ambient.get("AWS_ENDPOINT_URL_STS").map_or_else(usual, str::to_owned)
}

/// The answer is a small document of XML, of which four elements count.
fn parse_answer(body: &[u8]) -> Result<Lease<Credentials>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the answer of STS is not a text")?;
    let field = |name: &str| element(text, name).ok_or_else(|| format!("the answer of STS has no {name}"));
    let expires_at = field("Expiration")?.parse().map_err(|_| "the answer of STS has an Expiration that is no time")?;
    let value = Credentials {
        access_key: Secret::new(field("AccessKeyId")?),
        secret_key: Secret::new(field("SecretAccessKey")?),
        session_token: Some(Secret::new(field("SessionToken")?)),
    };
    Ok(Lease { value, expires_at: Some(expires_at) })
}

/// The text of the first element of a name. Keys and tokens have no character that XML would escape.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(expiration: &str) -> String {
        format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>\
             <SecretAccessKey>k/+=</SecretAccessKey>\n<SessionToken>\nt==\n</SessionToken>\
             <Expiration>{expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )
    }

    #[test]
    fn answers_are_read_strictly() {
        let lease = parse_answer(answer("2026-08-20T11:11:12Z").as_bytes()).unwrap();
        assert_eq!(lease.expires_at, Some("2026-08-20T11:11:12Z".parse().unwrap()));
        assert_eq!(lease.value.secret_key.reveal(), "k/+=");
        assert_eq!(lease.value.session_token.unwrap().reveal(), "t==");
        for broken in [answer("soon"), answer("").replace("<SessionToken>", "<X>"), String::new()] {
            assert!(parse_answer(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
