//! The environment of a container, computed from its spec: `FromEnv` parameters and the `env` of authentication objects
//! refer to it. Only requested variables are computed, from only the objects they need.

pub mod expand;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVar};

use crate::credentials::{CredentialError, Reference, ReferenceContent, ReferenceKind};
use crate::secret::Secret;

/// ContainerVariables and their values. Any of them may be a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, Secret>);

impl Environment {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Secret::reveal)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect())
    }
}

/// The variables that the metadata of a trigger refers to.
pub fn referenced_variables(metadata: &BTreeMap<String, String>) -> BTreeSet<String> {
    let refers = |name: &str| name.ends_with("FromEnv") || name.ends_with("FromEnvFile");
    let named = metadata.iter().filter(|(name, _)| refers(name)).map(|(_, variable)| variable.clone());
    named.filter(|variable| !variable.is_empty()).collect()
}

/// A container of a pod template, in the namespace of its workload.
#[derive(Clone, Copy, Debug)]
pub struct ContainerVariables<'a> {
    pub container: &'a Container,
    pub namespace: &'a str,
}

/// A Secret or ConfigMap that a variable comes from, and whether it may be absent.
struct Origin<'a> {
    reference: Reference,
    key: Option<&'a str>,
    optional: bool,
}

/// The requested variables and those that they refer to.
struct Names {
    all: BTreeSet<String>,
    /// Those of them that may come from `envFrom`.
    open: BTreeSet<String>,
}

/// What is known while variables are computed in their order.
#[derive(Default)]
struct Computed {
    values: BTreeMap<String, Result<Secret, CredentialError>>,
    /// Prefixes of variables that could have come from an object that is not there.
    lost: Vec<(String, CredentialError)>,
}

impl Computed {
    fn get(&self, name: &str) -> Option<Result<&Secret, &CredentialError>> {
        let lost = || self.lost.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, problem)| Err(problem));
        self.values.get(name).map(Result::as_ref).or_else(lost)
    }
}

impl<'a> ContainerVariables<'a> {
    /// The objects that these variables come from.
    pub fn needs(&self, wanted: &BTreeSet<String>) -> BTreeSet<Reference> {
        let Names { all, open } = self.names(wanted);
        let own = self.env().filter(|entry| all.contains(entry.name.as_str()));
        let own = own.filter_map(|entry| self.origin(entry));
        let whole = self.env_from().filter(|source| open.iter().any(|name| may_give(source, name)));
        own.chain(whole.filter_map(|source| self.origin_of_all(source))).map(|from| from.reference).collect()
    }

    /// The values of these variables, or every error. A variable that is defined nowhere has no value.
    pub fn compute(
        &self,
        wanted: &BTreeSet<String>,
        fetched: &BTreeMap<Reference, ReferenceContent>,
    ) -> Result<Environment, Vec<CredentialError>> {
        let Names { all, .. } = self.names(wanted);
        let mut computed = Computed::default();
        for source in self.env_from() {
            self.take_all(source, fetched, &mut computed);
        }
        for entry in self.env().filter(|entry| all.contains(entry.name.as_str())) {
            if let Some(value) = self.value(entry, fetched, &computed) {
                computed.values.insert(entry.name.clone(), value);
            }
        }
        let mut problems = Vec::new();
        let mut environment = Environment::default();
        for name in wanted {
            match computed.get(name) {
                Some(Ok(value)) => drop(environment.0.insert(name.clone(), value.clone())),
                Some(Err(problem)) if !problems.contains(problem) => problems.push(problem.clone()),
                Some(Err(_)) | None => {}
            }
        }
        if problems.is_empty() { Ok(environment) } else { Err(problems) }
    }

    fn env(&self) -> impl Iterator<Item = &'a EnvVar> {
        self.container.env.iter().flatten()
    }

    fn env_from(&self) -> impl Iterator<Item = &'a EnvFromSource> {
        self.container.env_from.iter().flatten()
    }

    /// The wanted variables, and those that their values refer to.
    fn names(&self, wanted: &BTreeSet<String>) -> Names {
        let entries: Vec<&EnvVar> = self.env().collect();
        let is_open = |name: &str, before: usize| {
            !entries[..before].iter().any(|entry| entry.name == name && self.always_sets(entry))
        };
        let open = wanted.iter().filter(|name| is_open(name, entries.len())).cloned().collect();
        let mut names = Names { all: wanted.clone(), open };
        // A value refers only to variables before it, so one iteration from the end finds all.
        for (index, entry) in entries.iter().enumerate().rev() {
            if !names.all.contains(entry.name.as_str()) {
                continue;
            }
            let note = |name: &str| {
                if is_open(name, index) {
                    names.open.insert(name.to_owned());
                }
                names.all.insert(name.to_owned());
                None
            };
            // Only its references count here.
            let _ = expand::expand(entry.value.as_deref().unwrap_or_default(), note);
        }
        names
    }

    /// Whether an entry gives its variable a value whatever else there is.
    fn always_sets(&self, entry: &'a EnvVar) -> bool {
        match &entry.value_from {
            None => true,
            Some(_) if entry.value.as_ref().is_some_and(|value| !value.is_empty()) => true,
            Some(_) => self.origin(entry).is_some_and(|from| !from.optional),
        }
    }

    /// Takes every key of a Secret or ConfigMap.
    fn take_all(
        &self,
        source: &EnvFromSource,
        fetched: &BTreeMap<Reference, ReferenceContent>,
        computed: &mut Computed,
    ) {
        let prefix = source.prefix.clone().unwrap_or_default();
        let Some(from) = self.origin_of_all(source) else { return };
        match fetched.get(&from.reference) {
            Some(ReferenceContent::Data(data)) => {
                for (key, value) in data {
                    let value = value.clone().ok_or_else(|| self.not_text(&from, key));
                    computed.values.insert(format!("{prefix}{key}"), value);
                }
            }
            Some(ReferenceContent::Missing) if !from.optional => computed.lost.push((prefix, self.missing(&from))),
            Some(ReferenceContent::Missing | ReferenceContent::Withheld) | None => {}
        }
    }

    /// The value of one entry; `None` leaves the variable as it was.
    fn value(
        &self,
        entry: &EnvVar,
        fetched: &BTreeMap<Reference, ReferenceContent>,
        computed: &Computed,
    ) -> Option<Result<Secret, CredentialError>> {
        if let Some(text) = entry.value.as_deref().filter(|text| !text.is_empty()) {
            return Some(self.expanded(entry, text, computed));
        }
        if entry.value_from.is_none() {
            return Some(Ok(Secret::new("")));
        }
        // KEDA: variables from fields of the pod are left out.
        let from = self.origin(entry)?;
        let key = from.key.unwrap_or_default();
        match fetched.get(&from.reference) {
            Some(ReferenceContent::Data(data)) => Some(match data.get(key) {
                Some(Some(value)) => Ok(value.clone()),
                Some(None) => Err(self.not_text(&from, key)),
                None if from.optional => Ok(Secret::new("")),
                None => Err(CredentialError::NoKey {
                    reference: from.reference.clone(),
                    key: key.to_owned(),
                    place: self.place(),
                }),
            }),
            Some(ReferenceContent::Missing) if !from.optional => Some(Err(self.missing(&from))),
            Some(ReferenceContent::Missing | ReferenceContent::Withheld) | None => None,
        }
    }

    fn expanded(&self, entry: &EnvVar, text: &str, computed: &Computed) -> Result<Secret, CredentialError> {
        let mut broken = None;
        let value = expand::expand(text, |name| match computed.get(name)? {
            Ok(value) => Some(value.reveal()),
            Err(problem) => {
                broken.get_or_insert(problem.clone());
                None
            }
        });
        match (broken, value) {
            (Some(problem), _) => Err(problem),
            (None, Some(value)) => Ok(Secret::new(value)),
            (None, None) => Err(CredentialError::invalid(
                format!("the variable {} of {}", entry.name, self.place()),
                format!("becomes longer than {} bytes", expand::LENGTH_MAX),
                "shorten it",
            )),
        }
    }

    fn origin_of_all(&self, source: &EnvFromSource) -> Option<Origin<'a>> {
        let one = |kind, name: &str, optional: Option<bool>| {
            Some(Origin { reference: self.reference(kind, name), key: None, optional: optional == Some(true) })
        };
        match (&source.config_map_ref, &source.secret_ref) {
            (Some(map), _) => one(ReferenceKind::ConfigMap, &map.name, map.optional),
            (None, Some(secret)) => one(ReferenceKind::Secret, &secret.name, secret.optional),
            (None, None) => None,
        }
    }

    fn origin(&self, entry: &'a EnvVar) -> Option<Origin<'a>> {
        let source = entry.value_from.as_ref()?;
        let one = |kind, name: &str, key: &'a str, optional: Option<bool>| {
            Some(Origin { reference: self.reference(kind, name), key: Some(key), optional: optional == Some(true) })
        };
        match (&source.secret_key_ref, &source.config_map_key_ref) {
            (Some(secret), _) => one(ReferenceKind::Secret, &secret.name, &secret.key, secret.optional),
            (None, Some(map)) => one(ReferenceKind::ConfigMap, &map.name, &map.key, map.optional),
            (None, None) => None,
        }
    }

    fn reference(&self, kind: ReferenceKind, name: &str) -> Reference {
        Reference::new(kind, self.namespace, name)
    }

    fn place(&self) -> String {
        format!("the environment of container {} of the target", self.container.name)
    }

    fn missing(&self, from: &Origin<'_>) -> CredentialError {
        CredentialError::Missing { reference: from.reference.clone(), place: self.place() }
    }

    fn not_text(&self, from: &Origin<'_>, key: &str) -> CredentialError {
        CredentialError::NotText { reference: from.reference.clone(), key: key.to_owned(), place: self.place() }
    }
}

fn may_give(source: &EnvFromSource, name: &str) -> bool {
    name.starts_with(source.prefix.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests;
