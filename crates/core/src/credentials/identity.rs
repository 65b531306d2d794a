//! The AWS role of a pod identity.

use kedge_api::authentication::{IdentityOwner, PodIdentity, PodIdentityProvider};

use super::CredentialError;

/// The annotation of a service account that names its role.
pub const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";

/// The parameter that gets the role.
pub const ROLE_PARAMETER: &str = "awsRoleArn";

/// Where the AWS role comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AwsRole {
    /// No role, or the operator's own.
    None,
    Given(String),
    /// From the annotation of the target's service account, which must have it.
    FromWorkload,
    /// From that annotation, if it is there.
    // KEDA: the older provider continues without the annotation.
    FromWorkloadIfAnnotated,
}

/// The role of an identity, or what is invalid in it. `place` is the field that holds the identity.
pub fn parse_role(identity: &PodIdentity, place: &str) -> Result<AwsRole, CredentialError> {
    let wrong = |problem: &str, remedy: &str| Err(CredentialError::invalid(place, problem, remedy));
    let given = identity.role_arn.as_deref().filter(|arn| !arn.is_empty());
    let of_workload = identity.identity_owner == Some(IdentityOwner::Workload);
    match identity.provider {
        PodIdentityProvider::AzureWorkload if identity.identity_id.as_deref() == Some("") => {
            wrong("has an empty identityId", "give the client id of the identity, or leave it out")
        }
        PodIdentityProvider::Aws => match (given, of_workload) {
            (Some(_), true) => wrong("has both roleArn and identityOwner workload", "keep one of them"),
            (Some(arn), false) => Ok(AwsRole::Given(arn.to_owned())),
            (None, true) => Ok(AwsRole::FromWorkload),
            (None, false) => Ok(AwsRole::None),
        },
        PodIdentityProvider::AwsEks => Ok(AwsRole::FromWorkloadIfAnnotated),
        PodIdentityProvider::AzureWorkload | PodIdentityProvider::Gcp | PodIdentityProvider::None => Ok(AwsRole::None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_identity_has_its_role() {
        let arn = || AwsRole::Given("arn:x".to_owned());
        let rows: [(&str, Value, Result<AwsRole, &str>); 9] = [
            ("none", json!({ "provider": "none" }), Ok(AwsRole::None)),
            ("gcp", json!({ "provider": "gcp" }), Ok(AwsRole::None)),
            ("aws, the operator's", json!({ "provider": "aws", "identityOwner": "keda" }), Ok(AwsRole::None)),
            ("aws, a role", json!({ "provider": "aws", "roleArn": "arn:x" }), Ok(arn())),
            (
                "aws, the workload's",
                json!({ "provider": "aws", "identityOwner": "workload" }),
                Ok(AwsRole::FromWorkload),
            ),
            (
                "aws, both",
                json!({ "provider": "aws", "roleArn": "arn:x", "identityOwner": "workload" }),
                Err("both roleArn and identityOwner"),
            ),
            ("aws-eks", json!({ "provider": "aws-eks" }), Ok(AwsRole::FromWorkloadIfAnnotated)),
            ("azure", json!({ "provider": "azure-workload", "identityId": "me" }), Ok(AwsRole::None)),
            ("azure, empty", json!({ "provider": "azure-workload", "identityId": "" }), Err("empty identityId")),
        ];
        for (name, identity, expected) in rows {
            let found = parse_role(&serde_json::from_value(identity).unwrap(), "`podIdentity`");
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
                (Err(problem), Err(part)) => assert!(problem.to_string().contains(part), "{name}: {problem}"),
                (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
            }
        }
    }
}
