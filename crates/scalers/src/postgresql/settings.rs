//! What the keywords of a connection mean: who signs in where, and how. The names are those of libpq.

use std::path::PathBuf;
use std::time::Duration;

use kedge_core::secret::Secret;

use super::connection_string::Keywords;
use crate::host_port::{HostPort, bracketed};
use crate::http::Verification;
use crate::postgres_session::{Encryption, TlsRules, WantedServer};

/// Everything that a connection needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectionSettings {
    pub(super) hosts: Vec<HostPort>,
    pub(super) mode: SslMode,
    pub(super) tls: TlsRules,
    pub(super) user: String,
    pub(super) database: Option<String>,
    pub(super) password: Option<Secret>,
    /// Settings of the session, which the server gets at the start.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) wanted: WantedServer,
    pub(super) connect_limit: Option<Duration>,
}

/// A keyword that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeywordProblem {
    pub(super) keyword: &'static str,
    pub(super) problem: &'static str,
    pub(super) remedy: &'static str,
}

/// Whether TLS is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
}

impl SslMode {
    /// The ways to connect to a server, in the order in which they are tried.
    pub(super) fn attempts(self) -> &'static [Encryption] {
        match self {
            Self::Disable => &[Encryption::None],
            Self::Allow => &[Encryption::None, Encryption::Always],
            Self::Prefer => &[Encryption::IfOffered, Encryption::None],
            Self::Require => &[Encryption::Always],
        }
    }
}

const DEFAULT_PORT: &str = "5432";

/// Keywords that are read here, or have no effect; all others are settings of the session.
const OWN: &[&str] = &[
    "host",
    "port",
    "dbname",
    "user",
    "password",
    "connect_timeout",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    // Of Kerberos: it is not offered, and so never used.
    "krbspn",
    "krbsrvname",
];

/// Keywords with one value that is what Kedge does anyway. Any other cannot be had.
const FIXED: &[(&str, &[&str], &str, &str)] = &[
    ("sslnegotiation", &["postgres"], "is not supported", "leave it out: TLS begins after a request for it"),
    ("sslsni", &["1"], "is not supported", "leave it out"),
    ("channel_binding", &["prefer", "disable"], "is not supported", "leave it out"),
    ("require_auth", &[], "is not supported", "leave it out, and let pg_hba.conf have scram-sha-256"),
    ("min_protocol_version", &["3.0"], "is a version that Kedge does not speak", "leave it out"),
    ("max_protocol_version", &["3.0", "3.2", "latest"], "is not a version of the protocol", "leave it out"),
    ("sslcert", &[], "names a file of the operator, which is no identity of a trigger", "use a password"),
    ("sslkey", &[], "names a file of the operator, which is no identity of a trigger", "use a password"),
    ("sslpassword", &[], "is for a client certificate, which a trigger cannot have", "use a password"),
    ("service", &[], "names an entry of a file that the operator does not read", "give what the entry has"),
    ("servicefile", &[], "names a file that the operator does not read", "give what the file has"),
    ("passfile", &[], "names a file that the operator does not read", "give the password"),
];

/// Checks all keywords.
pub(super) fn read(keywords: &Keywords) -> Result<ConnectionSettings, Vec<KeywordProblem>> {
    let mut problems = Vec::new();
    let mut check = |keyword, outcome: Result<(), (&'static str, &'static str)>| {
        problems.extend(outcome.err().map(|(problem, remedy)| KeywordProblem { keyword, problem, remedy }));
    };
    let text = |keyword: &str| keywords.get(keyword).map(String::as_str).filter(|value| !value.is_empty());
    for &(keyword, accepted, problem, remedy) in FIXED {
        let is_refused = text(keyword).is_some_and(|value| !accepted.contains(&value));
        check(keyword, if is_refused { Err((problem, remedy)) } else { Ok(()) });
    }
    let hosts = read_hosts(text("host").unwrap_or_default(), text("port").unwrap_or_default());
    let hosts = hosts.map_err(|(keyword, problem, remedy)| check(keyword, Err((problem, remedy))));
    let security = read_security(text("sslmode"), text("sslrootcert"));
    let security = security.map_err(|problem| check("sslmode", Err(problem)));
    let wanted = read_wanted(text("target_session_attrs"));
    let wanted = wanted.map_err(|problem| check("target_session_attrs", Err(problem)));
    let connect_limit = read_connect_limit(text("connect_timeout"));
    let connect_limit = connect_limit.map_err(|problem| check("connect_timeout", Err(problem)));
    let user = text("user").ok_or(("is missing", "give the user who signs in"));
    let user = user.map_err(|problem| check("user", Err(problem)));
    let is_session_setting = |keyword: &str| !OWN.contains(&keyword) && FIXED.iter().all(|fixed| fixed.0 != keyword);
    let parameters = keywords.iter().filter(|(keyword, _)| is_session_setting(keyword));
    let parameters = parameters.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
    match (hosts, security, user, wanted, connect_limit) {
        (Ok(hosts), Ok((mode, tls)), Ok(user), Ok(wanted), Ok(connect_limit)) if problems.is_empty() => {
            Ok(ConnectionSettings {
                hosts,
                mode,
                tls,
                user: user.to_owned(),
                database: text("dbname").map(str::to_owned),
                password: text("password").map(Secret::new),
                parameters,
                wanted,
                connect_limit,
            })
        }
        _ => Err(problems),
    }
}

type HostProblem = (&'static str, &'static str, &'static str);

// libpq: one port is for all hosts, and an empty one is the default.
fn read_hosts(hosts: &str, ports: &str) -> Result<Vec<HostPort>, HostProblem> {
    let (hosts, ports): (Vec<_>, Vec<_>) = (hosts.split(',').collect(), ports.split(',').collect());
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(("port", "has another number of entries than `host`", "give one port, or one for each host"));
    }
    let each = hosts.iter().enumerate().map(|(position, host)| {
        let port = ports.get(position).or(ports.first()).copied().unwrap_or_default().trim();
        read_host(host.trim(), if port.is_empty() { DEFAULT_PORT } else { port })
    });
    each.collect()
}

fn read_host(host: &str, port: &str) -> Result<HostPort, HostProblem> {
    let give_host = "give the name or the address of a server, as in postgresql.shop";
    if host.is_empty() {
        return Err(("host", "is missing, or has an empty entry", give_host));
    }
    if host.starts_with(['/', '@']) {
        return Err((
            "host",
            "is the folder of a Unix socket, and the server is not on the operator's machine",
            give_host,
        ));
    }
    if port.parse::<u16>().ok().filter(|port| *port > 0).is_none() {
        return Err(("port", "is not a port", "give a number from 1 to 65535"));
    }
    HostPort::new(&bracketed(host), port).map_err(|_| ("host", "is not a host", give_host))
}

type Problem = (&'static str, &'static str);

// libpq: `require` with CAs verifies as `verify-ca` does, and the CAs of the system come with `verify-full`.
fn read_security(mode: Option<&str>, ca: Option<&str>) -> Result<(SslMode, TlsRules), Problem> {
    let (ca_file, is_system) = (ca.filter(|ca| *ca != "system").map(PathBuf::from), ca == Some("system"));
    let full = if ca_file.is_some() { Verification::OnlyGivenCas } else { Verification::Full };
    let (mode, verification) = match mode.unwrap_or("prefer") {
        mode if is_system && SSL_MODES.contains(&mode) => (SslMode::Require, full),
        "disable" => (SslMode::Disable, Verification::Off),
        "allow" => (SslMode::Allow, Verification::Off),
        "prefer" => (SslMode::Prefer, Verification::Off),
        "require" if ca_file.is_none() => (SslMode::Require, Verification::Off),
        "require" | "verify-ca" => (SslMode::Require, Verification::AnyName),
        "verify-full" => (SslMode::Require, full),
        _ => {
            return Err((
                "is not among the allowed values",
                "use disable, allow, prefer, require, verify-ca or verify-full",
            ));
        }
    };
    let ca_file = ca_file.filter(|_| verification != Verification::Off);
    Ok((mode, TlsRules { verification, ca_file }))
}

const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

fn read_wanted(text: Option<&str>) -> Result<WantedServer, Problem> {
    match text.unwrap_or("any") {
        "any" => Ok(WantedServer::Any),
        "read-write" => Ok(WantedServer::ReadWrite),
        "read-only" => Ok(WantedServer::ReadOnly),
        "primary" => Ok(WantedServer::Primary),
        "standby" => Ok(WantedServer::Standby),
        "prefer-standby" => Ok(WantedServer::PreferStandby),
        _ => Err((
            "is not among the allowed values",
            "use any, read-write, read-only, primary, standby or prefer-standby",
        )),
    }
}

// pgx: 0 is no limit.
fn read_connect_limit(text: Option<&str>) -> Result<Option<Duration>, Problem> {
    match text.map(str::parse::<u32>) {
        None | Some(Ok(0)) => Ok(None),
        Some(Ok(seconds)) => Ok(Some(Duration::from_secs(seconds.into()))),
        Some(Err(_)) => Err(("is not a number of seconds", "write a whole number, as in 10")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection_string;
    use super::*;

    fn settings(text: &str) -> Result<ConnectionSettings, Vec<KeywordProblem>> {
        read(&connection_string::parse(text).unwrap())
    }

    #[test]
    fn hosts_and_ports_go_together() {
        let rows: [(&str, Result<&[&str], &str>); 15] = [
            ("host=a", Ok(&["a:5432"])),
            ("host=a port=1", Ok(&["a:1"])),
            ("host=a,b port=1,2", Ok(&["a:1", "b:2"])),
            ("host=a,b port=1", Ok(&["a:1", "b:1"])),
            ("host=a,b port=,2", Ok(&["a:5432", "b:2"])),
            ("host=::1", Ok(&["[::1]:5432"])),
            ("host=10.0.0.1,[::1]", Ok(&["10.0.0.1:5432", "[::1]:5432"])),
            ("port=1", Err("host")),
            ("host=a,,b", Err("host")),
            ("host=/var/run/postgresql", Err("host")),
            ("host=@socket", Err("host")),
            ("host=u@h", Err("host")),
            ("host=a port=x", Err("port")),
            ("host=a port=0", Err("port")),
            ("host=a,b port=1,2,3", Err("port")),
        ];
        for (text, expected) in rows {
            let read = settings(&format!("{text} user=u"));
            let hosts = read.map(|settings| settings.hosts.iter().map(ToString::to_string).collect::<Vec<_>>());
            let expected = expected.map(|hosts| hosts.iter().map(|host| (*host).to_owned()).collect());
            assert_eq!(hosts.map_err(|problems| problems[0].keyword), expected, "{text}");
        }
    }

    #[test]
    fn modes_are_those_of_libpq() {
        use Verification::{AnyName, Full, Off, OnlyGivenCas};
        let rows = [
            ("", SslMode::Prefer, Off, None),
            ("sslmode=", SslMode::Prefer, Off, None),
            ("sslmode=disable", SslMode::Disable, Off, None),
            ("sslmode=allow sslrootcert=/ca", SslMode::Allow, Off, None),
            ("sslmode=require", SslMode::Require, Off, None),
            ("sslmode=require sslrootcert=/ca", SslMode::Require, AnyName, Some("/ca")),
            ("sslmode=verify-ca", SslMode::Require, AnyName, None),
            ("sslmode=verify-ca sslrootcert=/ca", SslMode::Require, AnyName, Some("/ca")),
            ("sslmode=verify-full", SslMode::Require, Full, None),
            ("sslmode=verify-full sslrootcert=/ca", SslMode::Require, OnlyGivenCas, Some("/ca")),
            ("sslrootcert=system", SslMode::Require, Full, None),
        ];
        for (text, mode, verification, ca_file) in rows {
            let read = settings(&format!("host=h user=u {text}")).unwrap();
            let tls = TlsRules { verification, ca_file: ca_file.map(PathBuf::from) };
            assert_eq!((read.mode, read.tls), (mode, tls), "{text}");
        }
    }

    #[test]
    fn keywords_are_read_refused_or_passed_on() {
        let text = "host=h user=u dbname=d password=hunter2 connect_timeout=7 target_session_attrs=standby \
                    application_name=kedge options='-c statement_timeout=2s' search_path=shop krbsrvname=x sslsni=1";
        let read = settings(text).unwrap();
        assert_eq!((read.user.as_str(), read.database.as_deref()), ("u", Some("d")));
        assert_eq!((read.wanted, read.connect_limit), (WantedServer::Standby, Some(Duration::from_secs(7))));
        let names: Vec<&str> = read.parameters.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["application_name", "options", "search_path"]);
        assert!(!format!("{read:?}").contains("hunter2"));
        for (text, expected) in [
            ("host=h", "user"),
            ("host=h user=u sslmode=on", "sslmode"),
            ("host=h user=u sslmode=on sslrootcert=system", "sslmode"),
            ("host=h user=u connect_timeout=-1", "connect_timeout"),
            ("host=h user=u target_session_attrs=master", "target_session_attrs"),
            ("host=h user=u sslcert=/c", "sslcert"),
            ("host=h user=u service=s", "service"),
            ("host=h user=u channel_binding=require", "channel_binding"),
            ("host=h user=u min_protocol_version=3.2", "min_protocol_version"),
        ] {
            let problems = settings(text).unwrap_err();
            assert_eq!(problems.iter().map(|problem| problem.keyword).collect::<Vec<_>>(), [expected], "{text}");
        }
    }
}
