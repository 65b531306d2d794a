//! The parameters of a `nats-jetstream` trigger.

use super::leader::ConsumerReader;
use super::monitoring::{ConsumerName, MonitoringEndpoint};
use crate::field::{Field, Source};
use crate::http::TlsProfile;
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::OneMetric;
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, TriggerConfig};

const A_M: &[Source] = &[Source::Authentication, Source::Metadata];

pub(super) const ENDPOINT: Field = Field::required("natsServerMonitoringEndpoint")
    .sources(A_M)
    .help("The monitoring endpoint of a server as `host:port`, often with port 8222");
pub(super) const USE_HTTPS: Field =
    Field::optional("useHttps").default("false").help("`true`: asks the monitoring endpoint over TLS");
pub(super) const ACCOUNT: Field = Field::optional("account")
    .sources(A_M)
    .required_if("`accountID` is absent")
    .help("The name of the account; `$G` where the server has no accounts");
pub(super) const ACCOUNT_ID: Field = Field::optional("accountID")
    .sources(A_M)
    .default_of("`account`")
    .help("The id of the account, where it is not its name");
pub(super) const STREAM: Field = Field::required("stream").help("The stream");
pub(super) const CONSUMER: Field = Field::required("consumer").help("The consumer of the stream");
pub(super) const LAG_THRESHOLD: Field =
    Field::optional("lagThreshold").default("10").help("How many messages one replica is for");
pub(super) const ACTIVATION_LAG_THRESHOLD: Field = Field::optional("activationLagThreshold")
    .default("0")
    .help("The trigger is active while there are more messages than this");

pub(super) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<ConsumerReader>, BuildError> {
    let mut read = Reader::new(trigger);
    let name = parse_name(&mut read);
    let stream = read.text(STREAM).unwrap_or_default();
    let metric_name = metric_name::full_name(trigger.index, &format!("nats-jetstream-{stream}"));
    let metric = External::parse_whole(&mut read, trigger, metric_name, LAG_THRESHOLD);
    let activation = read.or_default(ACTIVATION_LAG_THRESHOLD, convert::integer);
    let https = read.or_default(USE_HTTPS, convert::boolean);
    let endpoint = read.required(ENDPOINT, |text| MonitoringEndpoint::parse(https, text));
    let limit = shared.http.settings().limit(None);
    let client = read.make(|| shared.http.client(&TlsProfile::default()));
    let made = (|| {
        let source = ConsumerReader::new(client?, endpoint?, name?, limit);
        Some(OneMetric { metric: metric?, activation: activation as f64, source })
    })();
    read.finish(made)
}

fn parse_name(read: &mut Reader<'_>) -> Option<ConsumerName> {
    let (stream, consumer) = (read.required(STREAM, convert::text), read.required(CONSUMER, convert::text));
    let (account, account_id) = (read.optional(ACCOUNT, convert::text), read.optional(ACCOUNT_ID, convert::text));
    if account.is_none() && account_id.is_none() && !read.may_be_resolved_later(ACCOUNT) {
        let remedy = "give one of them in the trigger's metadata or its TriggerAuthentication; `$G` is the account of servers without accounts";
        read.error(FieldError::new(ACCOUNT.name, "is missing, and so is `accountID`", remedy));
    }
    let account_id = account_id.or_else(|| account.clone())?;
    Some(ConsumerName { account, account_id, stream: stream?, consumer: consumer? })
}
