//! The keys of the operator itself: from its variables, its service account, its container, or its machine, in the order
//! of AWS's own libraries. Profiles in files of a home directory are not read: the operator has no home.

use http::Method;
use http::header::{self, HeaderName};
use serde_json::Value;

use super::{Credentials, sts};
use crate::cloud_environment::CloudEnvironment;
use crate::identity::token::Expiring;
use crate::identity::token_client::{TokenClient, read_file};
use crate::trigger::Secret;

const CONTAINER_HOST: &str = "http://169.254.170.2";
const MACHINE: &str = "http://169.254.169.254";
/// How long a session with the machine's metadata may last: no longer than one query.
const SESSION_SECONDS: &str = "60";

pub(super) async fn fetch(client: &TokenClient, region: &str) -> Result<Expiring<Credentials>, String> {
    let cloud_environment = &client.cloud_environment;
    if let Some(credentials) = of_variables(cloud_environment) {
        return Ok(Expiring::forever(credentials));
    }
    if let (Some(file), Some(arn)) =
        (cloud_environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"), cloud_environment.get("AWS_ROLE_ARN"))
    {
        let session = cloud_environment.get("AWS_ROLE_SESSION_NAME").unwrap_or(sts::SESSION);
        let token = read_file(file.as_ref()).await?;
        return sts::assume_with_token(client, region, arn, session, token.trim()).await;
    }
    if let Some(url) = container_url(cloud_environment) {
        return fetch_from_container(client, &url).await;
    }
    if cloud_environment.get("AWS_EC2_METADATA_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Err(
            "the operator has no AWS credentials: neither variables, a web identity nor a container give any, \
                    and AWS_EC2_METADATA_DISABLED keeps it from asking its machine"
                .to_owned(),
        );
    }
    fetch_from_machine(client).await.map_err(|problem| {
        format!("the operator has no AWS credentials of its own, and its machine gave none: {problem}")
    })
}

fn of_variables(cloud_environment: &CloudEnvironment) -> Option<Credentials> {
    Some(Credentials {
        access_key: Secret::new(cloud_environment.get("AWS_ACCESS_KEY_ID")?),
        secret_key: Secret::new(cloud_environment.get("AWS_SECRET_ACCESS_KEY")?),
        session_token: cloud_environment.get("AWS_SESSION_TOKEN").map(Secret::new),
    })
}

/// Where the container's credentials are: EKS pod identity and ECS.
fn container_url(cloud_environment: &CloudEnvironment) -> Option<String> {
    let relative =
        cloud_environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER_HOST}{path}"));
    relative.or_else(|| cloud_environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").map(str::to_owned))
}

async fn fetch_from_container(client: &TokenClient, url: &str) -> Result<Expiring<Credentials>, String> {
    let token = match client.cloud_environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => Some(read_file(file.as_ref()).await?),
        None => client.cloud_environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(str::to_owned),
    };
    let header = match &token {
        Some(token) => (header::AUTHORIZATION, token.trim()),
        None => (header::ACCEPT, "application/json"),
    };
    parse_answer(&client.send_direct(Method::GET, url, header).await?)
}

/// The instance's role, by version 2 of the metadata service: a session first, then the name of the role, then its keys.
async fn fetch_from_machine(client: &TokenClient) -> Result<Expiring<Credentials>, String> {
    let place =
        client.cloud_environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or(MACHINE).trim_end_matches('/');
    let lifetime = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
    let session =
        client.send_direct(Method::PUT, &format!("{place}/latest/api/token"), (lifetime, SESSION_SECONDS)).await?;
    let session = text(&session)?;
    let get = |url: String| async move {
        client.send_direct(Method::GET, &url, (HeaderName::from_static("x-aws-ec2-metadata-token"), session)).await
    };
    let roles = format!("{place}/latest/meta-data/iam/security-credentials/");
    let role = get(roles.clone()).await?;
    let role = text(&role)?.lines().next().unwrap_or_default().trim();
    if role.is_empty() {
        return Err("it has no role".to_owned());
    }
    parse_answer(&get(format!("{roles}{role}")).await?)
}

fn text(body: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(body).map_err(|_| "the answer is not a text".to_owned())
}

/// Credentials as containers and machines give them.
fn parse_answer(body: &[u8]) -> Result<Expiring<Credentials>, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "the answer with the credentials is not JSON")?;
    let field = |name: &str| answer[name].as_str().filter(|text| !text.is_empty());
    let need = |name: &str| field(name).ok_or_else(|| format!("the answer with the credentials has no {name}"));
    let expires_at = match field("Expiration") {
        Some(text) => Some(text.parse().map_err(|_| "the answer has an Expiration that is no time")?),
        None => None,
    };
    let value = Credentials {
        access_key: Secret::new(need("AccessKeyId")?),
        secret_key: Secret::new(need("SecretAccessKey")?),
        session_token: field("Token").map(Secret::new),
    };
    Ok(Expiring { value, expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_strictly() {
        let whole =
            r#"{"AccessKeyId":"A","SecretAccessKey":"hunter2","Token":"t","Expiration":"2026-08-20T11:00:00Z"}"#;
        let expiring = parse_answer(whole.as_bytes()).unwrap();
        assert_eq!(expiring.expires_at, Some("2026-08-20T11:00:00Z".parse().unwrap()));
        assert_eq!(expiring.value.session_token.unwrap().reveal(), "t");
        let rows = [
            ("[]", "has no AccessKeyId"),
            ("x", "is not JSON"),
            (r#"{"AccessKeyId":"A","SecretAccessKey":""}"#, "has no SecretAccessKey"),
            (r#"{"AccessKeyId":"A","SecretAccessKey":"hunter2","Expiration":"soon"}"#, "no time"),
        ];
        for (body, expected) in rows {
            let problem = parse_answer(body.as_bytes()).unwrap_err();
            assert!(problem.contains(expected) && !problem.contains("hunter2"), "{problem}");
        }
    }

    #[test]
    fn the_relative_address_of_a_container_goes_first() {
        let both =
            [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://y")];
        assert_eq!(container_url(&both.into_iter().collect()).as_deref(), Some("http://169.254.170.2/v2/x"));
        let full: CloudEnvironment = [both[1]].into_iter().collect();
        assert_eq!(container_url(&full).as_deref(), Some("http://y"));
        assert_eq!(container_url(&CloudEnvironment::default()), None);
    }
}
