//! Triggers for tests, which set only what matters.

use std::collections::BTreeMap;

use kedge_api::authentication::{PodIdentity, PodIdentityProvider};

use crate::trigger::{AuthParams, Environment, Resolution, Role, TriggerConfig};

#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    trigger_type: &'static str,
    index: usize,
    metadata: BTreeMap<String, String>,
    auth: BTreeMap<String, String>,
    params: AuthParams,
    variables: BTreeMap<String, String>,
    environment: Environment,
    metric_type: Option<&'static str>,
    pod_identity: Option<PodIdentity>,
    role: Role,
    resolution: Resolution,
}

impl Sample {
    pub(crate) fn new(trigger_type: &'static str) -> Self {
        Self { trigger_type, ..Self::default() }
    }

    /// The same with another type.
    pub(crate) fn named(self, trigger_type: &'static str) -> Self {
        Self { trigger_type, ..self }
    }

    pub(crate) fn index(mut self, index: usize) -> Self {
        self.index = index;
        self
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.metadata.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.metadata.remove(name);
        self
    }

    pub(crate) fn auth(mut self, name: &str, value: &str) -> Self {
        self.auth.insert(name.to_owned(), value.to_owned());
        self.params = self.auth.clone().into_iter().collect();
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self.environment = self.variables.clone().into_iter().collect();
        self
    }

    pub(crate) fn metric_type(mut self, metric_type: &'static str) -> Self {
        self.metric_type = Some(metric_type);
        self
    }

    pub(crate) fn pod_identity(self, provider: PodIdentityProvider) -> Self {
        self.identity(pod_identity(provider))
    }

    pub(crate) fn identity(mut self, identity: PodIdentity) -> Self {
        self.pod_identity = Some(identity);
        self
    }

    pub(crate) fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    pub(crate) fn resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = resolution;
        self
    }

    pub(crate) fn trigger(&self) -> TriggerConfig<'_> {
        TriggerConfig {
            index: self.index,
            trigger_type: self.trigger_type,
            name: None,
            metadata: &self.metadata,
            auth: &self.params,
            environment: &self.environment,
            metric_type: self.metric_type,
            namespace: "default",
            object: "web",
            pod_identity: self.pod_identity.as_ref(),
            role: self.role,
            resolution: self.resolution,
        }
    }
}

/// An identity with a provider and nothing else.
pub(crate) fn pod_identity(provider: PodIdentityProvider) -> PodIdentity {
    PodIdentity {
        provider,
        identity_id: None,
        identity_tenant_id: None,
        identity_authority_host: None,
        role_arn: None,
        external_id: None,
        identity_owner: None,
    }
}
