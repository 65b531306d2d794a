use super::*;
use crate::sample::{Sample, pod_identity};

fn plain() -> Sample {
    Sample::new("prometheus").with("awsRegion", "eu-central-1")
}

fn parsed(sample: &Sample, cloud_environment: &CloudEnvironment) -> Result<Option<AwsIdentity>, String> {
    let trigger = sample.trigger();
    let mut read = Reader::new(&trigger);
    let identity = parse(&mut read, &trigger, cloud_environment, "aps");
    read.finish(Some(identity)).map_err(|error| error.to_string())
}

fn keys(id: &str, key: &str, token: Option<&str>) -> Option<CredentialSource> {
    let (access_key, secret_key) = (Secret::new(id), Secret::new(key));
    Some(CredentialSource::Keys(Credentials { access_key, secret_key, session_token: token.map(Secret::new) }))
}

fn role(arn: &str, external_id: Option<&str>, method: AssumeRoleMethod) -> Option<CredentialSource> {
    Some(CredentialSource::Role { arn: arn.to_owned(), external_id: external_id.map(str::to_owned), method })
}

#[test]
fn the_keys_that_sign_are_chosen_in_kedas_order() {
    let aws = pod_identity(PodIdentityProvider::Aws);
    let named =
        PodIdentity { role_arn: Some("arn:named".to_owned()), external_id: Some("x".to_owned()), ..aws.clone() };
    let stray = PodIdentity { external_id: Some("x".to_owned()), ..aws };
    let with_role = || plain().auth("awsRoleArn", "arn:given");
    let with_keys = || plain().auth("awsAccessKeyID", "id").auth("awsSecretAccessKey", "key");
    let of_target = plain().with("awsAccessKeyIDFromEnv", "ID").with("awsSecretAccessKeyFromEnv", "KEY");
    let of_target = of_target.environment("ID", "tid").environment("KEY", "tkey");
    let first = AssumeRoleMethod::WebIdentityFirst;
    let rows = [
        ("nothing is configured", plain(), None),
        ("nothing is configured, of the pod", plain().with("identityOwner", "pod"), None),
        ("the operator's", plain().pod_identity(PodIdentityProvider::Aws), Some(CredentialSource::Operator)),
        ("a named role", with_role().identity(named), role("arn:named", Some("x"), first)),
        ("the workload's role", with_role().identity(stray), role("arn:given", None, first)),
        ("the operator's, by owner", with_keys().with("identityOwner", "operator"), Some(CredentialSource::Operator)),
        (
            "the operator's, by any other owner",
            with_keys().with("identityOwner", "x"),
            Some(CredentialSource::Operator),
        ),
        (
            "a role before keys",
            with_keys().auth("awsRoleArn", "arn:given"),
            role("arn:given", None, AssumeRoleMethod::Assume),
        ),
        ("keys", with_keys(), keys("id", "key", None)),
        ("keys of a session", with_keys().auth("awsSessionToken", "t"), keys("id", "key", Some("t"))),
        (
            "keys, spelt otherwise",
            plain().auth("awsAccessKeyId", "id").auth("awsSecretAccessKey", "key"),
            keys("id", "key", None),
        ),
        ("keys of the target", of_target.clone(), keys("tid", "tkey", None)),
        ("an id in the metadata", of_target.with("awsAccessKeyID", "mid"), keys("mid", "tkey", None)),
        (
            "aws-eks",
            with_role().pod_identity(PodIdentityProvider::AwsEks),
            role("arn:given", None, AssumeRoleMethod::Assume),
        ),
    ];
    for (name, sample, expected) in rows {
        let identity = parsed(&sample, &CloudEnvironment::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(identity.map(|identity| identity.source), expected, "{name}");
    }
}

#[test]
fn half_a_pair_of_keys_and_what_is_no_region_is_invalid() {
    let region = |region: &str| plain().with("identityOwner", "operator").with("awsRegion", region);
    let rows = [
        ("no key", plain().auth("awsAccessKeyID", "hunter2"), "`awsSecretAccessKey` is missing"),
        ("no id", plain().auth("awsSecretAccessKey", "hunter2"), "`awsAccessKeyID` is missing"),
        ("no variable", plain().with("awsAccessKeyIDFromEnv", "ID"), "no value for the variable ID"),
        ("no key of the target", plain().with("awsAccessKeyID", "hunter2"), "`awsSecretAccessKey` is missing"),
        ("no role", plain().pod_identity(PodIdentityProvider::AwsEks), "`podIdentity` aws-eks gives no role"),
        ("a host", region("evil.example/x"), "`awsRegion` is not the name of a region"),
        ("a port", region("eu-central-1:80"), "`awsRegion` is not the name of a region"),
        ("a user", region("eu@evil"), "`awsRegion` is not the name of a region"),
        ("upper case", region("EU-CENTRAL-1"), "`awsRegion` is not the name of a region"),
        ("no region", plain().without("awsRegion").with("identityOwner", "operator"), "`awsRegion` is missing"),
    ];
    for (name, sample, expected) in rows {
        let error = parsed(&sample, &CloudEnvironment::default()).expect_err(name);
        assert!(error.contains(expected) && !error.contains("hunter2"), "{name}: {error}");
    }
}

#[test]
fn the_region_is_the_triggers_or_the_operators() {
    let cloud_environment: CloudEnvironment =
        [("AWS_REGION", "us-east-1"), ("AWS_DEFAULT_REGION", "us-west-1")].into_iter().collect();
    let operator = plain().with("identityOwner", "operator");
    let rows = [
        (operator.clone(), "eu-central-1"),
        (operator.clone().without("awsRegion"), "us-east-1"),
        (operator.without("awsRegion").auth("awsRegion", "ap-south-1"), "ap-south-1"),
    ];
    for (sample, expected) in rows {
        assert_eq!(parsed(&sample, &cloud_environment).unwrap().unwrap().region, expected);
    }
}
