//! The parameters of a `prometheus` trigger, parsed.

use std::sync::Arc;
use std::time::Duration;

use super::identity;
use super::request::{self, QueryParts, QueryRequest};
use crate::auth::{self, Auth};
use crate::field::{Field, FieldGroup};
use crate::http::{HttpClient, TlsProfile, Verification};
use crate::identity::Signer;
use crate::metadata::{Reader, convert};
use crate::oauth::OAuthToken;
use crate::shared::Shared;
use crate::target::{LEAST_TARGET, TargetType};
use crate::trigger::{BuildError, FieldError, Role, TriggerConfig};

pub(super) const FIELDS: FieldGroup = FieldGroup {
    title: "Parameters",
    fields: &[
        SERVER_ADDRESS,
        QUERY,
        THRESHOLD,
        ACTIVATION_THRESHOLD,
        NAMESPACE,
        QUERY_PARAMETERS,
        CUSTOM_HEADERS,
        IGNORE_NULL_VALUES,
        TIMEOUT,
        UNSAFE_SSL,
    ],
};

const SERVER_ADDRESS: Field =
    Field::required("serverAddress").url().may_contain_secret().help("The URL of Prometheus: `http://` or `https://`");
const QUERY: Field = Field::required("query").help("The PromQL query, which must return one element");
const THRESHOLD: Field = Field::required("threshold").help("The value for one replica");
pub(super) const ACTIVATION_THRESHOLD: Field =
    Field::optional("activationThreshold").default("0").help("The trigger is active while the value is above this");
const NAMESPACE: Field = Field::optional("namespace").help("The `namespace` parameter of the request");
const QUERY_PARAMETERS: Field =
    Field::optional("queryParameters").may_contain_secret().help("More parameters of the request: `name=value,…`");
const CUSTOM_HEADERS: Field =
    Field::optional("customHeaders").may_contain_secret().help("Headers of the request: `name=value,…`");
const IGNORE_NULL_VALUES: Field = Field::optional("ignoreNullValues")
    .default("true")
    .help("`true`: an answer without a value counts as 0; `false`: it is an error");
const TIMEOUT: Field = Field::optional("timeout")
    .default_of("the operator's `KEDA_HTTP_DEFAULT_TIMEOUT`")
    .help("The limit of one request");
const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: does not verify the server's certificate");

/// What to do about a `serverAddress` that cannot be used.
pub(super) const REMEDY: &str = "write where Prometheus is, as in http://prometheus.monitoring:9090";

/// A checked trigger.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) query_request: QueryRequest,
    pub(super) headers: http::HeaderMap,
    pub(super) threshold: f64,
    pub(super) activation: f64,
    pub(super) empty_result: EmptyResult,
    pub(super) timeout: Option<Duration>,
    pub(super) client: Arc<HttpClient>,
    pub(super) signer: Option<Arc<Signer>>,
    pub(super) oauth: Option<Arc<OAuthToken>>,
    pub(super) target_type: TargetType,
}

/// What a response without a number means: `ignoreNullValues`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyResult {
    IsZero,
    IsAnError,
}

pub(super) fn parse(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let query_request = parse_query_request(&mut read);
    let threshold = read.required(THRESHOLD, convert::float);
    // KEDA: takes it, and then no HPA can be made. One that is stored can still wake its target.
    if !read.is_building()
        && trigger.role == Role::Metric
        && threshold.is_some_and(|threshold| threshold < LEAST_TARGET)
    {
        let problem = "is not above 0, and no HPA can have such a target";
        read.error(FieldError::new("threshold", problem, "write how much one replica can take, as in \"100\""));
    }
    let activation = read.or_default(ACTIVATION_THRESHOLD, convert::float);
    let ignore_null_values = read.or_default(IGNORE_NULL_VALUES, convert::boolean);
    let timeout = read.optional(TIMEOUT, convert::duration);
    let custom_headers = read.optional(CUSTOM_HEADERS, convert::map).unwrap_or_default();
    let auth = auth::parse(&mut read, auth::MODES);
    // The identity depends on authentication and on the operator's own environment, which a check does not know.
    let identity = read
        .is_building()
        .then(|| identity::parse(&mut read, trigger, auth.as_ref(), &shared.http.settings().cloud_environment));
    let host = query_request.as_ref().and_then(|request| request.address().uri.host()).unwrap_or_default();
    let policy = &shared.http.settings().outbound_policy;
    let identity =
        identity.flatten().and_then(|identity| read.take(identity.permitted(policy, trigger.namespace, host)));
    let signer = identity.and_then(|identity| read.take(shared.signers.signer(&identity, &shared.http)));
    let headers = read.take(request::headers(&custom_headers, auth.as_ref()));
    let oauth = auth.as_ref().and_then(|auth| auth.oauth.clone());
    let profile = parse_tls(&mut read, auth);
    let client = read.make(|| shared.http.client(&profile));
    let limit = shared.http.settings().limit(timeout);
    let oauth = oauth.zip(client.clone()).map(|(oauth, client)| Arc::new(OAuthToken::new(oauth, client, limit)));
    let target_type = read.take(TargetType::parse(trigger));
    let made = (|| {
        Some(Config {
            query_request: query_request?,
            headers: headers?,
            threshold: threshold?,
            activation,
            empty_result: if ignore_null_values { EmptyResult::IsZero } else { EmptyResult::IsAnError },
            timeout,
            client: client?,
            signer,
            oauth,
            target_type: target_type?,
        })
    })();
    read.finish(made)
}

fn parse_query_request(read: &mut Reader<'_>) -> Option<QueryRequest> {
    let server = read.required(SERVER_ADDRESS, convert::text);
    let query = read.required(QUERY, convert::text);
    let namespace = read.optional(NAMESPACE, convert::text);
    let parameters = read.optional(QUERY_PARAMETERS, convert::map).unwrap_or_default();
    let parts = QueryParts { server: server?, query: query.unwrap_or_default(), namespace, parameters };
    read.take(QueryRequest::new(&parts).map_err(|problem| FieldError::new("serverAddress", problem, REMEDY)))
}

pub(super) fn parse_tls(read: &mut Reader<'_>, auth: Option<Auth>) -> TlsProfile {
    let is_unsafe = read.or_default(UNSAFE_SSL, convert::boolean);
    match auth.and_then(|auth| auth.tls) {
        // KEDA: with a CA or a client certificate, unsafeSsl does not count.
        Some(tls) => TlsProfile { verification: Verification::Full, ca: tls.ca, identity: tls.identity },
        None if is_unsafe => TlsProfile { verification: Verification::Off, ..TlsProfile::default() },
        None => TlsProfile::default(),
    }
}
