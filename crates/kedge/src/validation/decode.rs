//! Objects of files as typed values: an error names the file, the line, the field and the remedy.

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use super::schema::{KindSchemas, SCHEMA};
use super::{QUOTE_IT, quote_remedy};
use crate::manifests::{LocatedDocument, name_of};

/// Decodes the objects of KEDA's kinds, as the API server stores them.
#[derive(Debug)]
pub(crate) struct Decoder {
    schemas: KindSchemas,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { schemas: KindSchemas::new() }
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self, located: &LocatedDocument) -> anyhow::Result<T> {
        let object = &located.document.object;
        let kind = object["kind"].as_str().unwrap_or_default();
        let check = self.schemas.check(kind, object).with_context(|| format!("keda.sh has no kind {kind:?}"))?;
        if let Some(wrong) = check.violations.iter().find(|violation| violation.rule == &SCHEMA) {
            let remedy = match located.document.written(&wrong.path) {
                Some(written) if wrong.remedy.starts_with(QUOTE_IT) => quote_remedy(written),
                _ => wrong.remedy.clone(),
            };
            let (place, name) = (located.place(&wrong.path), name_of(object));
            bail!("{place}: {name}: {}: {}; {remedy}", wrong.path, wrong.problem);
        }
        let place = || format!("{}: {} cannot be read", located.place(&Default::default()), name_of(object));
        T::deserialize(check.object).with_context(place)
    }
}
