//! Objects as they are stored: an object that was stored under another CRD may have a value that our types do not have.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object, or as much of it as can be read.
#[derive(Clone, Debug)]
pub enum Stored<T> {
    Readable(T),
    Unreadable(Box<Unreadable>),
}

/// An object of which only the metadata can be read.
#[derive(Clone, Debug, Deserialize)]
pub struct Unreadable {
    pub metadata: ObjectMeta,
    /// Why the rest cannot be read.
    #[serde(skip)]
    pub error: String,
}

impl<T> Stored<T> {
    /// The readable objects, and the others.
    pub fn split(all: Vec<Self>) -> (Vec<T>, Vec<Unreadable>) {
        let (mut readable, mut unreadable) = (Vec::with_capacity(all.len()), Vec::new());
        for one in all {
            match one {
                Self::Readable(object) => readable.push(object),
                Self::Unreadable(one) => unreadable.push(*one),
            }
        }
        (readable, unreadable)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Stored<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let error = match serde_json::from_str::<T>(raw.get()) {
            Ok(object) => return Ok(Self::Readable(object)),
            Err(error) => error.to_string(),
        };
        let metadata: Unreadable = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self::Unreadable(Box::new(Unreadable { error, ..metadata })))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn what_cannot_be_read_keeps_its_metadata_and_the_reason() {
        let all = r#"[
            {"metadata": {"name": "a"}, "immutable": true},
            {"metadata": {"name": "b"}, "immutable": "perhaps"}
        ]"#;
        let (readable, unreadable) = Stored::<ConfigMap>::split(serde_json::from_str(all).unwrap());
        assert!(readable.len() == 1 && readable[0].immutable == Some(true));
        assert_eq!(unreadable.len(), 1);
        assert_eq!(unreadable[0].metadata.name.as_deref(), Some("b"));
        assert!(unreadable[0].error.contains("expected a boolean"), "{}", unreadable[0].error);
        assert!(
            serde_json::from_str::<Stored<ConfigMap>>(r#"{"metadata": 7}"#).is_err(),
            "what has no name is left out"
        );
    }
}
