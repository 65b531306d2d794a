//! The descriptors compared with the code: every parameter that a scaler reads is described, and every one that is described
//! is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kedge_api::authentication::{PodIdentity, PodIdentityProvider};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::field::{Source, Status};
use crate::http::Settings;
use crate::http::connector::Connector;
use crate::metadata::recording;
use crate::registry::{Registry, TRIGGER_TYPES, find};
use crate::sample::pod_identity;
use crate::trigger::{AuthParams, Environment, Resolution, Role};

/// How many triggers of each type are built. With fewer than some 500, rare combinations may be missing.
const SAMPLES: usize = 3000;

/// Values that lead to the branches of the readers.
const VALUES: &[&str] = &[
    "true",
    "5",
    "Private",
    "pod",
    "operator",
    "bearer",
    "basic",
    "custom",
    "tls",
    "apiKey,bearer",
    "oauth",
    "http://h:1/p",
    "https://web.shop:1",
    "query",
    "json",
    "a=b",
    "eu-west-1",
    "h:1",
    "UTC",
    "0 8 * * *",
    "AWS",
    "enable",
    "",
];

/// How often a parameter is given, and its values. Those that choose what else is read are given nearly always.
fn weighted(name: &str, share: f64) -> (f64, &'static [&'static str]) {
    match name {
        "sasl" => (0.9, &["plaintext", "scram_sha256", "oauthbearer", "aws_msk_iam", "gssapi"]),
        "saslTokenProvider" => (0.9, &["bearer", "aws_msk_iam"]),
        _ => (share, VALUES),
    }
}

/// A trigger made at random of the parameters of a type.
#[derive(Debug)]
struct Drawn {
    metadata: BTreeMap<String, String>,
    auth: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
    metric_type: Option<&'static str>,
    identity: Option<PodIdentity>,
    resolution: Resolution,
}

fn drawn(trigger_type: &'static TriggerType) -> impl Strategy<Value = Drawn> {
    let names: Vec<&'static str> = trigger_type.fields().flat_map(Field::names).collect();
    let some = |share: f64, names: Vec<String>| {
        let each = names.into_iter().map(move |name| {
            let (share, values) = weighted(&name, share);
            proptest::option::weighted(share, select(values))
                .prop_map(move |value| value.map(|value| (name.clone(), value.to_owned())))
        });
        each.collect::<Vec<_>>().prop_map(|pairs| pairs.into_iter().flatten().collect::<BTreeMap<String, String>>())
    };
    let plain: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let from_env: Vec<String> = names.iter().map(|name| format!("{name}{}", FROM_ENV)).collect();
    let share = prop_oneof![Just(0.05), Just(0.3), Just(0.7)];
    share
        .prop_flat_map(move |share| {
            let identity = prop_oneof![
                Just(None),
                Just(Some(PodIdentityProvider::Aws)),
                Just(Some(PodIdentityProvider::AwsEks)),
                Just(Some(PodIdentityProvider::AzureWorkload)),
                Just(Some(PodIdentityProvider::Gcp)),
            ];
            let metric_type = prop_oneof![Just(None), Just(Some("Utilization")), Just(Some("AverageValue"))];
            let resolution = prop_oneof![
                4 => Just(Resolution::Complete),
                1 => Just(Resolution::ManifestWithoutAuthentication),
                1 => Just(Resolution::ManifestWithAuthentication),
            ];
            let metadata = (some(share, plain.clone()), some(share / 3.0, from_env.clone()));
            let environment = vec(select(VALUES), 0..4);
            (metadata, some(share, plain.clone()), environment, metric_type, identity, resolution)
        })
        .prop_map(|((plain, from_env), auth, environment, metric_type, identity, resolution)| Drawn {
            metadata: plain.into_iter().chain(from_env).collect(),
            auth,
            environment: environment.into_iter().map(|value| (value.to_owned(), value.to_owned())).collect(),
            metric_type,
            identity: identity.map(pod_identity),
            resolution,
        })
}

fn build(registry: &Registry, trigger_type: &'static TriggerType, drawn: &Drawn) {
    let auth: AuthParams = drawn.auth.clone().into_iter().collect();
    let environment: Environment = drawn.environment.clone().into_iter().collect();
    let config = TriggerConfig {
        index: 0,
        trigger_type: trigger_type.name,
        name: None,
        metadata: &drawn.metadata,
        auth: &auth,
        environment: &environment,
        metric_type: drawn.metric_type,
        namespace: "shop",
        object: "web",
        pod_identity: drawn.identity.as_ref(),
        role: Role::Metric,
        resolution: drawn.resolution,
    };
    // Whether the trigger is valid does not matter: only what is read.
    let _ = registry.build(&config);
}

/// Names and sources of the parameters that the scaler of a type reads.
fn parameters_read(trigger_type: &'static TriggerType) -> BTreeSet<(&'static str, Source)> {
    let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(crate::NoCluster));
    let (mut runner, strategy) = (TestRunner::deterministic(), drawn(trigger_type));
    recording::take();
    for _ in 0..SAMPLES {
        let drawn = strategy.new_tree(&mut runner).unwrap().current();
        build(&registry, trigger_type, &drawn);
    }
    recording::take()
}

fn parameters_described(trigger_type: &'static TriggerType) -> BTreeSet<(&'static str, Source)> {
    let read = trigger_type.fields().filter(|field| field.status != Status::Ignored);
    read.flat_map(|field| field.names().flat_map(|name| field.sources.iter().map(move |source| (name, *source))))
        .collect()
}

#[tokio::test]
async fn scalers_read_exactly_the_parameters_that_are_described() {
    for trigger_type in TRIGGER_TYPES {
        let (read, described) = (parameters_read(trigger_type), parameters_described(trigger_type));
        let name = trigger_type.name;
        assert_eq!(read.difference(&described).collect::<Vec<_>>(), [] as [&_; 0], "{name}: read, but not described");
        assert_eq!(described.difference(&read).collect::<Vec<_>>(), [] as [&_; 0], "{name}: described, but not read");
    }
}

#[test]
fn descriptors_are_complete() {
    assert!(TRIGGER_TYPES.iter().map(|known| known.name).is_sorted());
    for known in TRIGGER_TYPES {
        let name = known.name;
        assert!(!known.keda_scaler.is_empty() && !known.help.is_empty() && !name.is_empty(), "{name}");
        let page = format!("{}/../../docs/scalers/{}", env!("CARGO_MANIFEST_DIR"), known.docs_page);
        assert!(std::path::Path::new(&page).exists(), "{name}: there is no {page}");
        let is_field = |name: &str| known.fields_named(name).next().is_some();
        assert!(known.activation.is_none_or(is_field), "{name}: {:?}", known.activation);
        assert!(
            known
                .cluster_reads
                .iter()
                .all(|read| { read.condition_parameter().is_none_or(is_field) && read.name.is_none_or(is_field) }),
            "{name}"
        );
        for field in known.fields() {
            assert!(!field.help.is_empty() && !field.sources.is_empty(), "{name}: {}", field.name);
        }
    }
}

#[test]
fn keys_are_expected_by_name_with_or_without_from_env() {
    let rows = [
        ("cron", "start", true),
        ("cron", "startFromEnv", true),
        ("cron", "begin", false),
        ("prometheus", "authMode", true),
        ("prometheus", "bearerToken", true),
        ("prometheus", "credentialsFromEnv", true),
        ("prometheus", "credentialsFromEnvFile", true),
        ("prometheus", "credentialsFile", false),
        ("external", "queueFromEnv", true),
        ("external-push", "anything", true),
    ];
    for (trigger_type, key, expected) in rows {
        assert_eq!(find(trigger_type).unwrap().expects(key), expected, "{trigger_type}: {key}");
    }
}

#[test]
fn cluster_reads_depend_on_the_parameters() {
    let metadata = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let endpoints = find("metrics-api").unwrap().cluster_reads[0];
    assert!(!endpoints.is_needed(&metadata(&[])));
    assert!(endpoints.is_needed(&metadata(&[("aggregateFromKubeServiceEndpoints", "true")])));
    let rows = [
        ("http://queue.backend.svc.cluster.local:80/length", Some("backend")),
        ("https://queue.backend", Some("backend")),
        ("http://queue:8080/length", None),
        ("http://queue", None),
        ("", None),
    ];
    for (url, expected) in rows {
        assert_eq!(endpoints.named_namespace(&metadata(&[("url", url)])).as_deref(), expected, "{url}");
    }
    assert!(find("kubernetes-workload").unwrap().cluster_reads[0].is_needed(&metadata(&[])));
    let [config_maps, secrets] = find("kubernetes-resource").unwrap().cluster_reads else { panic!("two reads") };
    let limits = metadata(&[("resourceKind", "Secret"), ("resourceName", " limits ")]);
    assert!(secrets.is_needed(&limits) && !config_maps.is_needed(&limits));
    assert_eq!(secrets.object_name(&limits), Some("limits"));
    assert_eq!(secrets.object_name(&metadata(&[])), None);
}
