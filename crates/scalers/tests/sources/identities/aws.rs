//! AWS: the ways to keys, each to its end, and the signature that Prometheus is shown.

use super::*;

fn answer_of_sts(action: &str, key: &str) -> Reply {
    Reply::body(&format!(
        "<{action}Response><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
         <SessionToken>session</SessionToken><Expiration>2026-08-20T11:11:12Z</Expiration></Credentials></{action}Response>"
    ))
}

/// Answers every action with the keys of that action.
async fn sts() -> Server {
    Server::plain(|request| {
        let action = form(request)["Action"].clone();
        answer_of_sts(&action, &action)
    })
    .await
}

fn keys_as_json(key: &str) -> Reply {
    Reply::body(&format!(
        r#"{{"AccessKeyId":"{key}","SecretAccessKey":"secret","Token":"session","Expiration":"2026-08-20T11:11:12Z"}}"#
    ))
}

fn region(server: &Server) -> Query {
    Query::of(server).with("awsRegion", "eu-central-1")
}

/// Whose key signed, if it was one.
fn signer(authorization: Option<String>) -> String {
    let authorization = authorization.unwrap();
    let credential = authorization.strip_prefix("AWS4-HMAC-SHA256 Credential=").unwrap();
    let (key, rest) = credential.split_once('/').unwrap();
    assert!(rest.starts_with("20260820/eu-central-1/aps/aws4_request, SignedHeaders=host;x-amz-date"), "{rest}");
    key.to_owned()
}

#[tokio::test]
async fn keys_sign_what_is_sent() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let query = region(&prometheus).with("query", "sum(up) + 1").auth("awsAccessKeyID", "AKID");
    let query = query.auth("awsSecretAccessKey", "hunter2").auth("awsSessionToken", "session");
    let authorization = shown(&query, &registry_in(&[]), &prometheus).await;
    let request = prometheus.requests().pop().unwrap();
    assert_eq!(request.target, "/api/v1/query?query=sum%28up%29%20%2B%201&time=2026-08-20T10%3A11%3A12Z");
    assert_eq!(request.header("x-amz-date"), Some("20260820T101112Z"));
    assert_eq!(request.header("x-amz-security-token"), Some("session"));
    assert_eq!(signer(authorization), "AKID");
}

#[tokio::test]
async fn a_role_is_assumed_by_the_operator() {
    let (sts, prometheus) = (sts().await, Server::plain(|_| Reply::value("1")).await);
    let endpoint = format!("http://{}", sts.address);
    let operator = [
        ("AWS_ACCESS_KEY_ID", "OWN"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_ENDPOINT_URL_STS", endpoint.as_str()),
    ];
    let named = PodIdentity {
        role_arn: Some("arn:aws:iam::1:role/r".to_owned()),
        external_id: Some("external".to_owned()),
        ..of(PodIdentityProvider::Aws)
    };
    let rows = [
        ("of the trigger", region(&prometheus).auth("awsRoleArn", "arn:aws:iam::1:role/r"), None),
        ("of the pod identity", region(&prometheus).identity(named), Some("external")),
    ];
    for (name, query, external_id) in rows {
        let authorization = shown(&query, &registry_in(&operator), &prometheus).await;
        assert_eq!(signer(authorization), "AssumeRole", "{name}");
        let request = sts.requests().pop().unwrap();
        let form = form(&request);
        assert_eq!((form["RoleArn"].as_str(), form["RoleSessionName"].as_str()), ("arn:aws:iam::1:role/r", "KEDA"));
        assert_eq!(form.get("ExternalId").map(String::as_str), external_id, "{name}");
        let by = request.header("authorization").unwrap();
        assert!(by.starts_with("AWS4-HMAC-SHA256 Credential=OWN/20260820/eu-central-1/sts/aws4_request"), "{by}");
    }
}

#[tokio::test]
async fn the_operators_token_opens_a_role_before_the_operator_assumes_it() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let (_folder, path) = file("federated\n");
    let role = PodIdentity { role_arn: Some("arn:other".to_owned()), ..of(PodIdentityProvider::Aws) };
    // The token of the operator opens one of the two roles: the other one, or its own.
    for (opens, expected) in [("arn:other", "AssumeRoleWithWebIdentity"), ("arn:own", "AssumeRole")] {
        let sts = Server::plain(move |request| {
            let form = form(request);
            match form["Action"].as_str() {
                "AssumeRoleWithWebIdentity" if form["RoleArn"] == opens => {
                    answer_of_sts("x", "AssumeRoleWithWebIdentity")
                }
                "AssumeRoleWithWebIdentity" => Reply::status(403),
                action => answer_of_sts("x", action),
            }
        })
        .await;
        let endpoint = format!("http://{}", sts.address);
        let registry = registry_in(&[
            ("AWS_WEB_IDENTITY_TOKEN_FILE", &path),
            ("AWS_ROLE_ARN", "arn:own"),
            ("AWS_ENDPOINT_URL_STS", &endpoint),
        ]);
        let query = region(&prometheus).identity(role.clone());
        assert_eq!(signer(shown(&query, &registry, &prometheus).await), expected);
        let first = form(&sts.requests()[0]);
        assert_eq!((first["WebIdentityToken"].as_str(), first["RoleArn"].as_str()), ("federated", "arn:other"));
    }
}

#[tokio::test]
async fn the_operators_own_keys_come_from_where_it_runs() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let (_folder, token) = file("permit\n");
    let sts = sts().await;
    let container = Server::plain(|_| keys_as_json("CONTAINER")).await;
    let machine = Server::plain(|request| match (request.method.as_str(), request.target.as_str()) {
        ("PUT", "/latest/api/token") => Reply::body("session-of-machine"),
        _ if request.header("x-aws-ec2-metadata-token") != Some("session-of-machine") => Reply::status(401),
        ("GET", "/latest/meta-data/iam/security-credentials/") => Reply::body("role\n"),
        ("GET", "/latest/meta-data/iam/security-credentials/role") => keys_as_json("MACHINE"),
        _ => Reply::status(404),
    })
    .await;
    let at = |server: &Server| format!("http://{}", server.address);
    let (sts_at, container_at, machine_at) = (at(&sts), at(&container), at(&machine));
    let machine_at = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine_at.as_str());
    let container_at = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", container_at.as_str());
    let permit = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.as_str());
    let account = [("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()), ("AWS_ROLE_ARN", "arn:own")];
    let account = [account[0], account[1], ("AWS_ENDPOINT_URL_STS", sts_at.as_str())];
    let variables = [("AWS_ACCESS_KEY_ID", "VARIABLES"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let mut given = vec![machine_at];
    for (more, expected) in [
        (vec![], "MACHINE"),
        (vec![container_at, permit], "CONTAINER"),
        (account.to_vec(), "AssumeRoleWithWebIdentity"),
        (variables.to_vec(), "VARIABLES"),
    ] {
        given.extend(more);
        for query in [
            region(&prometheus).with("identityOwner", "operator"),
            region(&prometheus).identity(of(PodIdentityProvider::Aws)),
        ] {
            assert_eq!(signer(shown(&query, &registry_in(&given), &prometheus).await), expected);
        }
    }
    assert_eq!(container.requests()[0].header("authorization"), Some("permit"));
}

#[tokio::test]
async fn without_keys_no_request_is_sent_and_no_secret_is_shown() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let refusing = Server::plain(|_| Reply::status(403)).await;
    let endpoint = format!("http://{}", refusing.address);
    let machine = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_str());
    let own = [("AWS_ACCESS_KEY_ID", "hunter1"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];
    let rows = [
        (
            "no keys at all",
            region(&prometheus).with("identityOwner", "operator"),
            vec![machine],
            "its machine gave none",
        ),
        (
            "not even asked",
            region(&prometheus).with("identityOwner", "operator"),
            vec![("AWS_EC2_METADATA_DISABLED", "TRUE")],
            "AWS_EC2_METADATA_DISABLED",
        ),
        (
            "a role that is closed",
            region(&prometheus).auth("awsRoleArn", "arn"),
            vec![own[0], own[1], ("AWS_ENDPOINT_URL_STS", endpoint.as_str())],
            "answered with status 403",
        ),
        (
            "a key that is no text",
            region(&prometheus).auth("awsAccessKeyID", "hunter1\u{7}").auth("awsSecretAccessKey", "hunter2"),
            vec![],
            "no header can have",
        ),
    ];
    for (name, query, variables, expected) in rows {
        let error = query.read_with(&registry_in(&variables)).await.expect_err(name);
        assert_eq!(error.reason(), "NoCredentials", "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains("hunter"), "{name}: {text}");
    }
    assert_eq!(prometheus.requests().len(), 0);
}
