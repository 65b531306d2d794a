//! What the index costs, object by object. Alone in its process, so that nothing else is weighed.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

use kedge_webhooks::index::seen::{Seen, SeenObject, SeenWorkload};
use kedge_webhooks::index::table::Table;
use serde_json::{Value, json};

const OBJECTS: usize = 100_000;

/// The memory of this process that is in use.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * PAGE
}

fn table<S: Seen + serde::de::DeserializeOwned>(manifest: impl Fn(usize) -> Value) -> Table<S::Kept> {
    let mut table = Table::default();
    for index in 0..OBJECTS {
        let seen: S = serde_json::from_value(manifest(index)).unwrap();
        table.put(&seen.place().namespace, &seen.place().name, seen.kept());
    }
    table
}

/// A namespace for a hundred objects, and names as people give them.
fn place(index: usize) -> Value {
    json!({ "namespace": format!("team-{}", index / 100), "name": format!("order-processing-worker-{index}") })
}

#[test]
fn an_object_costs_less_than_a_kibibyte() {
    let before = resident();
    let objects = table::<SeenObject>(|index| {
        let target = json!({ "name": format!("order-processing-worker-{index}") });
        json!({ "metadata": place(index), "spec": { "scaleTargetRef": target, "triggers": [] } })
    });
    let between = resident();
    let workloads = table::<SeenWorkload>(|index| {
        let container = |name: &str| json!({ "name": name, "resources": { "requests": { "cpu": "100m" } } });
        let containers = [container("main"), container("istio-proxy"), container("vault-agent")];
        json!({ "metadata": place(index), "spec": { "template": { "spec": { "containers": containers } } } })
    });
    let after = resident();
    assert_eq!((objects.len(), workloads.len()), (OBJECTS, OBJECTS));
    let (object, workload) = ((between - before) / OBJECTS, (after - between) / OBJECTS);
    println!("{object} bytes a ScaledObject, {workload} bytes a workload");
    assert!((100..1024).contains(&object), "{object} bytes a ScaledObject");
    assert!((50..1024).contains(&workload), "{workload} bytes a workload");
}
