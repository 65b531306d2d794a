//! What a location in a document holds, and why that is no number.

use kedge_core::quantity::Quantity;

/// What a location holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    Number(f64),
    Text(String),
}

/// A document without the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// The document does not have the configured format.
    Malformed(String),
    /// The document has the format, but no number at the location.
    NoValue(String),
}

impl Unusable {
    pub(crate) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed(problem.into())
    }

    pub(crate) fn no_value(problem: impl Into<String>) -> Self {
        Self::NoValue(problem.into())
    }

    /// The location holds something else than a number, or nothing.
    pub(crate) fn leads_to(what: &str) -> Self {
        Self::no_value(format!("`valueLocation` leads to {what}, not to a number or a quantity"))
    }
}

impl Found {
    /// A number, or a text as a quantity: `12`, `1k`, `500m`.
    pub(crate) fn number_or_quantity(self) -> Result<f64, Unusable> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Text(text) => quantity(&text).ok_or_else(|| Unusable::leads_to("a text that is no quantity")),
        }
    }
}

/// A text as a quantity.
pub(crate) fn quantity(text: &str) -> Option<f64> {
    // Kubernetes reads a sign or a point alone as 0.
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    has_digits.then(|| Quantity::parse(text))?.ok().map(|quantity| quantity.approx_f64())
}
