//! Workflow commands of GitHub, which shows diagnostics beside the changed lines.

use std::io::{self, Write};

use kedge_webhooks::violation::Severity;

use super::report::Report;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for diagnostic in &report.diagnostics {
        let command = match diagnostic.rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "notice",
        };
        let (file, position) = (property(&diagnostic.file), diagnostic.position);
        write!(
            out,
            "::{command} file={file},line={},col={},title={}::",
            position.line, position.column, diagnostic.rule.id
        )?;
        writeln!(out, "{}", data(&diagnostic.message()))?;
    }
    for failure in &report.failures {
        writeln!(out, "::error::{}", data(failure))?;
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
