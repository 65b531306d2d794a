//! HashiCorp Vault: the requests that secrets need, and the values in its responses.

use std::time::Duration;

use kedge_api::authentication::{VaultPkiData, VaultSecret, VaultSecretType};
use serde_json::{Map, Value};

use crate::secret::Secret;

/// One request. Secrets of the same type, path and certificate share it.
#[derive(Clone, Debug, PartialEq)]
pub struct VaultRequest<'a> {
    pub path: &'a str,
    pub engine: VaultSecretType,
    /// The body to write to the path; `None` reads the path.
    pub body: Option<Value>,
    /// Positions in the list of secrets.
    pub answers: Vec<usize>,
}

/// The requests that these secrets need, in their order.
pub fn plan_requests(secrets: &[VaultSecret]) -> Vec<VaultRequest<'_>> {
    let mut plan_requests: Vec<VaultRequest<'_>> = Vec::new();
    for (index, secret) in secrets.iter().enumerate() {
        let engine = secret.r#type.unwrap_or(VaultSecretType::Detect);
        let body = (engine == VaultSecretType::Pki).then(|| certificate(secret.pki_data.as_ref()));
        let same = |one: &&mut VaultRequest<'_>| one.path == secret.path && one.engine == engine && one.body == body;
        match plan_requests.iter_mut().find(same) {
            Some(question) => question.answers.push(index),
            None => plan_requests.push(VaultRequest { path: &secret.path, engine, body, answers: vec![index] }),
        }
    }
    plan_requests
}

fn certificate(data: Option<&VaultPkiData>) -> Value {
    let data = data.cloned().unwrap_or_default();
    let fields = [
        ("common_name", data.common_name),
        ("alt_names", data.alt_names),
        ("ip_sans", data.ip_sans),
        ("uri_sans", data.uri_sans),
        ("other_sans", data.other_sans),
        ("ttl", data.ttl),
        ("format", data.format),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    Value::Object(given.map(|(name, value)| (name.to_owned(), Value::String(value))).collect())
}

/// The value of a key in the `data` of a response.
pub fn value(engine: VaultSecretType, data: &Map<String, Value>, key: &str) -> Option<Secret> {
    let nested = || data.get("data").and_then(Value::as_object);
    let found = match engine {
        VaultSecretType::KeyValueV1 => data.get(key),
        VaultSecretType::KeyValueV2 => nested()?.get(key),
        VaultSecretType::Detect => match nested() {
            Some(nested) => nested.get(key),
            None => data.get(key),
        },
        VaultSecretType::Pki if key == "ca_chain" => return chain(data.get(key)?),
        VaultSecretType::Pki => data.get(key),
    };
    found?.as_str().map(Secret::new)
}

/// When an issued certificate ends, counted from 1970.
pub fn certificate_expiry(data: &Map<String, Value>) -> Option<Duration> {
    data.get("expiration")?.as_u64().map(Duration::from_secs)
}

fn chain(list: &Value) -> Option<Secret> {
    let certificates: Option<Vec<&str>> = list.as_array()?.iter().map(Value::as_str).collect();
    Some(Secret::new(certificates?.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_requests_are_made_once() {
        let secrets: Vec<VaultSecret> = serde_json::from_value(json!([
            { "parameter": "user", "path": "kv/a", "key": "u" },
            { "parameter": "password", "path": "kv/a", "key": "p" },
            { "parameter": "token", "path": "kv/b", "key": "t" },
            { "parameter": "same path, other engine", "path": "kv/a", "key": "u", "type": "secret" },
            { "parameter": "cert", "path": "pki/issue/x", "key": "certificate", "type": "pki", "pkiData": { "commonName": "c", "ttl": "" } },
            { "parameter": "key", "path": "pki/issue/x", "key": "private_key", "type": "pki", "pkiData": { "commonName": "c" } },
            { "parameter": "other", "path": "pki/issue/x", "key": "private_key", "type": "pki", "pkiData": { "commonName": "d" } },
        ]))
        .unwrap();
        let requests: Vec<_> =
            plan_requests(&secrets).into_iter().map(|one| (one.path.to_owned(), one.body, one.answers)).collect();
        let read = |path: &str, answers: &[usize]| (path.to_owned(), None, answers.to_vec());
        let issue = |name: &str, answers: &[usize]| {
            ("pki/issue/x".to_owned(), Some(json!({ "common_name": name })), answers.to_vec())
        };
        assert_eq!(
            requests,
            [read("kv/a", &[0, 1]), read("kv/b", &[2]), read("kv/a", &[3]), issue("c", &[4, 5]), issue("d", &[6])]
        );
    }

    #[test]
    fn values_are_found_where_the_engine_puts_them() {
        use VaultSecretType::{Detect, KeyValueV1, KeyValueV2, Pki};
        let rows = [
            ("version 1", KeyValueV1, json!({ "k": "v" }), "k", Some("v")),
            ("version 2", KeyValueV2, json!({ "data": { "k": "v" }, "metadata": {} }), "k", Some("v")),
            ("version 2 without its envelope", KeyValueV2, json!({ "k": "v" }), "k", None),
            ("found out: 2", Detect, json!({ "data": { "k": "v" } }), "k", Some("v")),
            ("found out: 1", Detect, json!({ "k": "v" }), "k", Some("v")),
            ("no such key", KeyValueV1, json!({ "k": "v" }), "x", None),
            ("not a text", KeyValueV1, json!({ "k": 7 }), "k", None),
            ("a certificate", Pki, json!({ "certificate": "c" }), "certificate", Some("c")),
            ("a chain", Pki, json!({ "ca_chain": ["a", "b"] }), "ca_chain", Some("a\nb")),
            ("a chain that is none", Pki, json!({ "ca_chain": "a" }), "ca_chain", None),
        ];
        for (name, engine, data, key, expected) in rows {
            let found = value(engine, data.as_object().unwrap(), key);
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{name}");
        }
    }
}
