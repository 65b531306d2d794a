//! Roles, assumed at the AWS Security Token Service.

use chrono::{DateTime, Utc};

use super::{Credentials, sign_call};
use crate::identity::token::Expiring;
use crate::identity::token_client::TokenClient;
use crate::trigger::Secret;

// KEDA: the name of its sessions in the audit logs.
pub(super) const SESSION: &str = "KEDA";
const VERSION: &str = "2011-06-15";

/// Assumes a role with the credentials of another identity.
pub(super) async fn assume(
    client: &TokenClient,
    region: &str,
    arn: &str,
    external_id: Option<&str>,
    by: &Credentials,
    now: DateTime<Utc>,
) -> Result<Expiring<Credentials>, String> {
    let mut fields =
        vec![("Action", "AssumeRole"), ("Version", VERSION), ("RoleArn", arn), ("RoleSessionName", SESSION)];
    fields.extend(external_id.map(|id| ("ExternalId", id)));
    let mut call = client.form(&endpoint(client, region), &fields)?;
    sign_call(&mut call, by, region, "sts", now)?;
    parse_answer(&client.send(&call).await?)
}

/// Assumes a role with the token of a service account, which the role trusts.
pub(super) async fn assume_with_token(
    client: &TokenClient,
    region: &str,
    arn: &str,
    session: &str,
    token: &str,
) -> Result<Expiring<Credentials>, String> {
    let fields = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", arn),
        ("RoleSessionName", session),
        ("WebIdentityToken", token),
    ];
    parse_answer(&client.send(&client.form(&endpoint(client, region), &fields)?).await?)
}

fn endpoint(client: &TokenClient, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let usual = || format!("https://sts.{region}.{domain}/");
    client.cloud_environment.get("AWS_ENDPOINT_URL_STS").map_or_else(usual, str::to_owned)
}

/// The answer is a small document of XML, of which four elements count.
fn parse_answer(body: &[u8]) -> Result<Expiring<Credentials>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the answer of STS is not a text")?;
    let field = |name: &str| element(text, name).ok_or_else(|| format!("the answer of STS has no {name}"));
    let expires_at = field("Expiration")?.parse().map_err(|_| "the answer of STS has an Expiration that is no time")?;
    let value = Credentials {
        access_key: Secret::new(field("AccessKeyId")?),
        secret_key: Secret::new(field("SecretAccessKey")?),
        session_token: Some(Secret::new(field("SessionToken")?)),
    };
    Ok(Expiring { value, expires_at: Some(expires_at) })
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
        let expiring = parse_answer(answer("2026-08-20T11:11:12Z").as_bytes()).unwrap();
        assert_eq!(expiring.expires_at, Some("2026-08-20T11:11:12Z".parse().unwrap()));
        assert_eq!(expiring.value.secret_key.reveal(), "k/+=");
        assert_eq!(expiring.value.session_token.unwrap().reveal(), "t==");
        for broken in [answer("soon"), answer("").replace("<SessionToken>", "<X>"), String::new()] {
            assert!(parse_answer(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
