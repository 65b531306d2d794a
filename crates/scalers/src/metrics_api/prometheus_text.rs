//! Numbers in the text format of Prometheus, by a metric selector such as `queue{name="a"}`. `text` reads lines and
//! selectors; this module selects the line.

mod text;

use crate::document::Unusable;
use crate::metadata::convert::{ConversionError, Converted};
use text::{Labels, Line};

/// A metric, and labels that its sample must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    name: String,
    labels: Labels,
}

impl Selector {
    pub(super) fn parse(selector: &str) -> Converted<Self> {
        let error = |problem: &str| ConversionError::new(problem, "write it as in queue_length{queue=\"orders\"}");
        let (name, labels) = text::parse_selector(selector).ok_or_else(|| error("is not a metric selector"))?;
        let name = name.ok_or_else(|| error("names no metric"))?;
        Ok(Self { name, labels })
    }

    /// The first sample that fits. The whole text must be in order, so that half of one is not taken for all of it.
    pub(super) fn find(&self, body: &str) -> Result<f64, Unusable> {
        let (mut kind, mut found) = (None, None);
        for (number, line) in body.lines().enumerate() {
            let malformed = || Unusable::malformed(format!("line {} is not Prometheus text", number + 1));
            match text::parse_line(line).ok_or_else(malformed)? {
                Line::Nothing => {}
                Line::Type { name, kind: given } if name == self.name => kind = Some(given.to_owned()),
                Line::Type { .. } => {}
                Line::Sample { name, labels, value } if found.is_none() && self.fits(&name, &labels) => {
                    found = Some(value);
                }
                Line::Sample { .. } => {}
            }
        }
        match (kind.as_deref(), found) {
            (None | Some("untyped" | "counter" | "gauge"), Some(value)) => Ok(value),
            (None | Some("untyped" | "counter" | "gauge"), None) => Err(Unusable::leads_to("nothing")),
            (Some(_), _) => Err(Unusable::leads_to("a metric that is no counter, gauge or untyped one")),
        }
    }

    // KEDA: a label must have the value, whatever the operator is.
    fn fits(&self, name: &str, labels: &Labels) -> bool {
        name == self.name && self.labels.iter().all(|label| labels.contains(label))
    }
}

#[cfg(test)]
mod tests;
