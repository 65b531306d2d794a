//! The parameters of a `metrics-api` trigger, parsed.

use std::sync::Arc;

use super::location::{Format, Location};
use super::request::QueryRequest;
use super::service::{Aggregation, Service};
use crate::auth::{self, Auth};
use crate::field::{Field, FieldGroup};
use crate::http::{Address, HttpClient, HttpClients, TlsProfile, Verification};
use crate::metadata::Reader;
use crate::metadata::convert::{self, ConversionError, Converted};
use crate::metric_name;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};

pub(super) const FIELDS: FieldGroup = FieldGroup {
    title: "Parameters",
    fields: &[
        URL,
        VALUE_LOCATION,
        TARGET_VALUE,
        ACTIVATION_TARGET_VALUE,
        FORMAT,
        TIMEOUT,
        UNSAFE_SSL,
        AGGREGATE_ENDPOINTS,
        AGGREGATION_TYPE,
    ],
};

pub(super) const URL: Field = Field::required("url")
    .url()
    .may_contain_secret()
    .help("The URL that is queried with `GET`: `http://` or `https://`");
const VALUE_LOCATION: Field = Field::required("valueLocation").help("The path to the number in the answer");
const TARGET_VALUE: Field =
    Field::required("targetValue").help("The value for one replica, above 0; 0 counts as absent");
pub(super) const ACTIVATION_TARGET_VALUE: Field =
    Field::optional("activationTargetValue").default("0").help("The trigger is active while the value is above this");
const FORMAT: Field =
    Field::optional("format").default("json").help("The format of the answer: `json`, `yaml` or `prometheus`");
const TIMEOUT: Field = Field::optional("timeout")
    .default_of("the operator's `KEDA_HTTP_DEFAULT_TIMEOUT`")
    .help("The limit of one request");
const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: does not verify the server's certificate");
pub(super) const AGGREGATE_ENDPOINTS: Field = Field::optional("aggregateFromKubeServiceEndpoints")
    .default("false")
    .help("`true`: queries every pod behind the Service that `url` names");
const AGGREGATION_TYPE: Field = Field::optional("aggregationType")
    .default("average")
    .help("How the values of the pods are combined: `average`, `sum`, `max` or `min`");

/// The modes of authentication.
const AUTH_MODES: &[&str] = &["apiKey", "basic", "tls", "bearer"];

/// A checked trigger.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) query_request: QueryRequest,
    pub(super) location: Location,
    /// The Service whose pods are all queried, and how their values are combined.
    pub(super) service: Option<(Service, Aggregation)>,
    pub(super) activation: f64,
    pub(super) client: Arc<HttpClient>,
    pub(super) metric: External,
}

pub(super) fn parse(trigger: &TriggerConfig<'_>, clients: &HttpClients) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let address = read.required(URL, parse_address);
    let format = read.or_default(FORMAT, Format::parse);
    let location = read.required(VALUE_LOCATION, |text| Location::parse(format, text));
    let text = read.text(VALUE_LOCATION).unwrap_or_default();
    let name = metric_name::full_name(trigger.index, &format!("metric-api-{text}"));
    let metric = External::parse(&mut read, trigger, name, TARGET_VALUE, "write the value for one replica");
    let activation = read.or_default(ACTIVATION_TARGET_VALUE, convert::float);
    let timeout = read.optional(TIMEOUT, convert::duration);
    let service = parse_service(&mut read, address.as_ref());
    let auth = auth::parse(&mut read, AUTH_MODES);
    let query_request = address.and_then(|address| {
        let limit = clients.settings().limit(timeout);
        read.take(QueryRequest::new(address, auth.as_ref(), limit))
    });
    let profile = parse_tls(&mut read, auth);
    let client = read.make(|| clients.client(&profile));
    let made = (|| {
        Some(Config {
            query_request: query_request?,
            location: location?,
            service,
            activation,
            client: client?,
            metric: metric?,
        })
    })();
    read.finish(made)
}

fn parse_address(url: &str) -> Converted<Address> {
    Address::parse(url)
        .map_err(|problem| ConversionError::new(problem, "write a whole URL, as in http://api.shop:8080/queue"))
}

fn parse_service(read: &mut Reader<'_>, address: Option<&Address>) -> Option<(Service, Aggregation)> {
    let all = read.or_default(AGGREGATE_ENDPOINTS, convert::boolean);
    let aggregation = read.or_default(AGGREGATION_TYPE, Aggregation::parse);
    let address = address.filter(|_| all)?;
    let service = read.take(Service::from_address(address))?;
    Some((service, aggregation))
}

fn parse_tls(read: &mut Reader<'_>, auth: Option<Auth>) -> TlsProfile {
    let is_unsafe = read.or_default(UNSAFE_SSL, convert::boolean);
    let verification = if is_unsafe { Verification::Off } else { Verification::Full };
    // KEDA: unlike for prometheus, unsafeSsl counts beside a CA or a client certificate.
    match auth.and_then(|auth| auth.tls) {
        Some(tls) => TlsProfile { verification, ca: tls.ca, identity: tls.identity },
        None => TlsProfile { verification, ..TlsProfile::default() },
    }
}
