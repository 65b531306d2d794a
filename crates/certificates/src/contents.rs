//! The four parts of the Secret, as they are stored.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;

// KEDA: the keys of its Secret.
pub const AUTHORITIES: &str = "ca.crt";
pub const AUTHORITY_KEY: &str = "ca.key";
pub const CHAIN: &str = "tls.crt";
pub const KEY: &str = "tls.key";

/// All parts are PEM. Whether they are any good is `plan`'s to say.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The authorities that are to be trusted: the one whose key is beside them, and any that it replaces.
    pub authorities: Vec<u8>,
    pub authority_key: Vec<u8>,
    /// What servers show: the leaf, then what leads from it to an authority.
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

impl Contents {
    /// What a Secret holds; what is missing is empty.
    pub fn from_data(data: &BTreeMap<String, ByteString>) -> Self {
        let part = |name| data.get(name).map(|part| part.0.clone()).unwrap_or_default();
        Self { authorities: part(AUTHORITIES), authority_key: part(AUTHORITY_KEY), chain: part(CHAIN), key: part(KEY) }
    }

    /// Puts the parts into a Secret's data, beside whatever else it holds.
    pub fn write_to(&self, data: &mut BTreeMap<String, ByteString>) {
        let parts = [
            (AUTHORITIES, &self.authorities),
            (AUTHORITY_KEY, &self.authority_key),
            (CHAIN, &self.chain),
            (KEY, &self.key),
        ];
        data.extend(parts.map(|(name, part)| (name.to_owned(), ByteString(part.clone()))));
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Contents(***)")
    }
}
