//! The parameters of a `postgresql` trigger.

use std::sync::Arc;

use kedge_api::authentication::{PodIdentity, PodIdentityProvider};

use super::PostgresSource;
use super::connection_string::{self, Keywords};
use super::servers::{Candidate, Servers};
use super::settings::{self, ConnectionSettings, KeywordProblem};
use crate::dial::Dial;
use crate::field::{Field, Source};
use crate::host_port::HostPort;
use crate::identity::{CloudIdentity, azure};
use crate::metadata::convert::{ConversionError, Converted};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::OneMetric;
use crate::postgres_session::{Encryption, Login, Password, PostgresPeer, PostgresProtocol, WantedServer};
use crate::sessions::Session;
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, TriggerConfig};

const A_E: &[Source] = &[Source::Authentication, Source::Environment];
const A_M: &[Source] = &[Source::Authentication, Source::Metadata];

const NO_CONNECTION: &str = "`connection` is absent";

pub(super) const QUERY: Field = Field::required("query").help("The SQL query, which must give one number");
pub(super) const TARGET_QUERY_VALUE: Field =
    Field::required("targetQueryValue").help("The value for one replica; not required where a formula reads it");
pub(super) const ACTIVATION_TARGET_QUERY_VALUE: Field = Field::optional("activationTargetQueryValue")
    .default("0")
    .help("The trigger is active while the value is above this");
pub(super) const CONNECTION: Field = Field::authentication("connection")
    .sources(A_E)
    .is_secret()
    .help("The connection string: `keyword=value` pairs, or a URL as in `postgres://user:password@host:5432/db`");
pub(super) const HOST: Field = Field::optional("host")
    .sources(A_M)
    .required_if(NO_CONNECTION)
    .help("The host of the server; several are separated by commas, and tried in turn");
pub(super) const PORT: Field = Field::optional("port")
    .sources(A_M)
    .required_if(NO_CONNECTION)
    .help("The port, often 5432; or one for each host, separated by commas");
pub(super) const USER_NAME: Field =
    Field::optional("userName").sources(A_M).required_if(NO_CONNECTION).help("The user");
pub(super) const DB_NAME: Field =
    Field::optional("dbName").sources(A_M).required_if(NO_CONNECTION).help("The database");
pub(super) const SSLMODE: Field = Field::optional("sslmode")
    .sources(A_M)
    .required_if(NO_CONNECTION)
    .help("Whether TLS is used: `disable`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`");
pub(super) const PASSWORD: Field =
    Field::secret("password").sources(A_E).help("The password; has an effect only without `connection`");

/// What the tokens of Azure are for.
const AZURE_SCOPE: &str = "https://ossrdbms-aad.database.windows.net/.default";

pub(super) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<PostgresSource>, BuildError> {
    let mut read = Reader::new(trigger);
    let query = read.required(QUERY, text_without_zeros);
    let name = metric_name::full_name(trigger.index, "postgresql");
    let remedy = "write for how much one replica is, as in \"10\"";
    let metric = External::parse(&mut read, trigger, name, TARGET_QUERY_VALUE, remedy);
    let activation = read.or_default(ACTIVATION_TARGET_QUERY_VALUE, convert::float);
    let azure = trigger.pod_identity.filter(|identity| identity.provider == PodIdentityProvider::AzureWorkload);
    let settings = parse_settings(&mut read, azure.is_some());
    let password = settings.as_ref().and_then(|settings| match azure {
        Some(identity) => parse_identity(&mut read, trigger, shared, identity, settings),
        None => Some(settings.password.clone().map_or(Password::None, Password::Given)),
    });
    let limit = shared.http.settings().limit(None);
    let made = (|| {
        let (query, settings, password, metric) = (query?, settings?, password?, metric?);
        let servers = read.make(|| connect_later(trigger.namespace, settings, password, shared))?;
        Some(OneMetric { metric, activation, source: PostgresSource { query, servers, limit } })
    })();
    read.finish(made)
}

/// The settings of `connection`, or else of the single parameters.
// KEDA: with an identity of Azure, `connection` does not count.
fn parse_settings(read: &mut Reader<'_>, has_identity: bool) -> Option<ConnectionSettings> {
    let connection = read.text(CONNECTION).filter(|_| !has_identity);
    let parts = [HOST, PORT, USER_NAME, DB_NAME, SSLMODE].map(|part| read.text(part));
    let password = read.optional(PASSWORD, text_without_zeros);
    if let Some(connection) = connection {
        let problem = |problem: &str, remedy: &str| FieldError::new(CONNECTION.name, problem, remedy);
        let keywords = connection_string::parse(connection).map_err(|error| {
            problem(error, "write host=db.shop user=worker dbname=shop password='...', or a URL of postgres://")
        });
        let keywords = read.take(keywords)?;
        let explain = |KeywordProblem { keyword, problem: what, remedy }: KeywordProblem| {
            problem(&format!("has a `{keyword}` that {what}"), remedy)
        };
        return settings::read(&keywords)
            .map_err(|errors| errors.into_iter().for_each(|error| read.error(explain(error))))
            .ok();
    }
    let may_follow = !has_identity && read.may_be_resolved_later(CONNECTION);
    if parts.iter().all(Option::is_none) && !has_identity {
        if !may_follow {
            let problem = "is missing, and so are `host`, `port`, `userName`, `dbName` and `sslmode`";
            let remedy = "give the connection string in its TriggerAuthentication, or all of the others";
            read.error(FieldError::new(CONNECTION.name, problem, remedy));
        }
        return None;
    }
    let mut required = |field: Field| match may_follow {
        true => read.text(field).map(str::to_owned),
        false => read.required(field, text_without_zeros),
    };
    let [host, port, user, database, mode] = [HOST, PORT, USER_NAME, DB_NAME, SSLMODE].map(&mut required);
    let mut keywords: Keywords =
        [("host", host?), ("port", port?), ("user", user?), ("dbname", database?), ("sslmode", mode?)]
            .map(|(keyword, value)| (keyword.to_owned(), value))
            .into();
    keywords.extend(password.map(|password| ("password".to_owned(), password)));
    let explain = |error: KeywordProblem| FieldError::new(part_of(error.keyword), error.problem, error.remedy);
    settings::read(&keywords).map_err(|errors| errors.into_iter().for_each(|error| read.error(explain(error)))).ok()
}

/// A zero ends a text on the wire.
fn text_without_zeros(text: &str) -> Converted<String> {
    match text.contains('\0') {
        false => Ok(text.to_owned()),
        true => Err(ConversionError::new("has a zero byte", "leave that out")),
    }
}

/// The parameter that gives a keyword.
fn part_of(keyword: &'static str) -> &'static str {
    match keyword {
        "user" => USER_NAME.name,
        "dbname" => DB_NAME.name,
        same => same,
    }
}

fn parse_identity(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    shared: &Shared,
    identity: &PodIdentity,
    settings: &ConnectionSettings,
) -> Option<Password> {
    if settings.mode.attempts() != [Encryption::Always] {
        let problem = "does not require TLS, and a token of azure-workload is sent only with it";
        read.error(FieldError::new(SSLMODE.name, problem, "use verify-full"));
    }
    let identity =
        read.make(|| azure::parse(identity, &shared.http.settings().cloud_environment, AZURE_SCOPE.to_owned()));
    let mut identity = CloudIdentity::Azure(identity?);
    for server in &settings.hosts {
        let policy = &shared.http.settings().outbound_policy;
        identity = read.take(identity.permitted(policy, trigger.namespace, &server.host))?;
    }
    Some(Password::Token(identity))
}

/// The servers, in the order in which they are tried. Nothing is connected yet.
fn connect_later(
    namespace: &str,
    settings: ConnectionSettings,
    password: Password,
    shared: &Shared,
) -> Result<Servers, FieldError> {
    let ConnectionSettings { hosts, mode, tls, user, database, parameters, wanted, connect_limit, .. } = settings;
    let signer = match &password {
        Password::Token(identity) => Some(shared.signers.signer(identity, &shared.http)?),
        Password::None | Password::Given(_) => None,
    };
    let login = Arc::new(Login { user, database, password, parameters, tls, connect_limit });
    let session = |server: &HostPort, encryption: Encryption, wanted: WantedServer| {
        let (login, server) = (Arc::clone(&login), server.clone());
        let namespace = namespace.to_owned();
        let peer = Arc::new(PostgresPeer { server, encryption, wanted, login, namespace });
        shared.postgres.session(peer, |peer| {
            let protocol = PostgresProtocol::new(Arc::clone(peer), Arc::clone(&shared.http), signer.clone());
            Session::new(protocol, Dial::new(shared.http.connector(), None), peer.server.clone())
        })
    };
    // Any server will do where there is no standby.
    let wanted: &[WantedServer] = match wanted {
        WantedServer::PreferStandby => &[WantedServer::PreferStandby, WantedServer::Any],
        ref one => std::slice::from_ref(one),
    };
    let candidates = wanted.iter().flat_map(|wanted| hosts.iter().map(move |server| (server, *wanted)));
    let candidates = candidates.map(|(server, wanted)| Candidate {
        server: server.clone(),
        sessions: mode.attempts().iter().map(|encryption| session(server, *encryption, wanted)).collect(),
    });
    Ok(Servers::new(candidates.collect()))
}
