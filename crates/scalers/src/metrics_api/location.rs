//! The location of the number in a response, by format. No error repeats a part of the response, which may be secret.

use super::prometheus_text::Selector;
use crate::document::{Found, JsonPath, Unusable, YamlPath};
use crate::metadata::convert::{self, ConversionError, Converted};

/// The format of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Prometheus,
    Yaml,
}

impl Format {
    pub(super) fn parse(text: &str) -> Converted<Self> {
        match convert::one_of(text, &["prometheus", "json", "xml", "yaml"])? {
            "prometheus" => Ok(Self::Prometheus),
            "yaml" => Ok(Self::Yaml),
            // KEDA takes it, and fails at each reading: its decoder finds no value.
            "xml" => Err(ConversionError::new(
                "cannot be read, in KEDA neither",
                "let the source answer in json, yaml or prometheus",
            )),
            _ => Ok(Self::Json),
        }
    }
}

/// A checked `valueLocation`.
#[derive(Clone, Debug)]
pub(super) enum Location {
    Json(JsonPath),
    Prometheus(Selector),
    Yaml(YamlPath),
}

impl Location {
    pub(super) fn parse(format: Format, text: &str) -> Converted<Self> {
        match format {
            Format::Json => JsonPath::parse(text).map(Self::Json),
            Format::Prometheus => Selector::parse(text).map(Self::Prometheus),
            Format::Yaml => Ok(Self::Yaml(YamlPath::parse(text))),
        }
    }

    /// The number at the location.
    pub(super) fn find(&self, body: &[u8]) -> Result<f64, Unusable> {
        let body = std::str::from_utf8(body).map_err(|_| Unusable::malformed("it is not UTF-8"))?;
        let number = match self {
            Self::Json(path) => path.find(body).and_then(Found::number_or_quantity),
            Self::Prometheus(selector) => selector.find(body),
            Self::Yaml(path) => path.find(body).and_then(Found::number_or_quantity),
        }?;
        // KEDA publishes these as 0; but a number that there is not is unknown.
        number
            .is_finite()
            .then_some(number)
            .ok_or_else(|| Unusable::no_value("`valueLocation` leads to no finite number"))
    }
}
