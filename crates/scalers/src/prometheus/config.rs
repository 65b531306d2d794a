//! What a `prometheus` trigger says, read and checked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;

use super::{identity, request};
use crate::auth::{self, Auth};
use crate::http::{Address, HttpClient, HttpClients, TlsProfile, Verification};
use crate::identity::Identity;
use crate::metadata::{Field, Reader, convert};
use crate::target::{LEAST_TARGET, TargetType};
use crate::trigger::{BuildError, Problem, Role, TriggerConfig};

/// A checked trigger.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) question: Question,
    pub(super) headers: http::HeaderMap,
    pub(super) threshold: f64,
    pub(super) activation: f64,
    pub(super) nothing: Nothing,
    pub(super) timeout: Option<Duration>,
    pub(super) client: Arc<HttpClient>,
    pub(super) identity: Option<Arc<Identity>>,
    pub(super) target_type: TargetType,
}

/// The parts of the URL. Users put credentials in all of them.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) server: String,
    pub(super) query: String,
    pub(super) namespace: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").finish_non_exhaustive()
    }
}

/// What an answer without a number means: `ignoreNullValues`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nothing {
    IsZero,
    IsAnError,
}

pub(super) fn parse(trigger: &TriggerConfig<'_>, clients: &HttpClients) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let question = parse_question(&mut read);
    let threshold = read.required(Field::metadata(&["threshold"]), convert::float);
    // KEDA: takes it, and then no HPA can be made. One that is stored can still wake its target.
    if !read.is_building()
        && trigger.role == Role::Metric
        && threshold.is_some_and(|threshold| threshold < LEAST_TARGET)
    {
        let problem = "is not above 0, and no HPA can have such a target";
        read.note(Problem::new("threshold", problem, "write how much one replica can take, as in \"100\""));
    }
    let activation = read.or(Field::metadata(&["activationThreshold"]), convert::float, 0.0);
    let ignore_nothing = read.or(Field::metadata(&["ignoreNullValues"]), convert::boolean, true);
    let timeout = read.optional(Field::metadata(&["timeout"]), convert::duration);
    let custom_headers = read.or(Field::metadata(&["customHeaders"]).hidden(), convert::map, Vec::new());
    let auth = auth::parse(&mut read);
    // Whom to be is for authentication and the operator's own environment to say.
    let persona =
        read.is_building().then(|| identity::parse(&mut read, trigger, auth.as_ref(), &clients.settings().ambient));
    let identity = persona.flatten().and_then(|persona| read.take(clients.identity(&persona)));
    let headers = read.take(request::headers(&custom_headers, auth.as_ref()));
    let profile = parse_tls(&mut read, auth);
    let client = read.make(|| clients.client(&profile));
    let target_type = read.take(TargetType::parse(trigger));
    let made = (|| {
        Some(Config {
            question: question?,
            headers: headers?,
            threshold: threshold?,
            activation,
            nothing: if ignore_nothing { Nothing::IsZero } else { Nothing::IsAnError },
            timeout,
            client: client?,
            identity,
            target_type: target_type?,
        })
    })();
    read.finish(made)
}

fn parse_question(read: &mut Reader<'_>) -> Option<Question> {
    let server = read.required(Field::metadata(&["serverAddress"]), convert::text);
    let query = read.required(Field::metadata(&["query"]), convert::text);
    let namespace = read.optional(Field::metadata(&["namespace"]), convert::text);
    let parameters = read.or(Field::metadata(&["queryParameters"]).hidden(), convert::map, Vec::new());
    let question = Question { server: server?, query: query.unwrap_or_default(), namespace, parameters };
    // Any moment will do: it is the rest of the URL that can be wrong.
    if let Err(problem) = Address::parse(&request::url(&question, DateTime::UNIX_EPOCH)) {
        let remedy = "write where Prometheus is, as in http://prometheus.monitoring:9090";
        read.note(Problem::new("serverAddress", problem, remedy));
    }
    Some(question)
}

pub(super) fn parse_tls(read: &mut Reader<'_>, auth: Option<Auth>) -> TlsProfile {
    let is_unsafe = read.or(Field::metadata(&["unsafeSsl"]), convert::boolean, false);
    match auth.and_then(|auth| auth.tls) {
        // KEDA: with a CA or a client certificate, unsafeSsl does not count.
        Some(tls) => TlsProfile { verification: Verification::Full, ca: tls.ca, identity: tls.identity },
        None if is_unsafe => TlsProfile { verification: Verification::Off, ..TlsProfile::default() },
        None => TlsProfile::default(),
    }
}
