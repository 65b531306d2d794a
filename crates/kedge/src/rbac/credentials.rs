//! The reads for the triggers of a ScaledObject: Secrets, ConfigMaps, service accounts and their tokens, each by name.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;
use kedge_api::ScaledObject;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::trigger::AuthenticationKind;
use kedge_core::credentials::identity::{AwsRole, parse_role};
use kedge_core::credentials::{Reference, ReferenceKind};
use kedge_core::environment::{ContainerVariables, referenced_variables};

use super::input::{Input, NamespacedName};
use super::operator::Operator;
use super::rules::{Access, READ, RbacRules, Scope};

/// One ScaledObject, and the rules that it adds to.
struct Reader<'a> {
    rules: &'a mut RbacRules,
    input: &'a Input,
    object_name: &'a NamespacedName,
    object: &'a ScaledObject,
}

pub(super) fn collect(
    rules: &mut RbacRules,
    input: &Input,
    operator: &Operator,
    object_name: &NamespacedName,
    object: &ScaledObject,
) {
    let mut reader = Reader { rules, input, object_name, object };
    for trigger in &object.spec.triggers {
        let container = object.spec.scale_target_ref.env_source_container_name.as_deref();
        reader.variables(container, &referenced_variables(&trigger.metadata), "as a trigger names them");
        let Some(reference) = trigger.authentication_ref.as_ref().filter(|reference| !reference.name.is_empty()) else {
            continue;
        };
        match reference.kind.unwrap_or(AuthenticationKind::TriggerAuthentication) {
            AuthenticationKind::TriggerAuthentication => {
                let found = input.authentications.get(&(object_name.0.clone(), reference.name.clone()));
                reader.authentication("TriggerAuthentication", &reference.name, &object_name.0, found);
            }
            AuthenticationKind::ClusterTriggerAuthentication => {
                let found = input.shared.get(&reference.name);
                reader.authentication("ClusterTriggerAuthentication", &reference.name, &operator.namespace, found);
            }
        }
    }
}

impl Reader<'_> {
    /// The reads of an authentication object, in its source namespace.
    fn authentication(&mut self, kind: &str, name: &str, namespace: &str, spec: Option<&TriggerAuthenticationSpec>) {
        let own = format!("{kind} {name}");
        let Some(spec) = spec else {
            let (namespace, object) = self.object_name;
            self.rules.unknown.insert(format!(
                "what {own} reads, which ScaledObject {namespace}/{object} names: it is not in the files; add it"
            ));
            return;
        };
        for one in spec.secret_target_ref.iter().flatten() {
            self.read("secrets", namespace, &one.name, &own);
        }
        for one in spec.config_map_target_ref.iter().flatten() {
            self.read("configmaps", namespace, &one.name, &own);
        }
        if let Some(secret) = spec.oauth2.as_ref().and_then(|oauth2| oauth2.client_secret.as_ref()) {
            self.read("secrets", namespace, &secret.value_from.secret_key_ref.name, &own);
        }
        for one in spec.bound_service_account_token.iter().flatten() {
            self.token(namespace, &one.service_account_name, &own);
        }
        let vault = spec.hashi_corp_vault.as_ref().and_then(|vault| vault.credential.as_ref());
        if let Some(account) = vault.and_then(|credential| credential.service_account_name.as_ref()) {
            let namespace = self.object_name.0.clone();
            self.token(&namespace, account, &own);
        }
        for one in spec.env.iter().flatten() {
            self.variables(one.container_name.as_deref(), &BTreeSet::from([one.name.clone()]), &own);
        }
        let identity = spec.pod_identity.as_ref().and_then(|identity| parse_role(identity, "").ok());
        if matches!(identity, Some(AwsRole::FromWorkload | AwsRole::FromWorkloadIfAnnotated)) {
            self.account(&own);
        }
    }

    fn read(&mut self, resource: &str, namespace: &str, name: &str, of: &str) {
        let reason = format!("{of}, for ScaledObject {}", self.object_name.1);
        let scope = Scope::Namespace(namespace.to_owned());
        self.rules.allow_named(&scope, Access { group: "", resource, verbs: READ }, name, reason);
    }

    fn token(&mut self, namespace: &str, account: &str, of: &str) {
        let reason = format!("{of}, for ScaledObject {}", self.object_name.1);
        let what = Access { group: "", resource: "serviceaccounts/token", verbs: &["create"] };
        self.rules.allow_named(&Scope::Namespace(namespace.to_owned()), what, account, reason);
    }

    /// The pod template of the target, if it is in the files.
    fn pod(&mut self, what: &str) -> Option<PodSpec> {
        let (_, kind) = self.object.spec.scale_target_ref.api_version_and_kind();
        let target = (self.object_name.0.clone(), self.object.spec.scale_target_ref.name.clone());
        let pod = self.input.pod(kind, &target).cloned();
        if pod.is_none() {
            let (namespace, name) = &target;
            self.rules.unknown.insert(format!("{what}: {kind} {namespace}/{name} is not in the files; add it"));
        }
        pod
    }

    /// The Secrets and ConfigMaps that variables of the target come from.
    fn variables(&mut self, container: Option<&str>, wanted: &BTreeSet<String>, of: &str) {
        if wanted.is_empty() {
            return;
        }
        let Some(pod) = self.pod("from where the variables of its containers come") else { return };
        let named = container.filter(|name| !name.is_empty());
        let found = pod.containers.iter().find(|container| named.is_none_or(|name| container.name == name));
        let Some(container) = found else { return };
        let namespace = self.object_name.0.clone();
        for Reference { kind, name, .. } in (ContainerVariables { container, namespace: &namespace }).needs(wanted) {
            let resource = if kind == ReferenceKind::Secret { "secrets" } else { "configmaps" };
            self.read(
                resource,
                &namespace,
                &name,
                &format!("variables of {}, {of}", self.object.spec.scale_target_ref.name),
            );
        }
    }

    /// The service account of the target, whose role is read from its annotation.
    fn account(&mut self, of: &str) {
        let Some(pod) = self.pod("the service account of its pods") else { return };
        let name = pod.service_account_name.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
        let namespace = self.object_name.0.clone();
        self.read("serviceaccounts", &namespace, &name, of);
    }
}
