//! A script as data: `scripts/SUBJECT/NAME.yaml`, a list of steps.
//!
//! | step | what happens |
//! |---|---|
//! | `call: METHOD PATH` | sends a request; its response is compared |
//! | `crd: BASE` | creates a CRD and waits until it is established; both responses are compared |
//! | `watch: PATH` | opens a watch; a refusal is compared |
//! | `events: NAME` | `count` events of that watch, or all until it ends, are compared |
//!
//! Later steps refer to a response by the name of its step, `as` or else its number: `${made.metadata.uid}`.

use std::collections::BTreeMap;
use std::path::Path;

use kedge_tests::files;
use serde::Deserialize;
use serde_json::Value;

/// One script.
#[derive(Debug)]
pub(crate) struct Script {
    /// `SUBJECT/NAME`.
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// One step, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The name of the step.
    #[serde(rename = "as")]
    pub(crate) name: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) crd: Option<String>,
    pub(crate) watch: Option<String>,
    pub(crate) events: Option<String>,
    /// The step is taken once for each of these, as `${each}`.
    #[serde(rename = "for")]
    pub(crate) each: Option<Vec<String>>,
    /// The status code that the real API server must respond with.
    pub(crate) expect: Option<u16>,
    /// A file in `bases`, to which the body is applied as a merge patch.
    pub(crate) base: Option<String>,
    pub(crate) body: Option<Value>,
    /// A body that is sent as it is.
    pub(crate) text: Option<String>,
    /// Which kind of patch the body is.
    pub(crate) patch: Option<Patch>,
    /// A content type other than that of JSON, or of the patch.
    #[serde(rename = "type")]
    pub(crate) content_type: Option<String>,
    pub(crate) accept: Option<String>,
    /// The request is repeated until the response has these values.
    pub(crate) until: Option<BTreeMap<String, Value>>,
    pub(crate) count: Option<usize>,
}

/// The kinds of patches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Patch {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Patch {
    /// The content type of such a patch.
    fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

impl Step {
    /// The content type of its request, where it has a body.
    pub(crate) fn content_type(&self) -> &str {
        let by_patch = self.patch.map_or("application/json", Patch::content_type);
        self.content_type.as_deref().unwrap_or(by_patch)
    }
}

impl Script {
    /// All scripts, by name.
    pub(crate) fn read_all() -> Vec<Self> {
        let folder = files::workspace().join("tests/conformance/scripts");
        let subjects = std::fs::read_dir(&folder).expect("the folder of the scripts");
        let mut paths: Vec<_> =
            subjects.flat_map(|subject| files::list(&subject.expect("a readable folder").path(), "yaml")).collect();
        paths.sort();
        paths.iter().map(|path| Self::load(&folder, path)).collect()
    }

    fn load(folder: &Path, path: &Path) -> Self {
        let name = path.strip_prefix(folder).expect("it was found there").with_extension("").display().to_string();
        let steps = serde_saphyr::from_str(&files::read(path));
        Self { steps: steps.unwrap_or_else(|error| panic!("{name}: {error}")), name }
    }
}

/// A file of `bases`.
pub(crate) fn base(name: &str) -> Value {
    files::read_yaml(&files::workspace().join(format!("tests/conformance/bases/{name}.yaml")))
}
