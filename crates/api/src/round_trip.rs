//! Every object of these types survives serialization and parsing, as JSON and as YAML.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::authentication::{ClusterTriggerAuthenticationSpec, TriggerAuthenticationSpec, TriggerAuthenticationStatus};
use crate::scaled_job::{ScaledJobSpec, ScaledJobStatus};
use crate::scaled_object::{ScaledObjectSpec, ScaledObjectStatus};
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
