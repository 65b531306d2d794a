//! The memory that the index takes per object. The test has a process of its own, so that nothing else is measured.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

use kedge_webhooks::index::objects::{Watched, WatchedScaledObject, WatchedWorkload};
use kedge_webhooks::index::table::Table;
use serde_json::{Value, json};

const OBJECTS: usize = 100_000;

/// The memory of this process that is in use.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * PAGE
}

fn table<S: Watched + serde::de::DeserializeOwned>(manifest: impl Fn(usize) -> Value) -> Table<S::Entry> {
    let mut table = Table::default();
    for index in 0..OBJECTS {
        let object: S = serde_json::from_value(manifest(index)).unwrap();
        table.put(&object.metadata().namespace, &object.metadata().name, object.entry());
    }
    table
}

/// A namespace per hundred objects, and names of a usual length.
fn metadata(index: usize) -> Value {
    json!({ "namespace": format!("team-{}", index / 100), "name": format!("order-processing-worker-{index}") })
}

#[test]
fn an_object_takes_less_than_a_kibibyte() {
    let before = resident();
    let objects = table::<WatchedScaledObject>(|index| {
        let target = json!({ "name": format!("order-processing-worker-{index}") });
        json!({ "metadata": metadata(index), "spec": { "scaleTargetRef": target, "triggers": [] } })
    });
    let between = resident();
    let workloads = table::<WatchedWorkload>(|index| {
        let container = |name: &str| json!({ "name": name, "resources": { "requests": { "cpu": "100m" } } });
        let containers = [container("main"), container("istio-proxy"), container("vault-agent")];
        json!({ "metadata": metadata(index), "spec": { "template": { "spec": { "containers": containers } } } })
    });
    let after = resident();
    assert_eq!((objects.len(), workloads.len()), (OBJECTS, OBJECTS));
    let (object, workload) = ((between - before) / OBJECTS, (after - between) / OBJECTS);
    println!("{object} bytes per ScaledObject, {workload} bytes per workload");
    assert!((100..1024).contains(&object), "{object} bytes per ScaledObject");
    assert!((50..1024).contains(&workload), "{workload} bytes per workload");
}
