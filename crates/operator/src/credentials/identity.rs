//! The roles that pod identities name.

use k8s_openapi::api::core::v1::{PodSpec, ServiceAccount};
use kedge_api::authentication::PodIdentity;
use kedge_core::credentials::identity::{AwsRole, ROLE_ANNOTATION, ROLE_PARAMETER, parse_role};
use kedge_core::credentials::{CredentialError, Reference, ReferenceKind};
use kedge_core::secret::Secret;

use super::Resolution;
use super::resolve::{AuthenticationObject, Found};

impl Resolution<'_> {
    /// The role that an identity names.
    pub(super) async fn take_role(
        &mut self,
        authentication: &AuthenticationObject,
        identity: &PodIdentity,
        found: &mut Found,
    ) {
        let place = authentication.place("podIdentity");
        let role = match parse_role(identity, &place) {
            Ok(AwsRole::None) => return,
            Ok(role) => role,
            Err(problem) => return found.note(problem),
        };
        let pod = match self.pod().await {
            Ok(Some(pod)) => pod,
            // KEDA: without a pod template, roles are left aside.
            Ok(None) => return,
            Err(problem) => return found.note(problem),
        };
        match role {
            AwsRole::Given(role) => found.take(ROLE_PARAMETER, Ok(Secret::new(role))),
            AwsRole::FromWorkload => match self.workload_role(&pod, &place).await {
                Ok(Some(role)) => found.take(ROLE_PARAMETER, Ok(role)),
                Ok(None) => found.note(CredentialError::invalid(
                    &place,
                    format!(
                        "asks for the role of the workload, whose service account has no annotation {ROLE_ANNOTATION}"
                    ),
                    "annotate the account with its role",
                )),
                Err(problem) => found.note(problem),
            },
            AwsRole::FromWorkloadIfAnnotated => match self.workload_role(&pod, &place).await {
                Ok(role) => found.take(ROLE_PARAMETER, Ok(role.unwrap_or_else(|| Secret::new("")))),
                Err(problem) => found.note(problem),
            },
            AwsRole::None => {}
        }
    }

    /// The role that the target's service account is annotated with.
    async fn workload_role(&mut self, pod: &PodSpec, place: &str) -> Result<Option<Secret>, CredentialError> {
        let name = pod.service_account_name.as_deref().filter(|name| !name.is_empty()).unwrap_or("default");
        let reference = Reference::new(ReferenceKind::ServiceAccount, self.namespace, name);
        match self.reads.object::<ServiceAccount>(&self.credentials.client, &reference).await? {
            Some(account) => {
                let annotations = account.metadata.annotations.unwrap_or_default();
                Ok(annotations.get(ROLE_ANNOTATION).filter(|role| !role.is_empty()).map(Secret::new))
            }
            None => Err(CredentialError::Missing { reference, place: place.to_owned() }),
        }
    }
}
