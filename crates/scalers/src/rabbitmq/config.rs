//! A `rabbitmq` trigger made from its parameters.

use std::sync::Arc;
use std::time::Duration;

use kedge_wire::amqp::ShortText;

use super::broker_source::BrokerSource;
use super::broker_url::BrokerUrl;
use super::fields::{
    ACTIVATION_VALUE, EXCLUDE_UNACKNOWLEDGED, HOST, MODE, OPERATION, PAGE_SIZE, QUEUE_LENGTH, QUEUE_NAME, TIMEOUT,
    USE_REGEX, VALUE, VHOST_NAME,
};
use super::given::{Given, basic_header, parse_given, workload_identity};
use super::management::{self, Counted, Operation, Queues};
use super::management_source::{ManagementSource, SignIn};
use super::mode::Mode;
use super::spoken::{HOST_REMEDY, Spoken, need_http, parse_spoken};
use super::{RabbitScaler, Source};
use crate::amqp_session::{AmqpPeer, BrokerProtocol};
use crate::dial::Dial;
use crate::field::Field;
use crate::http::TlsProfile;
use crate::metadata::convert::{ConversionError, Converted};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::oauth::OAuthToken;
use crate::sessions::Session;
use crate::shared::Shared;
use crate::target::{External, TargetType};
use crate::trigger::{BuildError, FieldError, Role, TriggerConfig};

/// How many messages one replica is for, where a trigger says nothing.
const DEFAULT_LENGTH: f64 = 20.0;

pub(super) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<RabbitScaler, BuildError> {
    let mut read = Reader::new(trigger);
    let host = read.required(HOST, convert::text);
    let spoken = parse_spoken(&mut read, host.as_deref());
    let rule = parse_rule(&mut read, trigger, spoken);
    let activation = read.or_default(ACTIVATION_VALUE, convert::float);
    let queues = parse_queues(&mut read, spoken);
    let counted = parse_counted(&mut read, spoken);
    let timeout = read.optional(TIMEOUT, convert::duration);
    let vhost = read.optional(VHOST_NAME, convert::text);
    let given = parse_given(&mut read, spoken);
    let metric = parse_metric(&mut read, trigger, rule.map(|(_, target)| target));
    if spoken == Some(Spoken::Amqp) {
        refuse_timeout(&mut read, timeout);
    }
    let source = match (spoken, &host, queues) {
        (Some(Spoken::Amqp), Some(host), queues) => {
            let queue = queues.and_then(|queues| parse_short(&mut read, QUEUE_NAME, queue_name(&queues)));
            let limit = shared.http.settings().limit(None);
            let session = make_session(&mut read, shared, host, vhost, &given);
            session.zip(queue).map(|(session, queue)| Source::Broker(BrokerSource { session, queue, limit }))
        }
        (Some(Spoken::Http), Some(host), Some(queues)) => {
            let limit = shared.http.settings().limit(timeout);
            let asked = Asked { host, vhost: vhost.as_deref(), queues, counted, limit };
            make_management_source(&mut read, trigger, shared, asked, given).map(Box::new).map(Source::Management)
        }
        _ => None,
    };
    let made = (|| Some(RabbitScaler { metric: metric?, mode: rule?.0, activation, source: source? }))();
    read.finish(made)
}

/// The mode, and the value for one replica.
// KEDA: 0 is as good as nothing.
fn parse_rule(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>, spoken: Option<Spoken>) -> Option<(Mode, f64)> {
    let errors = read.error_count();
    let length = read.optional(QUEUE_LENGTH, convert::float).filter(|length| *length != 0.0);
    let value = read.optional(VALUE, convert::float).filter(|value| *value != 0.0);
    let mode = read.optional(MODE, parse_mode);
    if read.error_count() > errors {
        return None;
    }
    let (field, mode, target) = match (length, mode, value) {
        (None, None, None) => (VALUE, Mode::QueueLength, DEFAULT_LENGTH),
        (Some(length), None, None) => (QUEUE_LENGTH, Mode::QueueLength, length),
        (None, Some(mode), Some(value)) => (VALUE, mode, value),
        (Some(_), _, _) => {
            let remedy = "remove it, and keep `mode` and `value`";
            read.error(FieldError::new(QUEUE_LENGTH.name, "is deprecated, and `mode` or `value` is given too", remedy));
            return None;
        }
        (None, None, Some(_)) => {
            read.error(FieldError::new(MODE.name, "must be specified where `value` is", "write QueueLength, for one"));
            return None;
        }
        (None, Some(_), None) => {
            read.error(FieldError::new(
                VALUE.name,
                "must be specified where `mode` is",
                "write for how much one replica is",
            ));
            return None;
        }
    };
    if mode.needs_rates() {
        need_http(read, MODE, spoken, "asks for rates");
    }
    // KEDA renders it, and the API server rejects the HPA; an error here reaches the author sooner.
    if target < 0.0 && trigger.role == Role::Metric {
        read.error(FieldError::new(field.name, "is not above 0", "write for how much one replica is"));
        return None;
    }
    Some((mode, target))
}

fn parse_mode(text: &str) -> Converted<Mode> {
    let remedy = || format!("use {}", Mode::NAMES.join(", "));
    Mode::parse(text).ok_or_else(|| ConversionError::new("is not a mode", remedy()))
}

fn parse_metric(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>, target: Option<f64>) -> Option<External> {
    let target_type = read.take(TargetType::parse(trigger));
    let queue = management::escape_form(read.text(QUEUE_NAME).unwrap_or_default());
    let name = metric_name::full_name(trigger.index, &format!("rabbitmq-{queue}"));
    Some(External::float(name, target_type?, target?))
}

fn parse_queues(read: &mut Reader<'_>, spoken: Option<Spoken>) -> Option<Queues> {
    let name = read.required(QUEUE_NAME, convert::text);
    let uses_regex = read.or_default(USE_REGEX, convert::boolean);
    let page_size = read.or_default(PAGE_SIZE, parse_page_size);
    let operation = read.text(OPERATION).map(str::to_owned);
    if !uses_regex {
        return name.map(Queues::Named);
    }
    need_http(read, USE_REGEX, spoken, "is true");
    // KEDA: without a regular expression, nothing reads it.
    let operation = match operation {
        None => Some(Operation::Sum),
        Some(_) => read.optional(OPERATION, parse_operation),
    };
    Some(Queues::Matching { pattern: name?, page_size, operation: operation? })
}

fn parse_page_size(text: &str) -> Converted<i64> {
    match convert::integer(text)? {
        size @ 1.. => Ok(size),
        _ => Err(ConversionError::new("is below 1", "write how many queues may match")),
    }
}

fn parse_operation(text: &str) -> Converted<Operation> {
    let remedy = || format!("use {}", Operation::NAMES.join(", "));
    Operation::parse(text).ok_or_else(|| ConversionError::new("is not an operation", remedy()))
}

fn parse_counted(read: &mut Reader<'_>, spoken: Option<Spoken>) -> Counted {
    match read.or_default(EXCLUDE_UNACKNOWLEDGED, convert::boolean) {
        true => {
            need_http(read, EXCLUDE_UNACKNOWLEDGED, spoken, "is true");
            Counted::Ready
        }
        false => Counted::All,
    }
}

// KEDA: it is refused only where a mode and a value are given, and otherwise without effect.
fn refuse_timeout(read: &mut Reader<'_>, timeout: Option<Duration>) {
    let is_given = timeout.is_some_and(|timeout| !timeout.is_zero());
    if is_given && read.text(MODE).is_some() && read.text(VALUE).is_some() {
        read.error(FieldError::new(TIMEOUT.name, "is not supported over AMQP", "remove it, or use the management API"));
    }
}

fn queue_name(queues: &Queues) -> &str {
    match queues {
        Queues::Named(name) | Queues::Matching { pattern: name, .. } => name,
    }
}

fn parse_short(read: &mut Reader<'_>, field: Field, text: &str) -> Option<ShortText> {
    let short = ShortText::new(text).ok_or_else(|| {
        let problem = format!("is longer than {} bytes", ShortText::BYTES_MAX);
        FieldError::new(field.name, problem, "no broker has such a name; shorten it")
    });
    read.take(short)
}

fn make_session(
    read: &mut Reader<'_>,
    shared: &Shared,
    host: &str,
    vhost: Option<String>,
    given: &Given,
) -> Option<Arc<Session<BrokerProtocol>>> {
    let url = BrokerUrl::parse(host).map_err(|problem| FieldError::new(HOST.name, problem, HOST_REMEDY));
    let url = read.take(url)?;
    let vhost = parse_short(read, VHOST_NAME, vhost.as_ref().unwrap_or(&url.vhost))?;
    let (security, credentials) = (given.security(&url), given.credentials(&url));
    let tls = match &security {
        None => None,
        Some(profile) => Some(read.make(|| shared.http.tls(profile))?),
    };
    if !read.is_building() {
        return None;
    }
    let peer = AmqpPeer { server: url.server, security, vhost, credentials };
    let dial = Dial::new(shared.http.connector(), tls);
    Some(shared.amqp.session(peer, |peer| {
        let protocol = BrokerProtocol { vhost: peer.vhost.clone(), credentials: peer.credentials.clone() };
        Session::new(protocol, dial, peer.server.clone())
    }))
}

/// What the management API is asked.
struct Asked<'a> {
    host: &'a str,
    vhost: Option<&'a str>,
    queues: Queues,
    counted: Counted,
    limit: Duration,
}

fn make_management_source(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    asked: Asked<'_>,
    given: Given,
) -> Option<ManagementSource> {
    let Asked { host, vhost, queues, counted, limit } = asked;
    let address = management::address(host, vhost, &queues);
    let address = read.take(address.map_err(|problem| FieldError::new(HOST.name, problem, HOST_REMEDY)))?;
    let profile = match (given.is_tls_enabled, &given.oauth) {
        (true, _) => given.tls_profile(),
        // KEDA: with OAuth, unsafeSsl counts only together with `tls: enable`.
        (false, Some(_)) => TlsProfile::default(),
        (false, None) => TlsProfile { ca: None, identity: None, ..given.tls_profile() },
    };
    let client = read.make(|| shared.http.client(&profile))?;
    let sign_in = match (given.oauth, given.workload_resource) {
        (Some(oauth), _) => SignIn::OAuth(Arc::new(OAuthToken::new(oauth, Arc::clone(&client), limit))),
        (None, Some(resource)) => {
            let settings = shared.http.settings();
            let identity = workload_identity(trigger, shared, &resource);
            let server = address.uri.host().unwrap_or_default();
            let permitted = read.take(identity).and_then(|identity| {
                read.take(identity.permitted(&settings.outbound_policy, trigger.namespace, server))
            })?;
            SignIn::WorkloadIdentity(read.take(shared.signers.signer(&permitted, &shared.http))?)
        }
        (None, None) => SignIn::Basic(basic_header(given.user)),
    };
    Some(ManagementSource { client, address, queues, counted, sign_in, limit })
}
