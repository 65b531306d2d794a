//! Reads the parameters of a trigger from where they may stand, and notes every mistake instead of stopping at the first.
//! What a text means as a number, a duration or a list is said in [`convert`].

pub mod convert;

use crate::trigger::{BuildError, Knowledge, Problem, TriggerConfig};
use convert::Converted;

/// Where a parameter may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `triggers[].metadata.<name>`
    Metadata,
    /// The parameters that authentication gave.
    Auth,
    /// The variable of the target's container that `triggers[].metadata.<name>FromEnv` names.
    Environment,
}

/// A parameter: its names, the first being the proper one, and its sources in the order in which they are asked.
#[derive(Clone, Copy, Debug)]
pub struct Field<'n> {
    names: &'n [&'n str],
    sources: &'n [Source],
    display: Display,
}

/// Whether messages may repeat the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Display {
    Shown,
    Hidden,
}

impl<'n> Field<'n> {
    pub const fn new(names: &'n [&'n str], sources: &'n [Source]) -> Self {
        Self { names, sources, display: Display::Shown }
    }

    pub const fn metadata(names: &'n [&'n str]) -> Self {
        Self::new(names, &[Source::Metadata])
    }

    pub const fn auth(names: &'n [&'n str]) -> Self {
        Self::new(names, &[Source::Auth])
    }

    /// The same field, but its value may hold a credential: no message repeats it.
    pub const fn hidden(mut self) -> Self {
        self.display = Display::Hidden;
        self
    }

    pub fn name(&self) -> &'n str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// Reads the parameters of one trigger.
#[derive(Debug)]
pub struct Reader<'a> {
    trigger: &'a TriggerConfig<'a>,
    problems: Vec<Problem>,
}

struct Found<'a> {
    text: &'a str,
    source: Source,
}

impl<'a> Reader<'a> {
    pub fn new(trigger: &'a TriggerConfig<'a>) -> Self {
        Self { trigger, problems: Vec::new() }
    }

    /// The value, or `None` and a note if it is absent or unusable.
    pub fn required<T>(&mut self, field: Field<'_>, convert: impl FnOnce(&str) -> Converted<T>) -> Option<T> {
        match self.find(field) {
            Some(found) => self.convert(field, &found, convert),
            None => {
                if !self.may_come(field) {
                    let problem = self.missing(field);
                    self.note(problem);
                }
                None
            }
        }
    }

    /// Whether a parameter that is absent may still be given by what is not known yet.
    pub fn may_come(&self, field: Field<'_>) -> bool {
        field.sources.iter().any(|source| match (source, self.trigger.knowledge) {
            (_, Knowledge::Everything) | (Source::Metadata, _) | (Source::Auth, Knowledge::Manifest) => false,
            (Source::Auth, Knowledge::ManifestWithAuthentication) => true,
            (Source::Environment, _) => self.absent_variable(field).is_some(),
        })
    }

    /// Whether a scaler is being built: else nothing is made for it, and nobody is asked to sign in.
    pub fn is_building(&self) -> bool {
        self.trigger.knowledge == Knowledge::Everything
    }

    /// What the scaler will need, made only where one is being built.
    pub fn make<T>(&mut self, make: impl FnOnce() -> Result<T, Problem>) -> Option<T> {
        if self.is_building() { self.take(make()) } else { None }
    }

    /// The value, or `None` if it is absent; also, with a note, if it is unusable.
    pub fn optional<T>(&mut self, field: Field<'_>, convert: impl FnOnce(&str) -> Converted<T>) -> Option<T> {
        let found = self.find(field)?;
        self.convert(field, &found, convert)
    }

    /// The value, or the default if it is absent; also, with a note, if it is unusable.
    pub fn or<T>(&mut self, field: Field<'_>, convert: impl FnOnce(&str) -> Converted<T>, default: T) -> T {
        self.optional(field, convert).unwrap_or(default)
    }

    /// Notes a parameter that is no longer one.
    pub fn removed(&mut self, field: Field<'_>, explanation: &str, remedy: &str) {
        if self.find(field).is_some() {
            // KEDA: refusals of removed parameters begin with these words.
            let problem = format!("is refused (scaler {} info: {explanation})", self.trigger.kind);
            self.note(Problem::new(field.name(), problem, remedy));
        }
    }

    /// The text of the parameter, if it is given.
    pub fn text(&self, field: Field<'_>) -> Option<&'a str> {
        self.find(field).map(|found| found.text)
    }

    /// Notes a mistake that lies between the fields.
    pub fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The value of a step outside this reader, or a note of why there is none.
    pub fn take<T>(&mut self, outcome: Result<T, Problem>) -> Option<T> {
        outcome.map_err(|problem| self.note(problem)).ok()
    }

    /// What was made from the fields, if nothing was wrong with any of them. Where only a manifest is known, it may be that
    /// nothing is wrong and yet nothing was made: the error then names no problem.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, BuildError> {
        match made {
            Some(made) if self.problems.is_empty() => Ok(made),
            _ => Err(BuildError::new(self.trigger, self.problems)),
        }
    }

    /// All names are tried in one source before the next; what is blank is absent.
    fn find(&self, field: Field<'_>) -> Option<Found<'a>> {
        field.sources.iter().find_map(|&source| {
            let mut texts = field.names.iter().filter_map(|name| self.look_up(source, name));
            texts.find(|text| !text.is_empty()).map(|text| Found { text, source })
        })
    }

    fn look_up(&self, source: Source, name: &str) -> Option<&'a str> {
        let trigger = self.trigger;
        let text = match source {
            Source::Metadata => trigger.metadata.get(name)?.as_str(),
            Source::Auth => trigger.auth.get(name)?.reveal(),
            Source::Environment => {
                let variable = trigger.metadata.get(&format!("{name}FromEnv"))?;
                trigger.environment.get(variable)?
            }
        };
        Some(text.trim())
    }

    fn convert<T>(
        &mut self,
        field: Field<'_>,
        found: &Found<'_>,
        convert: impl FnOnce(&str) -> Converted<T>,
    ) -> Option<T> {
        match convert(found.text) {
            Ok(value) => Some(value),
            Err(flaw) => {
                let problem = match (field.display, found.source) {
                    (Display::Shown, Source::Metadata) => format!("{} {}", quote(found.text), flaw.problem),
                    _ => flaw.problem,
                };
                self.note(Problem::new(field.name(), problem, flaw.remedy));
                None
            }
        }
    }

    fn missing(&self, field: Field<'_>) -> Problem {
        let places: Vec<_> = field.sources.iter().map(|source| source.place()).collect();
        let absent_variable =
            field.sources.contains(&Source::Environment).then(|| self.absent_variable(field)).flatten();
        let problem = match absent_variable {
            Some(variable) => format!("is missing: the target's container has no value for the variable {variable}"),
            None => "is missing".to_owned(),
        };
        Problem::new(field.name(), problem, format!("give it in {}", places.join(" or ")))
    }

    fn absent_variable(&self, field: Field<'_>) -> Option<&'a str> {
        field.names.iter().find_map(|name| self.trigger.metadata.get(&format!("{name}FromEnv")).map(String::as_str))
    }
}

impl Source {
    fn place(self) -> &'static str {
        match self {
            Self::Metadata => "the trigger's metadata",
            Self::Auth => "its TriggerAuthentication",
            Self::Environment => "a variable named by the parameter with FromEnv",
        }
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
