//! Connection strings: `user:password@tcp(host:port)/database?option=value&…`. No error here repeats a part of one.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::host_port::{HostPort, bracketed};
use crate::http::Verification;
use crate::metadata::convert::{self, ConversionError, Converted};
use crate::mysql_session::{MysqlOptions, MysqlPeer, MysqlTls};
use crate::percent::has_whole_escapes;
use crate::trigger::Secret;

const REMEDY: &str = "write it as user:password@tcp(host:port)/database?tls=true";
const PORT: &str = "3306";

/// A connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dsn {
    pub(super) peer: MysqlPeer,
    /// How long an answer may take; zero where nothing is said.
    pub(super) limit: Duration,
}

fn error(problem: &str) -> ConversionError {
    ConversionError::new(problem, REMEDY)
}

impl Dsn {
    /// Reads one as the driver of KEDA does: the last `/` begins the database, because passwords may have one, too.
    pub(super) fn parse(text: &str) -> Converted<Self> {
        if ["mysql://", "mariadb://", "jdbc:mysql:", "jdbc:mariadb:"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(error("is a URL"));
        }
        let (before, after) = text.rsplit_once('/').ok_or_else(|| error("has no `/` before the database"))?;
        let (user, address) = before.rsplit_once('@').unwrap_or(("", before));
        let (username, password) = user.split_once(':').unwrap_or((user, ""));
        let (database, parameters) = after.split_once('?').unwrap_or((after, ""));
        let database = unescape(database).ok_or_else(|| error("has a database with a `%` that begins no %XX"))?;
        let (options, limit) = parse_options(parameters)?;
        let peer = MysqlPeer {
            server: parse_address(address)?,
            username: username.to_owned(),
            password: Secret::new(password),
            database,
            options,
        };
        Ok(Self { peer, limit })
    }
}

/// `tcp(host:port)`, where the parts may be absent.
fn parse_address(text: &str) -> Converted<HostPort> {
    let (network, address) = match text.split_once('(') {
        None => (text, ""),
        Some((network, rest)) => match rest.strip_suffix(')') {
            Some(address) => (network, address),
            // An unescaped `/` in an option looks the same.
            None => {
                let remedy = "write the server as tcp(host:port), and a `/` in an option as %2F";
                return Err(ConversionError::new("has no `)` before the `/` of the database", remedy));
            }
        },
    };
    match network {
        "" | "tcp" | "tcp4" | "tcp6" => {}
        "unix" => {
            let remedy = "a socket is of one machine; write tcp(host:port)";
            return Err(ConversionError::new("names a Unix socket", remedy));
        }
        _ => return Err(error("has another network than tcp")),
    }
    let (host, port) = split_port(address);
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    HostPort::new(&bracketed(host), port).map_err(|problem| error(&format!("has an address that {problem}")))
}

/// The host without brackets, and the port, which is the usual one where it is absent.
fn split_port(address: &str) -> (&str, &str) {
    if let Some((host, rest)) = address.strip_prefix('[').and_then(|address| address.split_once(']')) {
        return (host, rest.strip_prefix(':').unwrap_or(PORT));
    }
    match address.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port),
        // Several colons are an IPv6 address.
        _ => (address, PORT),
    }
}

fn parse_options(text: &str) -> Converted<(MysqlOptions, Duration)> {
    let (mut options, mut limit, mut falls_back) = (MysqlOptions::default(), Duration::ZERO, false);
    for (name, value) in text.split('&').filter_map(|parameter| parameter.split_once('=')) {
        match name {
            "tls" => options.tls = parse_tls(value)?,
            "allowFallbackToPlaintext" => falls_back = switch(name, value)?,
            "allowCleartextPasswords" => options.clear_password = switch(name, value)?,
            "allowNativePasswords" => options.native_password = switch(name, value)?,
            "multiStatements" => options.multi_statements = switch(name, value)?,
            "timeout" | "readTimeout" => limit = limit.max(duration(name, value)?),
            "charset" => {
                let names = value.split(',').map(|name| identifier("charset", name));
                options.character_sets = names.collect::<Converted<_>>()?;
            }
            "collation" => options.collation = Some(identifier(name, value)?),
            "serverPubKey" | "strict" => {
                return Err(ConversionError::new(format!("has `{name}`, which is not supported"), "leave it out"));
            }
            // No effect on a number, or none that the server sees; the driver refuses invalid values all the same.
            "allowAllFiles" | "allowOldPasswords" | "checkConnLiveness" | "clientFoundRows" | "columnsWithAlias"
            | "compress" | "interpolateParams" | "parseTime" | "rejectReadOnly" => drop(switch(name, value)?),
            "timeTruncate" | "writeTimeout" => drop(duration(name, value)?),
            "maxAllowedPacket" => drop(bytes(name, value)?),
            "connectionAttributes" | "loc" => {}
            _ => {
                let value = unescape(&value.replace('+', " "));
                let value = value.ok_or_else(|| error("has an option with a `%` that begins no %XX"))?;
                options.variables.retain(|(known, _)| known != name);
                options.variables.push((name.to_owned(), value));
            }
        }
    }
    if let Some(tls) = &mut options.tls {
        tls.falls_back |= falls_back;
    }
    Ok((options, limit))
}

fn parse_tls(value: &str) -> Converted<Option<MysqlTls>> {
    let tls = |verification, falls_back| Some(MysqlTls { verification, falls_back });
    match boolean(value) {
        Some(is_wanted) => return Ok(tls(Verification::Full, false).filter(|_| is_wanted)),
        None if value.is_empty() => return Ok(None),
        None => {}
    }
    match value.to_ascii_lowercase().as_str() {
        "skip-verify" => Ok(tls(Verification::Off, false)),
        "preferred" => Ok(tls(Verification::Off, true)),
        _ => Err(ConversionError::new(
            "has another `tls` than true, false, skip-verify and preferred",
            "use tls=true; a CA of your own is trusted where the operator trusts it (`--ca-dir`)",
        )),
    }
}

/// A boolean as the driver writes it.
fn boolean(value: &str) -> Option<bool> {
    match value {
        "1" | "true" | "TRUE" | "True" => Some(true),
        "0" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn switch(name: &str, value: &str) -> Converted<bool> {
    let problem = || format!("has an option `{name}` that is neither true nor false");
    boolean(value).ok_or_else(|| ConversionError::new(problem(), "write true or false"))
}

fn duration(name: &str, value: &str) -> Converted<Duration> {
    let problem = || format!("has an option `{name}` that is no duration");
    convert::duration(value).map_err(|_| ConversionError::new(problem(), "write it as 5s or 500ms"))
}

fn bytes(name: &str, value: &str) -> Converted<i64> {
    let problem = || format!("has an option `{name}` that is no number of bytes");
    value.parse().map_err(|_| ConversionError::new(problem(), "write a whole number"))
}

/// A name that can be part of a statement.
fn identifier(option: &str, value: &str) -> Converted<String> {
    let is_name = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let problem = || format!("has an option `{option}` that is no name");
    is_name.then(|| value.to_owned()).ok_or_else(|| ConversionError::new(problem(), "write it as utf8mb4"))
}

/// Percent-decodes a text whose escapes are whole.
fn unescape(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    has_whole_escapes(text).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests;
