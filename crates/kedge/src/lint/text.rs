//! For people: a line for each remark, as compilers write them.

use std::io::{self, Write};

use super::report::{Report, word};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for remark in &report.remarks {
        let (place, rule) = (remark.place, remark.rule);
        write!(out, "{}:{}:{}: ", remark.file, place.line, place.column)?;
        writeln!(out, "{}[{}]: {}", word(rule.severity), rule.id, remark.message())?;
    }
    writeln!(out, "{}", report.summary())
}
