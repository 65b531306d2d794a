//! The trigger types by name. Builds their scalers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::TriggerClass;

use crate::cluster::ClusterReads;
use crate::external::{self, ExternalClient};
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::http::exchange::Exchange;
use crate::scaler::Scaler;
use crate::shared::Shared;
use crate::trigger::{BuildError, FieldError, Resolution, TriggerConfig};
use crate::trigger_type::TriggerType;
use crate::{
    aws_cloudwatch, aws_sqs, cron, kafka, kubernetes_resource, kubernetes_workload, metrics_api, mysql, nats_jetstream,
    postgresql, prometheus, rabbitmq, redis, resource,
};

/// Every trigger type, by name in alphabetical order.
pub static TRIGGER_TYPES: &[&TriggerType] = &[
    &kafka::APACHE_KAFKA,
    &aws_cloudwatch::TRIGGER,
    &aws_sqs::TRIGGER,
    &resource::CPU,
    &cron::TRIGGER,
    &external::EXTERNAL,
    &external::EXTERNAL_PUSH,
    &kafka::KAFKA,
    &kubernetes_resource::TRIGGER,
    &kubernetes_workload::TRIGGER,
    &resource::MEMORY,
    &metrics_api::TRIGGER,
    &mysql::TRIGGER,
    &nats_jetstream::TRIGGER,
    &postgresql::TRIGGER,
    &prometheus::TRIGGER,
    &rabbitmq::TRIGGER,
    &redis::LISTS,
    &redis::CLUSTER_LISTS,
    &redis::CLUSTER_STREAMS,
    &redis::SENTINEL_LISTS,
    &redis::SENTINEL_STREAMS,
    &redis::STREAMS,
];

/// The descriptor of a trigger type.
pub fn find(trigger_type: &str) -> Option<&'static TriggerType> {
    TRIGGER_TYPES.iter().copied().find(|known| known.name == trigger_type)
}

/// The class of a trigger type.
pub fn class_of(trigger_type: &str) -> Option<TriggerClass> {
    find(trigger_type).map(|known| known.class)
}

/// The names of all trigger types, for messages.
pub fn names() -> String {
    let names: Vec<_> = TRIGGER_TYPES.iter().map(|known| known.name).collect();
    names.join(", ")
}

/// Builds scalers. Clones share connections.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
    unexpected_parameters: UnexpectedParameters,
    substitute: Option<Arc<dyn Substitute>>,
}

/// What answers instead of sources that are not there: a playground has no other way to stand in for one whose protocol it does not speak.
pub trait Substitute: Send + Sync + fmt::Debug {
    /// The scaler to use instead of the one that was built, or that one.
    fn substitute(&self, trigger: &TriggerConfig<'_>, built: Arc<dyn Scaler>) -> Arc<dyn Scaler>;
}

/// What happens to parameters that a trigger has and its type does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnexpectedParameters {
    #[default]
    Ignored,
    /// The operator publishes an event for each.
    Reported,
}

impl Registry {
    pub fn new(settings: Settings, connector: Connector, cluster: Arc<dyn ClusterReads>) -> Self {
        let shared = Arc::new(Shared::new(settings, connector, cluster));
        Self { shared, unexpected_parameters: UnexpectedParameters::default(), substitute: None }
    }

    /// The same registry, whose scalers may be substituted.
    pub fn with_substitute(self, substitute: Arc<dyn Substitute>) -> Self {
        Self { substitute: Some(substitute), ..self }
    }

    /// The same registry with another treatment of unexpected parameters.
    pub fn with_unexpected_parameters(self, unexpected_parameters: UnexpectedParameters) -> Self {
        Self { unexpected_parameters, ..self }
    }

    /// A message for each parameter of a trigger that its type does not know, where these are to be reported.
    // KEDA: its words.
    pub fn report_unexpected_parameters(&self, trigger: &Trigger) -> Vec<String> {
        let known = find(&trigger.r#type).filter(|_| self.unexpected_parameters == UnexpectedParameters::Reported);
        let Some(known) = known else { return Vec::new() };
        let name = trigger.name.as_ref().filter(|name| !name.is_empty());
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let unexpected = trigger.metadata.keys().filter(|key| !known.expects(key));
        unexpected.map(|key| format!("Unmatched input property {key} in scaler {}{name}", known.name)).collect()
    }

    /// A scaler for the trigger, or every error in the trigger. No source is queried yet.
    pub fn build(&self, trigger: &TriggerConfig<'_>) -> Result<Arc<dyn Scaler>, BuildError> {
        let built = self.build_own(trigger)?;
        Ok(match &self.substitute {
            Some(substitute) => substitute.substitute(trigger, built),
            None => built,
        })
    }

    fn build_own(&self, trigger: &TriggerConfig<'_>) -> Result<Arc<dyn Scaler>, BuildError> {
        match find(trigger.trigger_type) {
            Some(trigger_type) => (trigger_type.build)(&self.shared, trigger),
            None => Err(BuildError::new(trigger, vec![unknown(trigger.trigger_type)])),
        }
    }

    /// Every error in a trigger that its manifest alone shows. The code that builds scalers reads it, but builds nothing and
    /// connects to nothing.
    pub fn check(&self, trigger: &TriggerConfig<'_>) -> Vec<FieldError> {
        debug_assert_ne!(trigger.resolution, Resolution::Complete, "a trigger that is resolved is checked by `build`");
        self.build_own(trigger).err().map(|error| error.errors).unwrap_or_default()
    }

    /// How long a request may take where its trigger says nothing else.
    pub fn default_timeout(&self) -> Duration {
        self.shared.http.settings().limit(None)
    }

    /// The same clients, for requests that are not queries of a source.
    pub fn exchange(&self) -> Exchange {
        Exchange::new(Arc::clone(&self.shared.http))
    }

    /// The client that the scaler of an `external` trigger has, or every error in the trigger.
    pub fn external_client(&self, trigger: &TriggerConfig<'_>) -> Result<ExternalClient, BuildError> {
        external::client(trigger, &self.shared)
    }
}

fn unknown(trigger_type: &str) -> FieldError {
    // KEDA: its words for this, which users search for.
    let problem = format!("is unknown (no scaler found for type: {trigger_type})");
    FieldError::new("type", problem, format!("use one of {}", names()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kedge_api::authentication::{IdentityOwner, PodIdentity, PodIdentityProvider};
    use proptest::collection::btree_map;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;
    use crate::cluster::NoCluster;
    use crate::field::Field;
    use crate::sample::Sample;
    use crate::trigger::{AuthParams, Role};

    fn registry() -> Registry {
        Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
    }

    #[test]
    fn an_unknown_type_is_named_beside_those_there_are() {
        let error = registry().build(&Sample::new("cronn").index(4).trigger()).unwrap_err().to_string();
        let start = "trigger 4 (cronn): `type` is unknown (no scaler found for type: cronn); use one of ";
        assert_eq!(error, format!("{start}{}", names()));
        assert!(TRIGGER_TYPES.is_sorted_by_key(|known| known.name));
        assert!(find("cron").is_some() && find("Cron").is_none() && find("").is_none());
    }

    #[test]
    fn a_check_reports_only_what_neither_authentication_nor_environment_can_give() {
        use Resolution::{ManifestWithAuthentication, ManifestWithoutAuthentication as Manifest};
        let prometheus = || Sample::new("prometheus").with("serverAddress", "http://p:9090").with("threshold", "5");
        let with_modes = |modes: &str| prometheus().with("query", "up").with("authModes", modes);
        let signed = prometheus().with("query", "up").with("awsAccessKeyIDFromEnv", "ID").with("cloud", "x");
        let external = Sample::new("external").with("scalerAddress", "scaler:9090").with("enableTLS", "true");
        let rows: [(&str, Sample, Resolution, &[&str]); 9] = [
            ("complete", prometheus().with("query", "up"), Manifest, &[]),
            ("metadata is all there is", prometheus(), ManifestWithAuthentication, &["query"]),
            ("a token that no source gives", with_modes("bearer"), Manifest, &["bearerToken"]),
            ("a token that authentication may give", with_modes("bearer"), ManifestWithAuthentication, &[]),
            ("a mode that does not exist", with_modes("Bearer"), ManifestWithAuthentication, &["authModes"]),
            ("keys from the environment", signed, Manifest, &[]),
            ("a server that is not connected to", external.clone(), Manifest, &[]),
            ("a switch that is none", external.with("unsafeSsl", "maybe"), Manifest, &["unsafeSsl"]),
            ("no such type", Sample::new("cronn"), Manifest, &["type"]),
        ];
        for (name, sample, resolution, expected) in rows {
            let errors = registry().check(&sample.resolution(resolution).trigger());
            let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
            assert_eq!(fields, expected, "{name}: {errors:?}");
        }
    }

    #[test]
    fn unexpected_parameters_are_reported_only_where_it_is_configured() {
        let trigger = |trigger_type: &str, name: Option<&str>| -> Trigger {
            let metadata = json!({ "start": "0 8 * * *", "begin": "8", "endFromEnv": "END", "colorFromEnv": "C" });
            serde_json::from_value(json!({ "type": trigger_type, "name": name, "metadata": metadata })).unwrap()
        };
        let reporting = registry().with_unexpected_parameters(UnexpectedParameters::Reported);
        let rows: [(&str, Option<&str>, &[&str]); 4] = [
            (
                "cron",
                None,
                &[
                    "Unmatched input property begin in scaler cron",
                    "Unmatched input property colorFromEnv in scaler cron",
                ],
            ),
            (
                "cron",
                Some("day"),
                &[
                    "Unmatched input property begin in scaler cron (day)",
                    "Unmatched input property colorFromEnv in scaler cron (day)",
                ],
            ),
            ("external", None, &[]),
            ("unknown", None, &[]),
        ];
        for (trigger_type, name, expected) in rows {
            assert_eq!(
                reporting.report_unexpected_parameters(&trigger(trigger_type, name)),
                expected,
                "{trigger_type}"
            );
        }
        assert!(registry().report_unexpected_parameters(&trigger("cron", None)).is_empty());
    }

    /// Keys that mean something to some trigger type.
    fn keys() -> Vec<String> {
        let names: Vec<_> = TRIGGER_TYPES.iter().flat_map(|known| known.fields()).flat_map(Field::names).collect();
        let plain = names.iter().map(|name| (*name).to_owned());
        plain.chain(names.iter().map(|name| format!("{name}FromEnv"))).chain(["FromEnv".to_owned()]).collect()
    }

    fn params() -> impl Strategy<Value = BTreeMap<String, String>> {
        let likely = "0 8 \\* \\* [0-9]|Europe/Berlin|http://[a-z@:/?#%]{0,9}|https://h|[a-z.:\\[\\]/]{0,9}:[0-9]{1,6}|dns:///[a-z:0-9]{0,9}|true|[0-9]{1,3}|bearer,tls|basic|\
            custom|oauth|apiKey|json|yaml|xml|prometheus|[a-z.#|@(=)\\\\]{0,9}|[a-z]{1,2}\\{[a-z]=\"[a-z]\"\\}|[a-z]=[a-z],[a-z]=|-----BEGIN CERTIFICATE-----\n[a-zA-Z=]{0,8}\n-----END CERTIFICATE-----";
        btree_map(select(keys()), prop_oneof![".*", likely], 0..12)
    }

    fn identity() -> impl Strategy<Value = PodIdentity> {
        use PodIdentityProvider::{Aws, AwsEks, AzureWorkload, Gcp, None};
        let owner = prop_oneof![Just(IdentityOwner::Keda), Just(IdentityOwner::Workload)];
        let text = || proptest::option::of(".{0,8}");
        let provider = prop_oneof![Just(None), Just(AzureWorkload), Just(Gcp), Just(Aws), Just(AwsEks)];
        let parts = (provider, text(), text(), text(), text(), text(), proptest::option::of(owner));
        parts.prop_map(|(provider, id, tenant, authority, role, external, owner)| PodIdentity {
            provider,
            identity_id: id,
            identity_tenant_id: tenant,
            identity_authority_host: authority,
            role_arn: role,
            external_id: external,
            identity_owner: owner,
        })
    }

    proptest! {
        #[test]
        fn no_metadata_makes_it_panic(
            trigger_type in prop_oneof![9 => select(TRIGGER_TYPES).prop_map(|known| known.name.to_owned()), 1 => ".*"],
            metadata in params(),
            auth in params(),
            environment in params(),
            metric_type in proptest::option::of("AverageValue|Value|Utilization|.*"),
            pod_identity in proptest::option::of(identity()),
            formula: bool,
        ) {
            let auth: AuthParams = auth.into_iter().collect();
            let environment = environment.into_iter().collect();
            let trigger = TriggerConfig {
                index: 0, trigger_type: &trigger_type, name: None, metadata: &metadata, auth: &auth, environment: &environment,
                metric_type: metric_type.as_deref(), namespace: "n", object: "o", pod_identity: pod_identity.as_ref(),
                role: if formula { Role::FormulaInput } else { Role::Metric }, resolution: Resolution::Complete,
            };
            if let Err(error) = registry().build(&trigger) {
                prop_assert!(!error.errors.is_empty(), "{error:?}");
            }
        }
    }
}
