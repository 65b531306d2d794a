//! The policies about tokens and connections: structured values, in YAML or JSON.

use kedge_core::credentials::outbound_filter::OutboundFilter;
use kedge_core::credentials::token_policy::{AudienceEntry, TokenMode, TokenPolicy};
use kedge_core::outbound_policy::{self, OutboundPolicy};
use kedge_scalers::metadata::convert::{ConversionError, Converted};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::flags::Flags;
use super::reader::SettingsReader;

const AUDIENCES: &str = "KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES";
const FILTER: &str = "KEDA_OUTBOUND_FILTER";

pub(super) fn token_policy(flags: &Flags, read: &mut SettingsReader<'_>) -> TokenPolicy {
    let mode = read.flag("--service-account-token-mode", &flags.service_account_token_mode, parse_mode);
    let entries: Vec<AudienceEntry> = read.variable(AUDIENCES, parse).unwrap_or_default();
    match TokenPolicy::new(mode.unwrap_or_default(), entries) {
        Ok(TokenPolicy::Legacy) => {
            read.warn(
                "--service-account-token-mode=legacy: tokens of service accounts are sent without an audience of their own, and \
                 their receivers can use them at the API server; list audiences in KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES instead"
                    .to_owned(),
            );
            TokenPolicy::Legacy
        }
        Ok(policy) => policy,
        Err(problem) => {
            read.error(format!("{AUDIENCES}: {problem}; write a list of {{audience, namespace, serviceAccountName}}"));
            TokenPolicy::default()
        }
    }
}

pub(super) fn outbound_filter(read: &mut SettingsReader<'_>) -> OutboundFilter {
    let filter: OutboundFilter = read.variable(FILTER, parse_map).unwrap_or_default();
    if let Err(problem) = filter.check() {
        read.error(format!("{problem}; write it as https://vault.example:8200"));
    }
    filter
}

pub(super) fn outbound_policy(read: &mut SettingsReader<'_>) -> OutboundPolicy {
    read.variable(outbound_policy::VARIABLE, parse_map).unwrap_or_default()
}

fn parse_mode(text: &str) -> Converted<TokenMode> {
    match text {
        // KEDA: the empty text is the default.
        "" | "enforce-audience" => Ok(TokenMode::EnforceAudience),
        "legacy" => Ok(TokenMode::Legacy),
        _ => Err(ConversionError::new("is not supported", "give enforce-audience or legacy")),
    }
}

/// As [`parse`], for a map whose sections are maps. serde would take a list for the fields of a map in their order.
fn parse_map<T: DeserializeOwned + Default>(text: &str) -> Converted<T> {
    let value: Value = parse(text)?;
    let is_section = |section: &Value| section.is_object() || section.is_null();
    match &value {
        Value::Null if text.trim().is_empty() => Ok(T::default()),
        Value::Object(_) if is_section(&value["hashiCorpVault"]) => decode(value),
        _ => Err(invalid("expected a map".to_owned())),
    }
}

/// One document, without duplicate keys and unknown fields. A blank text is the default.
fn parse<T: DeserializeOwned + Default>(text: &str) -> Converted<T> {
    if text.trim().is_empty() {
        return Ok(T::default());
    }
    let first_line = |error: serde_saphyr::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    decode(serde_saphyr::from_str(text).map_err(|error| invalid(first_line(error)))?)
}

fn decode<T: DeserializeOwned>(value: Value) -> Converted<T> {
    serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
}

fn invalid(problem: String) -> ConversionError {
    ConversionError::new(format!("is invalid: {problem}"), "see docs/outbound-policy.md")
}
