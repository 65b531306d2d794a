//! Commands of GitHub's workflows: remarks show up beside the changed lines.

use std::io::{self, Write};

use kedge_webhooks::finding::Severity;

use super::report::Report;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for remark in &report.remarks {
        let command = match remark.rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "notice",
        };
        let (file, place) = (property(&remark.file), remark.place);
        write!(out, "::{command} file={file},line={},col={},title={}::", place.line, place.column, remark.rule.id)?;
        writeln!(out, "{}", data(&remark.message()))?;
    }
    writeln!(out, "{}", report.summary())
}

/// Text after the second pair of colons.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property, which ends at a comma.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(data("50 % of\nit: yes, all"), "50 %25 of%0Ait: yes, all");
        assert_eq!(property("a,b:c.yaml"), "a%2Cb%3Ac.yaml");
    }
}
