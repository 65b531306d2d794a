//! Strategies that generate fields of the types under test.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// An optional quantity as users write it: a number or a text.
pub(crate) fn any_int_or_string() -> impl Strategy<Value = Option<IntOrString>> {
    option::of(prop_oneof![any::<i32>().prop_map(IntOrString::Int), any::<String>().prop_map(IntOrString::String)])
}

/// An optional time to the second, as Kubernetes writes it.
pub(crate) fn any_time() -> impl Strategy<Value = Option<Time>> {
    let seconds = 0..253_402_300_799_i64; // the year 9999
    option::of(seconds.prop_map(|second| Time(Timestamp::from_second(second).unwrap())))
}

/// Any JSON object.
pub(crate) fn any_json_object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let json = leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    btree_map(any::<String>(), json, 0..6).prop_map(|map| map.into_iter().collect())
}
