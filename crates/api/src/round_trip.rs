//! Every object of these types survives serialization and parsing, as JSON and as YAML; and what older objects may hold.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::authentication::{
    ClusterTriggerAuthenticationSpec, IdentityOwner, PodIdentity, PodIdentityProvider, TriggerAuthenticationSpec,
    TriggerAuthenticationStatus,
};
use crate::scaled_job::{
    MultipleScalersCalculation, RolloutPropagation, RolloutStrategy, ScaledJobSpec, ScaledJobStatus,
    ScalingStrategyName,
};
use crate::scaled_object::{FallbackBehavior, ModifierMetricType, ScaledObjectSpec, ScaledObjectStatus};
use crate::trigger::AuthenticationKind;
use crate::{ClusterTriggerAuthentication, ScaledJob, ScaledObject, TriggerAuthentication};

fn any_metadata() -> impl Strategy<Value = ObjectMeta> {
    let texts = || option::of(btree_map(any::<String>(), any::<String>(), 0..3));
    (any::<String>(), option::of(any::<String>()), texts(), texts(), option::of(any::<i64>())).prop_map(
        |(name, namespace, labels, annotations, generation)| ObjectMeta {
            name: Some(name),
            namespace,
            labels,
            annotations,
            generation,
            ..ObjectMeta::default()
        },
    )
}

fn survives<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(object: &T) -> Result<(), TestCaseError> {
    let json = serde_json::to_string(object).unwrap();
    prop_assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), object);
    let yaml = serde_saphyr::to_string(object).unwrap();
    let read = serde_saphyr::from_str::<T>(&yaml);
    prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), yaml);
    prop_assert_eq!(&read.unwrap(), object, "{}", yaml);
    Ok(())
}

/// Checks the property on many objects. The strategies of such wide types need more stack than a test's thread has.
fn all_survive<S, T>(strategy: impl FnOnce() -> S + Send + 'static)
where
    S: Strategy<Value = T>,
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let trial =
        || TestRunner::default().run(&strategy(), |object| survives(&object)).map_err(|failure| failure.to_string());
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(trial).unwrap();
    thread.join().unwrap().unwrap();
}

#[test]
fn scaled_objects_survive() {
    all_survive(|| {
        (any_metadata(), any::<ScaledObjectSpec>(), any::<Option<ScaledObjectStatus>>())
            .prop_map(|(metadata, spec, status)| ScaledObject { metadata, spec, status })
    });
}

#[test]
fn scaled_jobs_survive() {
    all_survive(|| {
        (any_metadata(), any::<ScaledJobSpec>(), any::<Option<ScaledJobStatus>>())
            .prop_map(|(metadata, spec, status)| ScaledJob { metadata, spec, status })
    });
}

#[test]
fn trigger_authentications_survive() {
    all_survive(|| {
        (any_metadata(), any::<TriggerAuthenticationSpec>(), any::<Option<TriggerAuthenticationStatus>>())
            .prop_map(|(metadata, spec, status)| TriggerAuthentication { metadata, spec, status })
    });
}

#[test]
fn cluster_trigger_authentications_survive() {
    all_survive(|| {
        (any_metadata(), any::<ClusterTriggerAuthenticationSpec>(), any::<Option<TriggerAuthenticationStatus>>())
            .prop_map(|(metadata, spec, status)| ClusterTriggerAuthentication { metadata, spec, status })
    });
}

#[test]
fn an_empty_enum_means_the_default() {
    let job = r#"{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "j"}, "spec": {
        "jobTargetRef": {"template": {}}, "triggers": [], "rolloutStrategy": "",
        "rollout": {"strategy": "", "propagationPolicy": ""},
        "scalingStrategy": {"strategy": "", "multipleScalersCalculation": ""}}}"#;
    let job: ScaledJob = serde_json::from_str(job).unwrap();
    let (rollout, strategy) = (job.spec.rollout.unwrap(), job.spec.scaling_strategy.unwrap());
    assert_eq!(rollout.strategy, Some(RolloutStrategy::Immediate));
    assert_eq!(rollout.propagation_policy, Some(RolloutPropagation::Background));
    assert_eq!(strategy.strategy, Some(ScalingStrategyName::Default));
    assert_eq!(strategy.multiple_scalers_calculation, Some(MultipleScalersCalculation::Max));
    let object = r#"{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "o"}, "spec": {
        "scaleTargetRef": {"name": "web"},
        "triggers": [{"type": "cron", "metadata": {}, "authenticationRef": {"name": "a", "kind": ""}, "metricType": ""}],
        "fallback": {"failureThreshold": 1, "replicas": 1, "behavior": ""},
        "advanced": {"scalingModifiers": {"metricType": ""}}}}"#;
    let object: ScaledObject = serde_json::from_str(object).unwrap();
    assert_eq!(object.spec.fallback.unwrap().behavior, Some(FallbackBehavior::Static));
    let reference = object.spec.triggers[0].authentication_ref.as_ref().unwrap();
    assert_eq!(reference.kind, Some(AuthenticationKind::TriggerAuthentication));
    let modifiers = object.spec.advanced.unwrap().scaling_modifiers.unwrap();
    assert_eq!(modifiers.metric_type, Some(ModifierMetricType::AverageValue));
    let identity: PodIdentity = serde_json::from_str(r#"{"provider": "", "identityOwner": ""}"#).unwrap();
    assert_eq!(identity.provider, PodIdentityProvider::None);
    assert_eq!(identity.identity_owner, Some(IdentityOwner::Keda));
}
