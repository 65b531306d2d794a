//! The start of logging.

use std::io::IsTerminal;

use crate::settings::logging::{Format, Logging};

/// Starts logging to standard error.
pub(crate) fn start_logging(logging: &Logging) {
    let logs = tracing_subscriber::fmt().with_max_level(logging.level).with_timer(logging.time);
    // Log collectors do not read colours.
    let logs = logs.with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    match logging.format {
        Format::Text => logs.init(),
        Format::Json => logs.json().init(),
    }
}
