//! One flag or variable: its text becomes a value, or its error is recorded and reading continues.

use kedge_scalers::CloudEnvironment;
use kedge_scalers::metadata::convert::{ConversionError, Converted};

use super::environment::Environment;

/// Reads values and records every error.
pub(super) struct SettingsReader<'a> {
    environment: &'a Environment,
    errors: Vec<String>,
    warnings: Vec<String>,
}

/// The error message of an invalid value.
fn describe(name: &str, text: &str, error: &ConversionError) -> String {
    format!("{name} `{text}` {}; {}", error.problem, error.remedy)
}

impl<'a> SettingsReader<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        Self { environment, errors: Vec::new(), warnings: Vec::new() }
    }

    /// The value of a flag; none, with an error recorded, if its text is invalid.
    pub(super) fn flag<T>(&mut self, name: &str, text: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        self.convert(name, text, convert)
    }

    /// The value of a variable; none if it is unset or empty, or, with an error recorded, if its text is invalid.
    pub(super) fn variable<T>(&mut self, name: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        let text = self.text(name)?;
        self.convert(name, &text, convert)
    }

    /// As `variable`, for those whose invalid values KEDA only logs: so does Kedge.
    pub(super) fn lenient<T>(&mut self, name: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        let text = self.text(name)?;
        match convert(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.warn(describe(name, &text, &error));
                None
            }
        }
    }

    /// The text of a variable, if it is set and not empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.environment.get(name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The cloud identity of this process.
    pub(super) fn cloud_environment(&self) -> CloudEnvironment {
        self.environment.cloud_environment()
    }

    /// The watched namespaces; empty means all.
    pub(super) fn namespaces(&self) -> Vec<String> {
        // KEDA: two quotes, a common YAML mistake, count as empty.
        let list = self.text("WATCH_NAMESPACE").filter(|list| list != "\"\"").unwrap_or_default();
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.environment.get(name).is_some()
    }

    pub(super) fn error(&mut self, error: String) {
        self.errors.push(error);
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The warnings, or all errors.
    pub(super) fn finish(self) -> Result<Vec<String>, Vec<String>> {
        if self.errors.is_empty() { Ok(self.warnings) } else { Err(self.errors) }
    }

    fn convert<T>(&mut self, name: &str, text: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        match convert(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.error(describe(name, text, &error));
                None
            }
        }
    }
}
