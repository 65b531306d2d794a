//! As much of a page of a list as is wanted. Pods are counted while the page is read; none of them is kept.

use std::collections::BTreeSet;
use std::fmt;

use kedge_scalers::ServiceEndpoint;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A page of a list.
pub(super) trait Page {
    /// What to ask the next page with, if there is one.
    fn next(&self) -> Option<String>;
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    r#continue: Option<String>,
}

impl ListMetadata {
    fn next(&self) -> Option<String> {
        self.r#continue.clone().filter(|token| !token.is_empty())
    }
}

/// The pods of a page that have not ended, and the nodes they are on.
#[derive(Deserialize)]
pub(super) struct PodPage {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(rename = "items", deserialize_with = "count")]
    counted: Counted,
}

impl PodPage {
    pub(super) fn counted(self) -> (u64, BTreeSet<String>) {
        (self.counted.pods, self.counted.nodes)
    }
}

impl Page for PodPage {
    fn next(&self) -> Option<String> {
        self.metadata.next()
    }
}

#[derive(Default)]
struct Counted {
    pods: u64,
    nodes: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct PodStatus {
    phase: Option<String>,
}

fn count<'de, D: Deserializer<'de>>(items: D) -> Result<Counted, D::Error> {
    struct Count;
    impl<'de> Visitor<'de> for Count {
        type Value = Counted;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("pods")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut pods: A) -> Result<Counted, A::Error> {
            let mut counted = Counted::default();
            while let Some(pod) = pods.next_element::<Pod>()? {
                counted.add(pod);
            }
            Ok(counted)
        }
    }
    items.deserialize_seq(Count)
}

impl Counted {
    // KEDA: pods count that are pending, unknown or being deleted.
    fn add(&mut self, pod: Pod) {
        if matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed")) {
            return;
        }
        self.pods += 1;
        self.nodes.extend(pod.spec.node_name.filter(|name| !name.is_empty()));
    }
}

/// The EndpointSlices of a page.
#[derive(Deserialize)]
pub(super) struct SlicePage {
    #[serde(default)]
    metadata: ListMetadata,
    items: Vec<Slice>,
}

#[derive(Deserialize)]
struct Slice {
    // Go writes an empty list as null.
    endpoints: Option<Vec<Endpoint>>,
    ports: Option<Vec<Port>>,
}

#[derive(Deserialize)]
struct Endpoint {
    addresses: Option<Vec<String>>,
    #[serde(default)]
    conditions: EndpointConditions,
}

#[derive(Default, Deserialize)]
struct EndpointConditions {
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct Port {
    port: Option<u16>,
}

impl SlicePage {
    /// The addresses that are not known to be unready, each with the ports of its slice.
    pub(super) fn endpoints(self) -> impl Iterator<Item = ServiceEndpoint> {
        self.items.into_iter().flat_map(|slice| {
            let ports: Vec<u16> = slice.ports.into_iter().flatten().filter_map(|port| port.port).collect();
            let ready = |endpoint: &Endpoint| endpoint.conditions.ready != Some(false);
            let endpoints = slice.endpoints.into_iter().flatten().filter(ready);
            let addresses = endpoints.flat_map(|endpoint| endpoint.addresses.unwrap_or_default());
            addresses.map(move |address| ServiceEndpoint { address, ports: ports.clone() })
        })
    }
}

impl Page for SlicePage {
    fn next(&self) -> Option<String> {
        self.metadata.next()
    }
}
