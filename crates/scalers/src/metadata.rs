//! Reads the parameters of a trigger from their sources, and collects every error instead of stopping at the first. What a
//! text means as a number, a duration or a list is defined in [`convert`].

pub mod convert;
#[cfg(test)]
pub(crate) mod recording;

use crate::field::{FROM_ENV, Field, Presence, Sensitivity, Source, Status};
use crate::trigger::{BuildError, FieldError, Resolution, TriggerConfig};
use convert::Converted;

/// Reads the parameters of one trigger.
#[derive(Debug)]
pub struct Reader<'a> {
    trigger: &'a TriggerConfig<'a>,
    errors: Vec<FieldError>,
}

struct Found<'a> {
    text: &'a str,
    source: Source,
}

impl<'a> Reader<'a> {
    pub fn new(trigger: &'a TriggerConfig<'a>) -> Self {
        Self { trigger, errors: Vec::new() }
    }

    /// The value, or `None` and an error if it is absent or invalid.
    pub fn required<T>(&mut self, field: Field, convert: impl FnOnce(&str) -> Converted<T>) -> Option<T> {
        match self.find(field) {
            Some(found) => self.convert(field, &found, convert),
            None => {
                if !self.may_be_resolved_later(field) {
                    let error = self.missing(field);
                    self.error(error);
                }
                None
            }
        }
    }

    /// How many errors were found so far.
    pub fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// Whether a parameter that is absent may still come from a source that is not resolved yet.
    pub fn may_be_resolved_later(&self, field: Field) -> bool {
        field.sources.iter().any(|source| match (source, self.trigger.resolution) {
            (_, Resolution::Complete)
            | (Source::Metadata, _)
            | (Source::Authentication, Resolution::ManifestWithoutAuthentication) => false,
            (Source::Authentication, Resolution::ManifestWithAuthentication) => true,
            (Source::Environment, _) => self.absent_variable(field).is_some(),
        })
    }

    /// Whether a scaler is being built. If not, the trigger is only checked.
    pub fn is_building(&self) -> bool {
        self.trigger.resolution == Resolution::Complete
    }

    /// A part of the scaler, made only where a scaler is being built.
    pub fn make<T>(&mut self, make: impl FnOnce() -> Result<T, FieldError>) -> Option<T> {
        if self.is_building() { self.take(make()) } else { None }
    }

    /// The value, or `None` if it is absent; also, with an error, if it is invalid.
    pub fn optional<T>(&mut self, field: Field, convert: impl FnOnce(&str) -> Converted<T>) -> Option<T> {
        let found = self.find(field)?;
        self.convert(field, &found, convert)
    }

    /// The value, or the default of the field if it is absent; also, with an error, if it is invalid.
    pub fn or_default<T>(&mut self, field: Field, convert: impl Fn(&str) -> Converted<T>) -> T {
        let default = match field.presence {
            Presence::Default(default) => default,
            _ => "",
        };
        self.optional(field, &convert)
            .unwrap_or_else(|| convert(default).expect("defaults in descriptors are valid, which a test proves"))
    }

    /// Reports a parameter that is no longer accepted.
    pub fn removed(&mut self, field: Field, remedy: &str) {
        if let (Status::Removed(reason), Some(_)) = (field.status, self.find(field)) {
            // KEDA: rejections of removed parameters begin with these words.
            let problem = format!("is refused (scaler {} info: {reason})", self.trigger.trigger_type);
            self.error(FieldError::new(field.name, problem, remedy));
        }
    }

    /// Whether the metadata names the parameter or a variable for it, with or without a value.
    pub fn is_mentioned(&self, field: Field) -> bool {
        let has = |key: &str| self.trigger.metadata.get(key).is_some_and(|text| !text.trim().is_empty());
        field.sources.iter().any(|source| match source {
            Source::Metadata => field.names().any(has),
            Source::Environment => field.names().any(|name| has(&format!("{name}{FROM_ENV}"))),
            Source::Authentication => false,
        })
    }

    /// Whether both the metadata and authentication give the parameter.
    pub fn is_in_two_places(&self, field: Field) -> bool {
        let is_in =
            |source: Source| field.sources.contains(&source) && self.find(field.sources(source.alone())).is_some();
        is_in(Source::Metadata) && is_in(Source::Authentication)
    }

    /// The text of the parameter, if it is given.
    pub fn text(&self, field: Field) -> Option<&'a str> {
        self.find(field).map(|found| found.text)
    }

    /// Adds an error that this reader cannot find by itself, such as one between two fields.
    pub fn error(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// The value of a step outside this reader, or its error added to the others.
    pub fn take<T>(&mut self, outcome: Result<T, FieldError>) -> Option<T> {
        outcome.map_err(|error| self.error(error)).ok()
    }

    /// What was made from the fields, if every one of them is valid. Where a trigger is only checked, a valid one makes
    /// nothing: the error then holds no field.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, BuildError> {
        match made {
            Some(made) if self.errors.is_empty() => Ok(made),
            _ => Err(BuildError::new(self.trigger, self.errors)),
        }
    }

    /// All names are tried in one source before the next; what is blank is absent.
    fn find(&self, field: Field) -> Option<Found<'a>> {
        field.sources.iter().find_map(|&source| {
            let mut texts = field.names().filter_map(|name| self.look_up(source, name));
            texts.find(|text| !text.is_empty()).map(|text| Found { text, source })
        })
    }

    fn look_up(&self, source: Source, name: &'static str) -> Option<&'a str> {
        #[cfg(test)]
        recording::record(name, source);
        let trigger = self.trigger;
        let text = match source {
            Source::Metadata => trigger.metadata.get(name)?.as_str(),
            Source::Authentication => trigger.auth.get(name)?.reveal(),
            Source::Environment => {
                let variable = trigger.metadata.get(&format!("{name}{FROM_ENV}"))?;
                trigger.environment.get(variable)?
            }
        };
        Some(text.trim())
    }

    fn convert<T>(&mut self, field: Field, found: &Found<'_>, convert: impl FnOnce(&str) -> Converted<T>) -> Option<T> {
        match convert(found.text) {
            Ok(value) => Some(value),
            Err(error) => {
                let problem = match (field.sensitivity, found.source) {
                    (Sensitivity::Public, Source::Metadata) => format!("{} {}", quote(found.text), error.problem),
                    _ => error.problem,
                };
                self.error(FieldError::new(field.name, problem, error.remedy));
                None
            }
        }
    }

    fn missing(&self, field: Field) -> FieldError {
        let places: Vec<_> = field.sources.iter().map(|source| source.place()).collect();
        let absent_variable =
            field.sources.contains(&Source::Environment).then(|| self.absent_variable(field)).flatten();
        let is_empty = field.names().any(|name| self.trigger.metadata.contains_key(name));
        let problem = match absent_variable {
            Some(variable) => format!("is missing: the target's container has no value for the variable {variable}"),
            None if is_empty => "is empty".to_owned(),
            None => "is missing".to_owned(),
        };
        FieldError::new(field.name, problem, format!("give it in {}", places.join(" or ")))
    }

    fn absent_variable(&self, field: Field) -> Option<&'a str> {
        field.names().find_map(|name| self.trigger.metadata.get(&format!("{name}{FROM_ENV}")).map(String::as_str))
    }
}

/// A value as messages show it: quoted, and not longer than a line.
fn quote(text: &str) -> String {
    const SHOWN_MAX: usize = 80;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests;
