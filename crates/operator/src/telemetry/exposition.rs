//! Prometheus' text form, written from numbers that are kept elsewhere.

use std::fmt::Write as _;

/// A metric: all its series have the same labels.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub name: &'static str,
    pub help: &'static str,
    pub metric_type: FamilyType,
    /// In alphabetical order.
    pub labels: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyType {
    Counter,
    Gauge,
}

impl FamilyType {
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// Writes the samples of one family; nothing where there are none.
#[derive(Debug)]
pub(super) struct FamilyWriter<'a> {
    text: &'a mut String,
    family: &'a Family,
    has_begun: bool,
}

impl<'a> FamilyWriter<'a> {
    pub(super) fn new(text: &'a mut String, family: &'a Family) -> Self {
        Self { text, family, has_begun: false }
    }

    /// Writes a sample. The values of the labels have the order of their names.
    pub(super) fn sample<const LABELS: usize>(&mut self, labels: [&str; LABELS], value: f64) {
        let Family { name, help, metric_type, labels: names } = self.family;
        if !std::mem::replace(&mut self.has_begun, true) {
            let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", metric_type.name());
        }
        let _ = write!(self.text, "{name}{{");
        for (number, (name, value)) in names.iter().zip(labels).enumerate() {
            let _ = write!(self.text, "{}{name}=\"", if number > 0 { "," } else { "" });
            escape(self.text, value);
            self.text.push('"');
        }
        let _ = writeln!(self.text, "}} {value}");
    }
}

fn escape(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_description_of_their_family() {
        let family = Family { name: "a", help: "About a.", metric_type: FamilyType::Gauge, labels: &["x", "y"] };
        let mut text = String::new();
        FamilyWriter::new(&mut text, &family);
        assert_eq!(text, "");
        let mut writer = FamilyWriter::new(&mut text, &family);
        writer.sample(["1", "q\"b\\n\n"], 1.5);
        writer.sample(["", ""], 2.0);
        let expected = "# HELP a About a.\n# TYPE a gauge\na{x=\"1\",y=\"q\\\"b\\\\n\\n\"} 1.5\na{x=\"\",y=\"\"} 2\n";
        assert_eq!(text, expected);
    }
}
