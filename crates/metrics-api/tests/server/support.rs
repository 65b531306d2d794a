//! What the tests are made of.

mod certificates;
mod client;
mod reviewer;
mod server;
mod source;

pub(crate) use certificates::{Ca, Issued, Purpose};
pub(crate) use client::{Caller, Client, Http, connect_tls};
pub(crate) use reviewer::TestReviewer;
pub(crate) use server::TestServer;
pub(crate) use source::TestSource;

/// The name that the server's certificate carries.
pub(crate) const SERVER_NAME: &str = "metrics.kedge.svc";

pub(crate) const RESOURCES: &str = "/apis/external.metrics.k8s.io/v1beta1";

/// The path of a metric of the ScaledObject `web` in the namespace `shop`.
pub(crate) fn metric(name: &str) -> String {
    format!("{RESOURCES}/namespaces/shop/{name}?labelSelector=scaledobject.keda.sh%2Fname%3Dweb")
}
