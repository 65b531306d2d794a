//! Text: one line per diagnostic, in the format of compilers.

use std::io::{self, Write};

use super::report::Report;
use crate::validation::rules::severity_label;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for diagnostic in &report.diagnostics {
        let (position, rule) = (diagnostic.position, diagnostic.rule);
        write!(out, "{}:{}:{}: ", diagnostic.file, position.line, position.column)?;
        writeln!(out, "{}[{}]: {}", severity_label(rule.severity), rule.id, diagnostic.message())?;
    }
    writeln!(out, "{}", report.summary())
}
