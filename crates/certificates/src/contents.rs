//! The four entries of the certificate Secret.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;

// KEDA: the keys of its Secret.
pub const CA_BUNDLE: &str = "ca.crt";
pub const CA_KEY: &str = "ca.key";
pub const CHAIN: &str = "tls.crt";
pub const KEY: &str = "tls.key";

/// All entries are PEM. `plan` decides whether they are usable.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretContents {
    /// The trusted CA certificates: that of `ca_key`, and those that it replaces.
    pub ca_bundle: Vec<u8>,
    pub ca_key: Vec<u8>,
    /// The chain that servers present: the leaf, then its intermediates.
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

impl SecretContents {
    /// The entries of a Secret; a missing one is empty.
    pub fn from_data(data: &BTreeMap<String, ByteString>) -> Self {
        let part = |name| data.get(name).map(|part| part.0.clone()).unwrap_or_default();
        Self { ca_bundle: part(CA_BUNDLE), ca_key: part(CA_KEY), chain: part(CHAIN), key: part(KEY) }
    }

    /// Writes the entries into a Secret's data, and leaves others alone.
    pub fn write_to(&self, data: &mut BTreeMap<String, ByteString>) {
        let parts = [(CA_BUNDLE, &self.ca_bundle), (CA_KEY, &self.ca_key), (CHAIN, &self.chain), (KEY, &self.key)];
        data.extend(parts.map(|(name, part)| (name.to_owned(), ByteString(part.clone()))));
    }
}

impl fmt::Debug for SecretContents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretContents(***)")
    }
}
