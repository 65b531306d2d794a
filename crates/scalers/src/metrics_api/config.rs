//! What a `metrics-api` trigger says, read and checked.

use std::sync::Arc;

use super::location::{Format, Location};
use super::request::Question;
use super::service::{Aggregation, Service};
use crate::auth::{self, Auth};
use crate::http::{Address, HttpClient, HttpClients, TlsProfile, Verification};
use crate::metadata::convert::{self, Converted, Flaw};
use crate::metadata::{Field, Reader};
use crate::metric_name;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};

/// A checked trigger.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) question: Question,
    pub(super) location: Location,
    /// The Service whose pods are all asked, and what is made of their answers.
    pub(super) service: Option<(Service, Aggregation)>,
    pub(super) activation: f64,
    pub(super) client: Arc<HttpClient>,
    pub(super) metric: External,
}

pub(super) fn parse(trigger: &TriggerConfig<'_>, clients: &HttpClients) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let address = read.required(Field::metadata(&["url"]).hidden(), parse_address);
    let format = read.or(Field::metadata(&["format"]), Format::parse, Format::Json);
    let location = read.required(Field::metadata(&["valueLocation"]), |text| Location::parse(format, text));
    let text = read.text(Field::metadata(&["valueLocation"])).unwrap_or_default();
    let name = metric_name::full_name(trigger.index, &format!("metric-api-{text}"));
    let target = Field::metadata(&["targetValue"]);
    let metric = External::parse(&mut read, trigger, name, target, "write the value for one replica");
    let activation = read.or(Field::metadata(&["activationTargetValue"]), convert::float, 0.0);
    let timeout = read.optional(Field::metadata(&["timeout"]), convert::duration);
    let service = parse_service(&mut read, address.as_ref());
    let auth = auth::parse(&mut read);
    let question = address.and_then(|address| {
        let limit = clients.settings().limit(timeout);
        read.take(Question::new(address, auth.as_ref(), limit))
    });
    let profile = parse_tls(&mut read, auth);
    let client = read.make(|| clients.client(&profile));
    let made = (|| {
        Some(Config { question: question?, location: location?, service, activation, client: client?, metric: metric? })
    })();
    read.finish(made)
}

fn parse_address(url: &str) -> Converted<Address> {
    Address::parse(url).map_err(|problem| Flaw::new(problem, "write a whole URL, as in http://api.shop:8080/queue"))
}

fn parse_service(read: &mut Reader<'_>, address: Option<&Address>) -> Option<(Service, Aggregation)> {
    let all = read.or(Field::metadata(&["aggregateFromKubeServiceEndpoints"]), convert::boolean, false);
    let aggregation = read.or(Field::metadata(&["aggregationType"]), Aggregation::parse, Aggregation::Average);
    let address = address.filter(|_| all)?;
    let service = read.take(Service::of(address))?;
    Some((service, aggregation))
}

fn parse_tls(read: &mut Reader<'_>, auth: Option<Auth>) -> TlsProfile {
    let is_unsafe = read.or(Field::metadata(&["unsafeSsl"]), convert::boolean, false);
    let verification = if is_unsafe { Verification::Off } else { Verification::Full };
    // KEDA: unlike for prometheus, unsafeSsl counts beside a CA or a client certificate.
    match auth.and_then(|auth| auth.tls) {
        Some(tls) => TlsProfile { verification, ca: tls.ca, identity: tls.identity },
        None => TlsProfile { verification, ..TlsProfile::default() },
    }
}
