//! From the reference of a trigger to its parameters: each source of the authentication object in turn, every problem of
//! all of them in one go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::PodSpec;
use kedge_api::authentication::{PodIdentity, SecretKeyRef, TriggerAuthenticationSpec};
use kedge_api::trigger::{AuthenticationRef, Trigger};
use kedge_api::{ClusterTriggerAuthentication, TriggerAuthentication};
use kedge_core::credentials::{CredentialError, Reference, ReferenceKind, file, oauth2};
use kedge_core::environment::{Environment, referenced_variables};
use kedge_core::secret::Secret;
use kedge_scalers::{AuthParams, credential_file};

use super::read::{Reads, Version};
use super::{CredentialSources, Credentials, SecretAccess};
use crate::scalable::Scalable;
use kedge_cluster::target::ScaleTarget;

/// Files are not watched: they are read again after this time.
const FILE_AGE_MAX: Duration = Duration::from_secs(30);

/// Nothing is resolved again sooner than this because it may be old.
const REFRESH_LEAST: Duration = Duration::from_secs(10);

/// Nothing that cannot be watched is trusted for longer, whatever lifetime its source states.
const REFRESH_MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// What helps where the store of a cloud cannot be read.
pub const UNSUPPORTED_REMEDY: &str =
    "copy the values into a Secret, for example with external-secrets, and use secretTargetRef";

/// The sources of parameters that an object names and that cannot be read yet.
pub fn unsupported(spec: &TriggerAuthenticationSpec) -> impl Iterator<Item = &'static str> {
    let given = [
        ("azureKeyVault", spec.azure_key_vault.is_some()),
        ("azureServicePrincipal", spec.azure_service_principal.is_some()),
        ("gcpSecretManager", spec.gcp_secret_manager.is_some()),
        ("awsSecretManager", spec.aws_secret_manager.is_some()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(field, _)| field)
}

/// What a trigger is built with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    pub auth: AuthParams,
    pub identity: Option<PodIdentity>,
    /// The variables of the target that the trigger's metadata refers to.
    pub environment: Environment,
    /// What the authentication object refers to, and does not exist. The trigger may not need it.
    pub absent: Vec<CredentialError>,
}

/// The resolving of all triggers of one object.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Resolution<'a> {
    pub(super) credentials: &'a CredentialSources,
    /// The container whose variables the triggers refer to; the first one where none is named.
    pub(super) container: Option<&'a str>,
    pub(super) namespace: &'a str,
    pub(super) target: &'a ScaleTarget,
    pub(super) reads: Reads,
    /// The pod template, once it was fetched.
    pub(super) pod: Option<Option<PodSpec>>,
    refresh_in: Option<Duration>,
}

/// An authentication object, and where it reads from.
pub(super) struct AuthenticationObject {
    reference: Reference,
    pub(super) namespace: String,
    spec: TriggerAuthenticationSpec,
}

/// The parameters found so far, and what is wrong.
#[derive(Default)]
pub(super) struct Found {
    params: BTreeMap<String, Secret>,
    absent: Vec<CredentialError>,
    problems: Vec<CredentialError>,
}

/// What an authentication object gives to a trigger.
struct Authenticated {
    auth: AuthParams,
    identity: Option<PodIdentity>,
    absent: Vec<CredentialError>,
}

impl Found {
    /// A later source wins over an earlier one.
    pub(super) fn take(&mut self, parameter: &str, value: Result<Secret, CredentialError>) {
        match value {
            Ok(value) => drop(self.params.insert(parameter.to_owned(), value)),
            Err(problem) => self.problems.push(problem),
        }
    }

    /// As [`take`](Self::take), for a source that several triggers may share: what does not exist is missed only by a trigger that needs it.
    // KEDA: a missing Secret, ConfigMap or key is an empty value.
    fn take_existing(&mut self, parameter: &str, value: Result<Secret, CredentialError>) {
        match value {
            Err(problem) if problem.is_absent() => self.absent.push(problem),
            other => self.take(parameter, other),
        }
    }

    pub(super) fn note(&mut self, problem: CredentialError) {
        self.problems.push(problem);
    }
}

impl AuthenticationObject {
    /// How a field of it is called in messages.
    pub(super) fn place(&self, field: impl std::fmt::Display) -> String {
        format!("`{field}` of {}", self.reference)
    }
}

impl Credentials {
    /// Begins the resolution for the triggers of an object.
    pub fn begin<'a>(&'a self, object: &'a Scalable<'a>, target: &'a ScaleTarget) -> Resolution<'a> {
        self.sources.begin(&object.key.namespace, object.env_source_container, target)
    }
}

impl CredentialSources {
    /// Begins the resolution for triggers of a namespace, which may refer to the variables of a container of the target.
    pub fn begin<'a>(
        &'a self,
        namespace: &'a str,
        container: Option<&'a str>,
        target: &'a ScaleTarget,
    ) -> Resolution<'a> {
        Resolution {
            credentials: self,
            container,
            namespace,
            target,
            reads: Reads::new(self.reads_at_once.clone()),
            pod: None,
            refresh_in: None,
        }
    }
}

impl Resolution<'_> {
    /// What was read, in which versions, and after how long it must be read again.
    pub fn end(self) -> (BTreeMap<Reference, Version>, Option<Duration>) {
        (self.reads.versions(), self.refresh_in)
    }

    /// Everything a trigger refers to, or everything that is wrong with it.
    pub async fn resolve(&mut self, trigger: &Trigger) -> Result<Resolved, Vec<CredentialError>> {
        let mut problems = Vec::new();
        let mut resolved = Resolved::default();
        match self.environment(trigger).await {
            Ok(environment) => resolved.environment = environment,
            Err(found) => problems.extend(found),
        }
        if let Some(reference) = trigger.authentication_ref.as_ref().filter(|reference| !reference.name.is_empty()) {
            match self.authenticate(reference).await {
                Ok(Authenticated { auth, identity, absent }) => {
                    (resolved.auth, resolved.identity, resolved.absent) = (auth, identity, absent);
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() {
            return Ok(resolved);
        }
        problems.append(&mut resolved.absent);
        Err(problems)
    }

    /// Has everything resolved again when most of this lifetime is over.
    pub(super) fn refresh_before(&mut self, lifetime: Duration) {
        self.refresh_after(lifetime.mul_f64(0.8));
    }

    /// Has everything resolved again after this time.
    pub(super) fn refresh_after(&mut self, wait: Duration) {
        let wait = wait.clamp(REFRESH_LEAST, REFRESH_MOST);
        self.refresh_in = Some(self.refresh_in.map_or(wait, |other| other.min(wait)));
    }

    /// The variables that the metadata of a trigger refers to.
    async fn environment(&mut self, trigger: &Trigger) -> Result<Environment, Vec<CredentialError>> {
        let wanted = referenced_variables(&trigger.metadata);
        if wanted.is_empty() {
            return Ok(Environment::default());
        }
        let container = self.container.map(str::to_owned);
        let place = "`scaleTargetRef.envSourceContainerName`";
        let variables = self.variables(container.as_deref(), &wanted, place).await?;
        // KEDA: without containers there are no variables, and that alone is no error.
        Ok(variables.unwrap_or_default())
    }

    async fn authenticate(&mut self, reference: &AuthenticationRef) -> Result<Authenticated, Vec<CredentialError>> {
        let authentication = self.authentication_object(reference).await.map_err(|problem| vec![problem])?;
        let mut found = Found::default();
        self.take_variables(&authentication, &mut found).await;
        match &authentication.spec.file_path {
            // KEDA: a file takes the place of all other sources.
            Some(path) if !path.is_empty() => match self.file(&authentication, path).await {
                Ok(params) => found.params = params,
                Err(problem) => found.note(problem),
            },
            _ => self.take_sources(&authentication, &mut found).await,
        }
        if let Some(identity) = &authentication.spec.pod_identity {
            self.take_role(&authentication, identity, &mut found).await;
        }
        match found.problems.is_empty() {
            true => Ok(Authenticated {
                auth: AuthParams::new(found.params),
                identity: authentication.spec.pod_identity,
                absent: found.absent,
            }),
            // All of them: a user corrects them in one go.
            false => Err(found.problems.into_iter().chain(found.absent).collect()),
        }
    }

    /// The object that the reference names.
    async fn authentication_object(
        &mut self,
        reference: &AuthenticationRef,
    ) -> Result<AuthenticationObject, CredentialError> {
        let client = &self.credentials.client;
        let place = "`authenticationRef`".to_owned();
        let reference = Reference::authentication(reference, self.namespace);
        if reference.kind == ReferenceKind::ClusterTriggerAuthentication {
            let found = self.reads.object::<ClusterTriggerAuthentication>(client, &reference).await?;
            let Some(found) = found else { return Err(CredentialError::Missing { reference, place }) };
            let namespace = self.credentials.settings.cluster_namespace(&reference.to_string())?.to_owned();
            return Ok(AuthenticationObject { reference, namespace, spec: found.spec.0 });
        }
        let found = self.reads.object::<TriggerAuthentication>(client, &reference).await?;
        let Some(found) = found else { return Err(CredentialError::Missing { reference, place }) };
        Ok(AuthenticationObject { reference, namespace: self.namespace.to_owned(), spec: found.spec })
    }

    /// The sources that are read from the cluster or from elsewhere, in the order in which a later one wins.
    async fn take_sources(&mut self, authentication: &AuthenticationObject, found: &mut Found) {
        let spec = &authentication.spec;
        for (index, one) in spec.config_map_target_ref.iter().flatten().enumerate() {
            let reference = Reference::new(ReferenceKind::ConfigMap, &authentication.namespace, &one.name);
            let place = authentication.place(format_args!("configMapTargetRef[{index}]"));
            let value = self.reads.key(&self.credentials.client, &reference, &one.key, place).await;
            found.take_existing(&one.parameter, value);
        }
        for (index, one) in spec.secret_target_ref.iter().flatten().enumerate() {
            let place = authentication.place(format_args!("secretTargetRef[{index}]"));
            let value = self.secret(authentication, &one.name, &one.key, place).await;
            found.take_existing(&one.parameter, value);
        }
        if let Some(vault) = &spec.hashi_corp_vault {
            self.take_vault(authentication, vault, found).await;
        }
        self.reject_cloud_stores(authentication, found);
        for (index, one) in spec.bound_service_account_token.iter().flatten().enumerate() {
            let place = authentication.place(format_args!("boundServiceAccountToken[{index}]"));
            let token = self.token(&authentication.namespace, &one.service_account_name, place).await;
            found.take(&one.parameter, token);
        }
        if let Some(settings) = &spec.oauth2 {
            for (parameter, value) in oauth2::params(settings) {
                found.take(parameter, Ok(value));
            }
            if let Some(secret) = &settings.client_secret {
                let SecretKeyRef { name, key } = &secret.value_from.secret_key_ref;
                let value = self.secret(authentication, name, key, authentication.place("oauth2.clientSecret")).await;
                found.take("clientSecret", value);
            }
        }
    }

    /// The stores of clouds, which cannot be read yet.
    fn reject_cloud_stores(&self, authentication: &AuthenticationObject, found: &mut Found) {
        for field in unsupported(&authentication.spec) {
            found.note(CredentialError::invalid(
                authentication.place(field),
                "is not supported yet",
                UNSUPPORTED_REMEDY,
            ));
        }
    }

    /// A key of a Secret that an authentication object refers to.
    async fn secret(
        &mut self,
        authentication: &AuthenticationObject,
        name: &str,
        key: &str,
        place: String,
    ) -> Result<Secret, CredentialError> {
        let namespace = match self.credentials.settings.secrets {
            SecretAccess::EveryNamespace => authentication.namespace.as_str(),
            // KEDA: the Secret of the same name there counts, not the one beside the object.
            SecretAccess::ClusterObjectNamespaceOnly => self.credentials.settings.cluster_namespace(&place)?,
        };
        let reference = Reference::new(ReferenceKind::Secret, namespace, name);
        if self.credentials.settings.is_own_secret(&reference) {
            let remedy = "store the credentials in a Secret of their own";
            return Err(CredentialError::invalid(place, "names the Secret with the operator's own keys", remedy));
        }
        self.reads.key(&self.credentials.client, &reference, key, place).await
    }

    /// `env`: variables of the target's containers.
    async fn take_variables(&mut self, authentication: &AuthenticationObject, found: &mut Found) {
        for (index, one) in authentication.spec.env.iter().flatten().enumerate() {
            let place = authentication.place(format_args!("env[{index}]"));
            let wanted = BTreeSet::from([one.name.clone()]);
            match self.variables(one.container_name.as_deref(), &wanted, &place).await {
                Ok(Some(environment)) => {
                    let undefined = || {
                        let problem = format!("names the variable {}, which the container does not define", one.name);
                        let remedy = "define it there, with a value or from a Secret or ConfigMap";
                        CredentialError::invalid(&place, problem, remedy)
                    };
                    match environment.get(&one.name) {
                        Some(value) => found.take(&one.parameter, Ok(Secret::new(value))),
                        // KEDA: an empty value.
                        None => found.absent.push(undefined()),
                    }
                }
                Ok(None) => {
                    let remedy = "give the parameter in another way";
                    found.note(CredentialError::invalid(
                        &place,
                        "needs a target with containers, and this one has none",
                        remedy,
                    ));
                }
                Err(problems) => problems.into_iter().for_each(|problem| found.note(problem)),
            }
        }
    }

    /// `filePath`: a file on the operator's disk.
    async fn file(
        &mut self,
        authentication: &AuthenticationObject,
        path: &str,
    ) -> Result<BTreeMap<String, Secret>, CredentialError> {
        self.refresh_after(FILE_AGE_MAX);
        let wrong =
            |problem: String, remedy: &str| CredentialError::invalid(authentication.place("filePath"), problem, remedy);
        if authentication.reference.kind != ReferenceKind::ClusterTriggerAuthentication {
            let remedy = "use a ClusterTriggerAuthentication";
            return Err(wrong("is only possible in a ClusterTriggerAuthentication".to_owned(), remedy));
        }
        let Some(root) = &self.credentials.settings.file_root else {
            return Err(wrong(
                "needs a folder to look in".to_owned(),
                "start the operator with --filepath-auth-root-path",
            ));
        };
        let file = file::parse_path(root, path)
            .map_err(|problem| wrong(problem.to_owned(), "give a path below --filepath-auth-root-path"))?;
        let text = credential_file::read(&file).await.map_err(|problem| CredentialError::Unreadable {
            what: format!("the file {}, which {} names,", file.display(), authentication.place("filePath")),
            problem,
        })?;
        file::parse_params(&text).map_err(|problem| {
            wrong(format!("names {path}, which {problem}"), r#"write it like {"parameter": "value"}"#)
        })
    }
}
