//! Values that are kept for every object and rarely read: as JSON, which takes a quarter of the memory of the types of the Kubernetes API.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as JSON. Equal values are equal as JSON, too: maps of the Kubernetes API are sorted.
#[derive(Clone)]
pub struct Compact<T> {
    json: Box<str>,
    value: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Compact<T> {
    pub fn new(value: &T) -> Self {
        let json = serde_json::to_string(value).expect("types of the Kubernetes API can be written as JSON");
        Self { json: json.into_boxed_str(), value: PhantomData }
    }

    /// Reads the value. Each call does so again.
    pub fn read(&self) -> T {
        serde_json::from_str(&self.json).expect("what was written can be read")
    }
}

impl<T> PartialEq for Compact<T> {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl<T> fmt::Debug for Compact<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::autoscaling::v2::MetricSpec;
    use serde_json::json;

    use super::*;

    fn spec(value: &str) -> MetricSpec {
        let target = json!({ "type": "AverageValue", "averageValue": value });
        let external = json!({ "metric": { "name": "m", "selector": { "matchLabels": { "b": "2", "a": "1" } } }, "target": target });
        serde_json::from_value(json!({ "type": "External", "external": external })).unwrap()
    }

    #[test]
    fn a_value_is_read_as_it_was_and_compared_without_being_read() {
        let (one, same, other) = (spec("5"), spec("5"), spec("6"));
        assert_eq!(Compact::new(&one).read(), one);
        assert_eq!(Compact::new(&one), Compact::new(&same));
        assert_ne!(Compact::new(&one), Compact::new(&other));
    }
}
