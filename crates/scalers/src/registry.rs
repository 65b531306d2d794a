//! The trigger types by name, and what their scalers share.

use std::sync::Arc;

use crate::cluster::ClusterReads;
use crate::external::{self, ExternalClient};
use crate::grpc::Channels;
use crate::http::connector::Connector;
use crate::http::exchange::Exchange;
use crate::http::{HttpClients, Settings};
use crate::scaler::Scaler;
use crate::trigger::{BuildError, Knowledge, Problem, TriggerConfig};
use crate::{cron, kubernetes_workload, metrics_api, prometheus, resource};

/// Builds scalers. Clones share connections.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

/// What scalers share: the ways to their sources.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) http: Arc<HttpClients>,
    pub(crate) grpc: Channels,
    pub(crate) cluster: Arc<dyn ClusterReads>,
}

impl Shared {
    pub(crate) fn new(settings: Settings, connector: Connector, cluster: Arc<dyn ClusterReads>) -> Self {
        Self { http: Arc::new(HttpClients::new(settings, connector)), grpc: Channels::default(), cluster }
    }
}

type Build = fn(&Shared, &TriggerConfig<'_>) -> Result<Arc<dyn Scaler>, BuildError>;

/// Every trigger type there is.
const KINDS: &[(&str, Build)] = &[
    ("cpu", |_, trigger| Ok(Arc::new(resource::build(trigger)?))),
    ("cron", |_, trigger| Ok(Arc::new(cron::build(trigger)?))),
    ("external", |shared, trigger| Ok(Arc::new(external::build(trigger, shared)?))),
    ("external-push", |shared, trigger| Ok(Arc::new(external::build(trigger, shared)?))),
    ("kubernetes-workload", |shared, trigger| Ok(Arc::new(kubernetes_workload::build(trigger, shared)?))),
    ("memory", |_, trigger| Ok(Arc::new(resource::build(trigger)?))),
    ("metrics-api", |shared, trigger| Ok(Arc::new(metrics_api::build(trigger, shared)?))),
    ("prometheus", |shared, trigger| Ok(Arc::new(prometheus::build(trigger, &shared.http)?))),
];

impl Registry {
    pub fn new(settings: Settings, connector: Connector, cluster: Arc<dyn ClusterReads>) -> Self {
        Self { shared: Arc::new(Shared::new(settings, connector, cluster)) }
    }

    /// A scaler for the trigger, or everything that is wrong with it. No source is asked yet.
    pub fn build(&self, trigger: &TriggerConfig<'_>) -> Result<Arc<dyn Scaler>, BuildError> {
        match find(trigger.kind) {
            Some(build) => build(&self.shared, trigger),
            None => Err(BuildError::new(trigger, vec![unknown(trigger.kind)])),
        }
    }

    /// Everything that is wrong with a trigger as far as it is known from its manifest: read by the very code that builds it,
    /// but nothing is made and nobody is asked.
    pub fn check(&self, trigger: &TriggerConfig<'_>) -> Vec<Problem> {
        debug_assert_ne!(
            trigger.knowledge,
            Knowledge::Everything,
            "to build it is the check of a trigger that is whole"
        );
        self.build(trigger).err().map(|error| error.problems).unwrap_or_default()
    }

    /// The same way out for requests that are not questions to a source.
    pub fn exchange(&self) -> Exchange {
        Exchange::new(Arc::clone(&self.shared.http))
    }

    /// The client that the scaler of an `external` trigger has, or everything that is wrong with the trigger.
    pub fn external_client(&self, trigger: &TriggerConfig<'_>) -> Result<ExternalClient, BuildError> {
        external::client(trigger, &self.shared)
    }

    /// Whether there is a scaler for the trigger type.
    pub fn supports(kind: &str) -> bool {
        find(kind).is_some()
    }

    /// Every trigger type there is a scaler for.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(kind, _)| *kind)
    }
}

fn find(kind: &str) -> Option<Build> {
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, build)| *build)
}

fn unknown(kind: &str) -> Problem {
    let kinds: Vec<_> = Registry::kinds().collect();
    // KEDA: its words for this, which people search for.
    let problem = format!("is unknown (no scaler found for type: {kind})");
    Problem::new("type", problem, format!("use one of {}", kinds.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kedge_api::authentication::{IdentityOwner, PodIdentity, PodIdentityProvider};
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::NoCluster;
    use crate::sample::Sample;
    use crate::trigger::{AuthParams, Role};

    fn registry() -> Registry {
        Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
    }

    #[test]
    fn an_unknown_type_is_named_beside_those_there_are() {
        let error = registry().build(&Sample::new("cronn").index(4).trigger()).unwrap_err().to_string();
        assert_eq!(
            error,
            "trigger 4 (cronn): `type` is unknown (no scaler found for type: cronn); \
             use one of cpu, cron, external, external-push, kubernetes-workload, memory, metrics-api, prometheus"
        );
        assert!(Registry::supports("cron") && !Registry::supports("Cron") && !Registry::supports(""));
    }

    #[test]
    fn a_check_reports_only_what_no_authentication_and_no_environment_can_make_good() {
        use Knowledge::{Manifest, ManifestWithAuthentication};
        let prometheus = || Sample::new("prometheus").with("serverAddress", "http://p:9090").with("threshold", "5");
        let asking = |modes: &str| prometheus().with("query", "up").with("authModes", modes);
        let signed = prometheus().with("query", "up").with("awsAccessKeyIDFromEnv", "ID").with("cloud", "x");
        let external = Sample::new("external").with("scalerAddress", "scaler:9090").with("enableTLS", "true");
        let rows: [(&str, Sample, Knowledge, &[&str]); 9] = [
            ("complete", prometheus().with("query", "up"), Manifest, &[]),
            ("metadata is all there is", prometheus(), ManifestWithAuthentication, &["query"]),
            ("a token that nobody gives", asking("bearer"), Manifest, &["bearerToken"]),
            ("a token that somebody may give", asking("bearer"), ManifestWithAuthentication, &[]),
            ("a mode that does not exist", asking("Bearer"), ManifestWithAuthentication, &["authModes"]),
            ("keys from the environment", signed, Manifest, &[]),
            ("a server that is not called", external.clone(), Manifest, &[]),
            ("a switch that is none", external.with("unsafeSsl", "maybe"), Manifest, &["unsafeSsl"]),
            ("no such type", Sample::new("cronn"), Manifest, &["type"]),
        ];
        for (name, sample, knowledge, expected) in rows {
            let problems = registry().check(&sample.knowledge(knowledge).trigger());
            let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
            assert_eq!(fields, expected, "{name}: {problems:?}");
        }
    }

    /// Keys that mean something to some trigger type.
    const KEYS: &str = "timezone|start|end|desiredReplicas|value|type|containerName|serverAddress|query|threshold|\
        activationThreshold|namespace|queryParameters|customHeaders|ignoreNullValues|unsafeSsl|timeout|authModes|authMode|\
        bearerToken|username|password|cert|key|ca|customAuthHeader|customAuthValue|apiKey|method|identityOwner|queryFromEnv|\
        awsRegion|awsRoleArn|awsAccessKeyID|awsSecretAccessKey|awsAccessKeyIDFromEnv|awsSecretAccessKeyFromEnv|cloud|\
        GoogleApplicationCredentials|credentialsFromEnv|credentialsFromEnvFile|azureManagedPrometheusResourceURL|\
        scalerAddress|enableTLS|caCert|tlsClientCert|tlsClientKey|FromEnv|\
        url|valueLocation|targetValue|activationTargetValue|format|aggregateFromKubeServiceEndpoints|aggregationType|\
        keyParamName|podSelector|activationValue|groupByNode";

    fn params() -> impl Strategy<Value = BTreeMap<String, String>> {
        let likely = "0 8 \\* \\* [0-9]|Europe/Berlin|http://[a-z@:/?#%]{0,9}|https://h|[a-z.:\\[\\]/]{0,9}:[0-9]{1,6}|dns:///[a-z:0-9]{0,9}|true|[0-9]{1,3}|bearer,tls|basic|\
            custom|oauth|apiKey|json|yaml|xml|prometheus|[a-z.#|@(=)\\\\]{0,9}|[a-z]{1,2}\\{[a-z]=\"[a-z]\"\\}|[a-z]=[a-z],[a-z]=|-----BEGIN CERTIFICATE-----\n[a-zA-Z=]{0,8}\n-----END CERTIFICATE-----";
        btree_map(KEYS, prop_oneof![".*", likely], 0..12)
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
            kind in "cpu|cron|external|external-push|kubernetes-workload|memory|metrics-api|prometheus|.*",
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
                index: 0, kind: &kind, name: None, metadata: &metadata, auth: &auth, environment: &environment,
                metric_type: metric_type.as_deref(), namespace: "n", object: "o", pod_identity: pod_identity.as_ref(),
                role: if formula { Role::FormulaInput } else { Role::Metric }, knowledge: Knowledge::Everything,
            };
            if let Err(error) = registry().build(&trigger) {
                prop_assert!(!error.problems.is_empty(), "{error:?}");
            }
        }
    }
}
