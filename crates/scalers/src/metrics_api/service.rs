//! All pods behind a Service instead of one of them: the Service that a URL names, the URL of each pod, and the aggregation
//! of their values.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use http::uri::Scheme;
use kedge_core::object_name::is_dns_label;

use crate::cluster::{ENDPOINTS, ServiceEndpoint};
use crate::error::ReadError;
use crate::http::Address;
use crate::metadata::convert::{self, Converted};
use crate::trigger::FieldError;

/// A Service of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) namespace: String,
}

impl Service {
    /// The Service that a URL names: `<service>.<namespace>`, and whatever follows.
    pub(super) fn from_address(address: &Address) -> Result<Self, FieldError> {
        let error = || {
            let problem = "does not name a Service, which aggregateFromKubeServiceEndpoints needs";
            FieldError::new("url", problem, "write its host as SERVICE.NAMESPACE or SERVICE.NAMESPACE.svc")
        };
        let mut labels = address.uri.host().unwrap_or_default().split('.');
        let mut label = || labels.next().filter(|label| is_dns_label(label)).map(str::to_owned);
        let (name, namespace) = (label(), label());
        Ok(Self { name: name.ok_or_else(error)?, namespace: namespace.ok_or_else(error)? })
    }

    pub(super) fn without_endpoints(&self) -> ReadError {
        let problem = format!("Service {} in namespace {} has none that is ready", self.name, self.namespace);
        ReadError::Cluster { what: ENDPOINTS, problem }
    }
}

/// The URL of each pod, once: as the given one, without its query.
pub(super) fn addresses(url: &Address, endpoints: &[ServiceEndpoint]) -> Vec<Address> {
    let mut seen = HashSet::new();
    let new = endpoints.iter().filter(|endpoint| seen.insert(endpoint.address.as_str()));
    new.filter_map(|endpoint| address(url, endpoint)).collect()
}

fn address(url: &Address, endpoint: &ServiceEndpoint) -> Option<Address> {
    let scheme = url.uri.scheme()?;
    let port = url.uri.port_u16().unwrap_or(if *scheme == Scheme::HTTPS { 443 } else { 80 });
    // KEDA: a port that pods do not have is left out, and the scheme's own is used.
    let port = if endpoint.ports.contains(&port) { format!(":{port}") } else { String::new() };
    let host = match endpoint.address.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => endpoint.address.clone(),
    };
    Address::parse(&format!("{scheme}://{host}{port}{}", url.uri.path())).ok()
}

/// How several values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    Average,
    Sum,
    Max,
    Min,
}

impl Aggregation {
    pub(super) fn parse(text: &str) -> Converted<Self> {
        convert::one_of(text, &["average", "sum", "max", "min"]).map(|name| match name {
            "sum" => Self::Sum,
            "max" => Self::Max,
            "min" => Self::Min,
            _ => Self::Average,
        })
    }

    /// One number, unless there is none.
    pub(super) fn combine(self, values: &[f64]) -> Option<f64> {
        let sum = || values.iter().sum::<f64>();
        match self {
            _ if values.is_empty() => None,
            Self::Average => Some(sum() / values.len() as f64),
            Self::Sum => Some(sum()),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Min => values.iter().copied().reduce(f64::min),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn a_url_names_a_service_or_is_invalid() {
        let rows = [
            ("http://web.shop/x", Some(("web", "shop"))),
            ("http://web.shop.svc.cluster.local:8080/x?y=1", Some(("web", "shop"))),
            ("http://web/x", None),
            ("http://web./x", None),
            ("http://web.shop,a=b/x", None),
            ("http://web.$shop/x", None),
            ("http://[::1]/x", None),
        ];
        for (text, expected) in rows {
            let service = Service::from_address(&url(text)).ok();
            let found = service.as_ref().map(|service| (service.name.as_str(), service.namespace.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn every_pod_has_its_own_url() {
        let endpoint =
            |address: &str, ports: &[u16]| ServiceEndpoint { address: address.to_owned(), ports: ports.to_vec() };
        let endpoints = [
            endpoint("10.0.0.1", &[8080, 9090]),
            endpoint("10.0.0.2", &[9090]),
            endpoint("10.0.0.1", &[8080]),
            endpoint("fd00::1", &[8080, 80]),
            endpoint("no host", &[]),
        ];
        let urls = |text: &str| -> Vec<_> {
            addresses(&url(text), &endpoints).iter().map(|address| address.uri.to_string()).collect()
        };
        assert_eq!(
            urls("http://web.shop:8080/a/b?c=d"),
            ["http://10.0.0.1:8080/a/b", "http://10.0.0.2/a/b", "http://[fd00::1]:8080/a/b"]
        );
        assert_eq!(urls("https://web.shop"), ["https://10.0.0.1/", "https://10.0.0.2/", "https://[fd00::1]/"]);
        assert_eq!(urls("http://web.shop")[2], "http://[fd00::1]:80/");
    }

    #[test]
    fn many_numbers_become_one() {
        let rows = [("average", 2.5), ("sum", 10.0), ("max", 7.0), ("min", -1.0)];
        for (name, expected) in rows {
            let aggregation = Aggregation::parse(name).unwrap();
            assert_eq!(aggregation.combine(&[7.0, -1.0, 3.0, 1.0]), Some(expected), "{name}");
            assert_eq!(aggregation.combine(&[]), None, "{name}: nothing is not zero");
        }
        assert!(Aggregation::parse("median").is_err());
    }
}
