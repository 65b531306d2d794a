//! The log level, format and time encoding: by Kedge's own flags, else by zap's, which KEDA's manifests use.

use std::fmt;
use std::time::UNIX_EPOCH;

use chrono::{DateTime, SecondsFormat, Utc};
use kedge_scalers::metadata::convert::{self, ConversionError, Converted};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use super::flags;
use super::reader::SettingsReader;

#[derive(Debug, PartialEq)]
pub(crate) struct Logging {
    pub(crate) level: LevelFilter,
    pub(crate) format: Format,
    pub(crate) time: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// The format of the time of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    /// RFC 3339 with microseconds.
    Default,
    EpochSeconds,
    EpochMillis,
    EpochNanos,
    Iso8601,
    Rfc3339,
    Rfc3339Nanos,
}

pub(super) fn resolve(flags: &flags::Logging, read: &mut SettingsReader<'_>) -> Logging {
    let developer = read.flag("--zap-devel", &flags.zap_devel, convert::boolean).unwrap_or(false);
    let mut optional = Optional { read };
    let own_level = optional.flag("--log-level", flags.log_level.as_deref(), level);
    let zap_level = optional.flag("--zap-log-level", flags.zap_log_level.as_deref(), zap_level);
    let own_format = optional.flag("--log-format", flags.log_format.as_deref(), format);
    let zap_format = optional.flag("--zap-encoder", flags.zap_encoder.as_deref(), zap_format);
    let time = optional.flag("--zap-time-encoding", flags.zap_time_encoding.as_deref(), time);
    let default_level = if developer { LevelFilter::DEBUG } else { LevelFilter::INFO };
    Logging {
        level: own_level.or(zap_level).unwrap_or(default_level),
        format: own_format.or(zap_format).unwrap_or(Format::Text),
        time: time.unwrap_or(Time::Default),
    }
}

/// Reads optional flags.
struct Optional<'a, 'b> {
    read: &'a mut SettingsReader<'b>,
}

impl Optional<'_, '_> {
    fn flag<T>(&mut self, name: &str, text: Option<&str>, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        self.read.flag(name, text?, convert)
    }
}

fn level(text: &str) -> Converted<LevelFilter> {
    text.parse().map_err(|_| ConversionError::new("is not a level", "use error, warn, info, debug or trace"))
}

fn zap_level(text: &str) -> Converted<LevelFilter> {
    match text.to_ascii_lowercase().as_str() {
        // tracing has no level above error.
        "error" | "panic" => Ok(LevelFilter::ERROR),
        "info" | "0" => Ok(LevelFilter::INFO),
        "debug" | "1" => Ok(LevelFilter::DEBUG),
        number if number.parse::<u32>().is_ok() => Ok(LevelFilter::TRACE),
        _ => Err(ConversionError::new(
            "is not a level",
            "use error, info, debug, or a number: 0 is info, 1 debug, more is all",
        )),
    }
}

fn format(text: &str) -> Converted<Format> {
    match convert::one_of(text, &["text", "json"])? {
        "json" => Ok(Format::Json),
        _ => Ok(Format::Text),
    }
}

fn zap_format(text: &str) -> Converted<Format> {
    match convert::one_of(text, &["console", "json"])? {
        "json" => Ok(Format::Json),
        _ => Ok(Format::Text),
    }
}

fn time(text: &str) -> Converted<Time> {
    match text.to_ascii_lowercase().as_str() {
        "epoch" => Ok(Time::EpochSeconds),
        "millis" => Ok(Time::EpochMillis),
        // KEDA: documents the one, parses the other.
        "nano" | "nanos" => Ok(Time::EpochNanos),
        "iso8601" => Ok(Time::Iso8601),
        "rfc3339" => Ok(Time::Rfc3339),
        "rfc3339nano" => Ok(Time::Rfc3339Nanos),
        _ => Err(ConversionError::new(
            "is not among the allowed values",
            "use epoch, millis, nano, iso8601, rfc3339 or rfc3339nano",
        )),
    }
}

impl Time {
    /// A time in this format; none for the default, which tracing writes itself.
    fn render(self, at: std::time::SystemTime) -> Option<String> {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let date = |format| DateTime::<Utc>::from(at).to_rfc3339_opts(format, true);
        Some(match self {
            Self::Default => return None,
            Self::EpochSeconds => format!("{}.{:06}", since.as_secs(), since.subsec_micros()),
            Self::EpochMillis => format!("{}.{:03}", since.as_millis(), since.subsec_micros() % 1000),
            Self::EpochNanos => since.as_nanos().to_string(),
            Self::Iso8601 => date(SecondsFormat::Millis),
            Self::Rfc3339 => date(SecondsFormat::Secs),
            Self::Rfc3339Nanos => date(SecondsFormat::Nanos),
        })
    }
}

impl FormatTime for Time {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        match self.render(std::time::SystemTime::now()) {
            Some(text) => writer.write_str(&text),
            None => SystemTime.format_time(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_zap_does() {
        let at = UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
        let rows = [
            ("epoch", "1700000000.123456"),
            ("millis", "1700000000123.456"),
            ("nano", "1700000000123456789"),
            ("nanos", "1700000000123456789"),
            ("iso8601", "2023-11-14T22:13:20.123Z"),
            ("rfc3339", "2023-11-14T22:13:20Z"),
            ("RFC3339nano", "2023-11-14T22:13:20.123456789Z"),
        ];
        for (name, expected) in rows {
            assert_eq!(time(name).unwrap().render(at).as_deref(), Some(expected), "{name}");
        }
    }
}
