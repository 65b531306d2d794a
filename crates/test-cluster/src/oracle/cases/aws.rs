//! Cases of identities, regions and endpoints, which the AWS triggers share.

use crate::oracle::case::Case;
use crate::oracle::edges::{Place, places, sweep, sweep_in};

pub(super) const KEYS: [(&str, &str); 2] = [("awsAccessKeyID", "A"), ("awsSecretAccessKey", "s3cret")];

/// `base` has keys in its authentication, a region and an endpoint.
pub(super) fn identities(base: &Case) -> Vec<Case> {
    let none = base.clone().without(KEYS[0].0).without(KEYS[1].0);
    let mut cases =
        sweep(base, "awsRegion", &["", " ", "eu-west-1", "cn-north-1", "EU-WEST-1", "nowhere", "us gov", "a/b"]);
    cases.extend(places(base, "awsRegion", "eu-west-1", "us-east-1"));
    let endpoints = [
        "",
        " ",
        "${moto}/",
        "127.0.0.1:1",
        "moto",
        "http://",
        "https://host",
        "ftp://host",
        "http://a b",
        "://x",
        "/x",
    ];
    cases.extend(sweep(base, "awsEndpoint", &endpoints));
    cases.extend(sweep(base, "identityOwner", &["", " ", "pod", "operator", "Operator", "other"]));
    cases.extend(sweep(&none.clone().named("no keys"), "identityOwner", &["", "pod", "operator", "Operator", "other"]));
    for identity in ["none", "aws", "aws-eks", "azure-workload", "gcp"] {
        cases.push(base.clone().pod_identity(identity).named(format!("pod identity {identity} and keys")));
        cases.push(none.clone().pod_identity(identity).named(format!("pod identity {identity}")));
        let role = none.clone().auth("awsRoleArn", "arn:aws:iam::1:role/r").pod_identity(identity);
        cases.push(role.named(format!("pod identity {identity} and a role")));
    }
    cases.extend(sweep_in(base, "awsRoleArn", Place::Authentication, &["", "arn:aws:iam::1:role/r", "r"]));
    cases.extend(sweep_in(
        &none.clone().named("no keys"),
        "awsRoleArn",
        Place::Authentication,
        &["", "arn:aws:iam::1:role/r", "r"],
    ));
    let key = |case: Case, names: &[&str]| names.iter().fold(case, |case, name| case.auth(name, "A"));
    for names in [
        &["awsAccessKeyID"][..],
        &["awsSecretAccessKey"],
        &["awsAccessKeyId", "awsSecretAccessKey"],
        &["awsAccessKeyId"],
        &["awsAccessKeyID", "awsSecretAccessKey", "awsSessionToken"],
        &["awsAccessKeyID", "awsAccessKeyId", "awsSecretAccessKey"],
        &["awsSessionToken"],
        &["AWSACCESSKEYID", "AWSSECRETACCESSKEY"],
    ] {
        cases.push(key(none.clone(), names).named(format!("authentication {}", names.join(" "))));
    }
    for (id, secret) in
        [(Some("A"), Some("s")), (Some("A"), None), (None, Some("s")), (Some(""), Some("s")), (Some("A"), Some(""))]
    {
        let case = none.clone().with_all(&[("awsAccessKeyIDFromEnv", "I"), ("awsSecretAccessKeyFromEnv", "S")]);
        let case = id.into_iter().fold(case, |case, id| case.env("I", id));
        let case = secret.into_iter().fold(case, |case, secret| case.env("S", secret));
        cases.push(case.named(format!("variables {id:?} {secret:?}")));
    }
    let metadata = none.clone().with("awsAccessKeyID", "A");
    cases.push(metadata.clone().named("id of metadata"));
    cases.push(metadata.clone().with("awsSecretAccessKey", "s").named("keys of metadata"));
    cases.push(
        metadata.with("awsSecretAccessKeyFromEnv", "S").env("S", "s").named("id of metadata, secret of a variable"),
    );
    cases
}
