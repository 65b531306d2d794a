//! The variables of HashiCorp Vault's own clients.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use kedge_core::secret::Secret;
use kedge_operator::credentials::vault::{CaSource, Settings};
use kedge_scalers::metadata::convert::{self, ConversionError, Converted};

use super::amounts;
use super::reader::SettingsReader;

pub(super) fn settings(read: &mut SettingsReader<'_>) -> Settings {
    let (certificate, key) = (read.text("VAULT_CLIENT_CERT"), read.text("VAULT_CLIENT_KEY"));
    if certificate.is_some() != key.is_some() {
        read.error("only one of VAULT_CLIENT_CERT and VAULT_CLIENT_KEY is set; set both, or neither".to_owned());
    }
    Settings {
        token: read.text("VAULT_TOKEN").map(Secret::new),
        namespace: read.text("VAULT_NAMESPACE"),
        ca: ca(read),
        client_certificate: certificate.zip(key).map(|(certificate, key)| (certificate.into(), key.into())),
        skip_verify: read.variable("VAULT_SKIP_VERIFY", convert::boolean).unwrap_or(false),
        timeout: read.variable("VAULT_CLIENT_TIMEOUT", seconds_or_duration),
        headers: headers(read),
    }
}

/// Vault: the file wins over the text, and the text over the folder.
fn ca(read: &SettingsReader<'_>) -> Option<CaSource> {
    let file = read.text("VAULT_CACERT").map(|file| CaSource::File(file.into()));
    let text = || read.text("VAULT_CACERT_BYTES").map(|text| CaSource::Text(Secret::new(text)));
    let folder = || read.text("VAULT_CAPATH").map(|folder| CaSource::Folder(folder.into()));
    file.or_else(text).or_else(folder)
}

fn seconds_or_duration(text: &str) -> Converted<Duration> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => amounts::positive_duration(text),
    }
}

/// The headers, whose values no message shows.
fn headers(read: &mut SettingsReader<'_>) -> HeaderMap {
    let Some(text) = read.text("VAULT_HEADERS") else { return HeaderMap::new() };
    parse_headers(&text).unwrap_or_else(|error| {
        read.error(format!("VAULT_HEADERS {}; {}", error.problem, error.remedy));
        HeaderMap::new()
    })
}

fn parse_headers(text: &str) -> Converted<HeaderMap> {
    let remedy = r#"write a JSON object of texts, or of lists of texts, as in {"X-Team": "shop"}"#;
    let wrong = |problem: String| ConversionError::new(problem, remedy);
    let given: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|_| wrong("is not a JSON object".to_owned()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        if name.to_ascii_lowercase().starts_with("x-vault-") {
            return Err(wrong(format!("sets {name}, which is Vault's own")));
        }
        let header = HeaderName::try_from(&name).map_err(|_| wrong("has a name that no header can have".to_owned()))?;
        let values = match value {
            serde_json::Value::Array(values) => values,
            one => vec![one],
        };
        for value in values {
            let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
            let mut value = value.ok_or_else(|| wrong(format!("gives {name} a value that no header can have")))?;
            value.set_sensitive(true);
            headers.append(header.clone(), value);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::super::environment::Environment;
    use super::*;

    fn parsed(variables: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let environment = Environment::from_variables(variables);
        let mut read = SettingsReader::new(&environment);
        let settings = settings(&mut read);
        read.finish().map(|_| settings)
    }

    #[test]
    fn variables_are_read_as_vaults_clients_read_them() {
        let settings = parsed(&[
            ("VAULT_CACERT", "/ca.pem"),
            ("VAULT_CACERT_BYTES", "PEM"),
            ("VAULT_CLIENT_CERT", "/cert.pem"),
            ("VAULT_CLIENT_KEY", "/key.pem"),
            ("VAULT_SKIP_VERIFY", "true"),
            ("VAULT_CLIENT_TIMEOUT", "7"),
            ("VAULT_HEADERS", r#"{"X-Team": ["a", "b"], "X-One": "c"}"#),
        ])
        .unwrap();
        assert_eq!(settings.ca, Some(CaSource::File("/ca.pem".into())));
        assert_eq!(settings.client_certificate, Some(("/cert.pem".into(), "/key.pem".into())));
        assert!(settings.skip_verify);
        assert_eq!(settings.timeout, Some(Duration::from_secs(7)));
        assert_eq!((settings.headers.len(), settings.headers.get_all("x-team").iter().count()), (3, 2));
        let folder = parsed(&[("VAULT_CAPATH", "/cas"), ("VAULT_CLIENT_TIMEOUT", "1m")]).unwrap();
        assert_eq!((folder.ca, folder.timeout), (Some(CaSource::Folder("/cas".into())), Some(Duration::from_secs(60))));
    }

    #[test]
    fn invalid_variables_are_named_with_their_remedy_and_without_values() {
        let rows = [
            (("VAULT_CLIENT_CERT", "/cert.pem"), "set both, or neither"),
            (("VAULT_SKIP_VERIFY", "maybe"), "VAULT_SKIP_VERIFY `maybe`"),
            (("VAULT_CLIENT_TIMEOUT", "soon"), "VAULT_CLIENT_TIMEOUT `soon`"),
            (("VAULT_HEADERS", "hunter2"), "VAULT_HEADERS is not a JSON object"),
            (("VAULT_HEADERS", r#"{"X-Vault-Token": "hunter2"}"#), "sets X-Vault-Token, which is Vault's own"),
            (("VAULT_HEADERS", r#"{"X-Team": "hunter2\n"}"#), "gives X-Team a value that no header can have"),
        ];
        for (variable, expected) in rows {
            let errors = parsed(&[variable]).unwrap_err().join("\n");
            assert!(errors.contains(expected) && !errors.contains("hunter2"), "{errors}");
        }
    }
}
