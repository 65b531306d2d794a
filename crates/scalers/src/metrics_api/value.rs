//! The number in a response as every format reads it, and why there is none.

use kedge_core::quantity::Quantity;

/// A response without the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The response does not have the configured format.
    Malformed(String),
    /// The response has the format, but no number at the location.
    NoValue(String),
}

impl Unusable {
    pub(super) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed(problem.into())
    }

    pub(super) fn no_value(problem: impl Into<String>) -> Self {
        Self::NoValue(problem.into())
    }

    /// The location holds something else than a number, or nothing.
    pub(super) fn leads_to(what: &str) -> Self {
        Self::no_value(format!("`valueLocation` leads to {what}, not to a number or a quantity"))
    }
}

/// A text as a number: `12`, `1k`, `500m`.
pub(super) fn quantity(text: &str) -> Result<f64, Unusable> {
    let quantity = Quantity::parse(text).map_err(|_| Unusable::leads_to("a text that is no quantity"))?;
    Ok(quantity.approx_f64())
}
