//! The parameters of a `mysql` trigger.

use super::MysqlQuery;
use super::dsn::Dsn;
use crate::dial::Dial;
use crate::field::{Field, Source};
use crate::host_port::{HostPort, bracketed};
use crate::http::TlsProfile;
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::mysql_session::{MysqlOptions, MysqlPeer, MysqlProtocol};
use crate::one_metric::OneMetric;
use crate::sessions::Session;
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, Secret, TriggerConfig};

const A_E: &[Source] = &[Source::Authentication, Source::Environment];
const M_A: &[Source] = &[Source::Metadata, Source::Authentication];
const M_A_E: &[Source] = &[Source::Metadata, Source::Authentication, Source::Environment];

pub(super) const QUERY: Field =
    Field::required("query").help("The query, which gives one column; its first row counts");
pub(super) const QUERY_VALUE: Field =
    Field::required("queryValue").help("How much of the number one replica is for, above 0");
pub(super) const ACTIVATION_QUERY_VALUE: Field =
    Field::optional("activationQueryValue").default("0").help("The trigger is active while the number is above this");
pub(super) const METRIC_NAME: Field =
    Field::optional("metricName").ignored().help("Has no effect: the metric is named after the database");
pub(super) const CONNECTION_STRING: Field = Field::secret("connectionString")
    .sources(A_E)
    .required_if("`host` and `port` are absent")
    .help("Server, user, password, database and options as `user:password@tcp(host:port)/database?tls=true`; the other parameters of the server then have no effect");
pub(super) const HOST: Field =
    Field::optional("host").sources(M_A).required_if("`connectionString` is absent").help("The host of the server");
pub(super) const PORT: Field =
    Field::optional("port").sources(M_A).required_if("`connectionString` is absent").help("Its port, often 3306");
pub(super) const DATABASE: Field =
    Field::optional("dbName").sources(M_A).help("The database, part of the name of the metric");
pub(super) const USERNAME: Field = Field::optional("username").sources(M_A_E).help("The user");
pub(super) const PASSWORD: Field =
    Field::secret("password").sources(A_E).help("The password; has an effect only with `username`");

pub(super) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<MysqlQuery>, BuildError> {
    let mut read = Reader::new(trigger);
    let query = read.required(QUERY, convert::text);
    let dsn = parse_server(&mut read);
    let name = format!("mysql-{}", parse_name(&read));
    let metric = parse_metric(&mut read, trigger, metric_name::full_name(trigger.index, &name));
    let activation = read.or_default(ACTIVATION_QUERY_VALUE, convert::float);
    let verification = dsn.as_ref().and_then(|dsn| dsn.peer.options.tls).map(|tls| tls.verification);
    let profile = verification.map(|verification| TlsProfile { verification, ..TlsProfile::default() });
    let tls = match profile {
        None => Some(None),
        Some(profile) => read.make(|| shared.http.tls(&profile)).map(Some),
    };
    let limit = shared.http.settings().limit(None);
    let made = (|| {
        let (dsn, tls, connector) = (dsn?, tls?, shared.http.connector());
        let session = shared.mysql.session((trigger.namespace.to_owned(), dsn.peer), |(_, peer)| {
            let (plain, upgrade) = (Dial::new(connector.clone(), None), Dial::new(connector, tls));
            Session::new(MysqlProtocol { peer: peer.clone(), upgrade }, plain, peer.server.clone())
        });
        // Whatever the connection string asks for, a reading has the usual time at least.
        let source = MysqlQuery { session, query: query?, limit: limit.max(dsn.limit) };
        Some(OneMetric { metric: metric?, activation, source })
    })();
    read.finish(made)
}

// KEDA: the target is required even where only a formula reads the metric; there it may be 0.
fn parse_metric(read: &mut Reader<'_>, trigger: &TriggerConfig<'_>, name: String) -> Option<External> {
    if read.text(QUERY_VALUE).is_none() {
        read.required(QUERY_VALUE, convert::float);
        return None;
    }
    External::parse(read, trigger, name, QUERY_VALUE, "write how much of the number one replica is for")
}

/// What the metric is named after.
// KEDA: of a connection string, all that follows the last `/`, with the options.
fn parse_name<'a>(read: &Reader<'a>) -> &'a str {
    match read.text(CONNECTION_STRING) {
        Some(text) => text.rsplit_once('/').map_or("", |(_, name)| name),
        None => read.text(DATABASE).unwrap_or_default(),
    }
}

fn parse_server(read: &mut Reader<'_>) -> Option<Dsn> {
    if read.text(CONNECTION_STRING).is_some() {
        return read.optional(CONNECTION_STRING, Dsn::parse);
    }
    let server = parse_host_and_port(read);
    let username = read.text(USERNAME).unwrap_or_default();
    // KEDA: without a user, no password is sent.
    let password = read.text(PASSWORD).filter(|_| !username.is_empty()).unwrap_or_default();
    let database = read.text(DATABASE).unwrap_or_default();
    let peer = MysqlPeer {
        server: server?,
        username: username.to_owned(),
        password: Secret::new(password),
        database: database.to_owned(),
        options: MysqlOptions::default(),
    };
    Some(Dsn { peer, limit: std::time::Duration::ZERO })
}

fn parse_host_and_port(read: &mut Reader<'_>) -> Option<HostPort> {
    let (host, port) = (read.text(HOST), read.text(PORT));
    let (Some(host), Some(port)) = (host, port) else {
        if !read.may_be_resolved_later(CONNECTION_STRING) {
            let (field, problem) = match (host, port) {
                (None, None) => (CONNECTION_STRING, "is missing, and so are `host` and `port`"),
                (None, Some(_)) => (HOST, "is missing"),
                (Some(_), _) => (PORT, "is missing"),
            };
            if !read.may_be_resolved_later(field) {
                let remedy = "give `host` and `port`, or `connectionString` in its TriggerAuthentication";
                read.error(FieldError::new(field.name, problem, remedy));
            }
        }
        return None;
    };
    let parsed = HostPort::new(&bracketed(host), port);
    let remedy = "give a host name or an IP address, and a number";
    read.take(parsed.map_err(|problem| FieldError::new(HOST.name, format!("and `port` together {problem}"), remedy)))
}
