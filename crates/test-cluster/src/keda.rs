//! What KEDA ships, from the source it publishes: its CRDs, and a chart that owns them as its own chart does.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::tools;

/// The CRDs that Kedge has too, by plural.
const SHARED: [&str; 4] = ["clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications"];

/// Those that only KEDA has.
const THEIRS: [&str; 2] = ["cloudeventsources", "clustercloudeventsources"];

/// The CRDs as KEDA releases them: its generated ones, changed by the patches that it keeps beside them.
pub fn released_crds() -> anyhow::Result<Vec<Value>> {
    SHARED.iter().map(|plural| released_crd("keda.sh", plural)).collect()
}

fn released_crd(group: &str, plural: &str) -> anyhow::Result<Value> {
    let folder = tools::keda_source()?.join("config/crd");
    let mut crd = read_yaml(&folder.join(format!("bases/{group}_{plural}.yaml")))?;
    let patches = [("scaledobjects", "scaledobject_patch.yaml"), ("scaledjobs", "scaledjob_patch.yaml")];
    for (_, patch) in patches.iter().filter(|(patched, _)| *patched == plural) {
        let patch = read_yaml(&folder.join("patches").join(patch))?;
        json_patch::patch(&mut crd, &serde_json::from_value::<json_patch::Patch>(patch)?)?;
    }
    Ok(crd)
}

/// Writes the CRDs that KEDA's operator watches, as files for kubectl.
pub fn write_crds(folder: &Path) -> anyhow::Result<()> {
    for (group, plural) in all_crds() {
        fs::write(folder.join(format!("{plural}.{group}.json")), released_crd(group, plural)?.to_string())?;
    }
    Ok(())
}

/// The CRDs by group and plural.
fn all_crds() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHARED.map(|plural| ("keda.sh", plural)).into_iter().chain(THEIRS.map(|plural| ("eventing.keda.sh", plural)))
}

/// Puts a chart into a new folder that replaces KEDA's where names, owners and CRDs matter, and nothing runs: the templates
/// in `charts/keda-like`, and the CRDs from KEDA's source. KEDA publishes its chart elsewhere than its source.
pub fn write_chart(folder: &Path) -> anyhow::Result<PathBuf> {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/keda-like");
    copy(&templates, folder)?;
    let crds = folder.join("files/crds");
    fs::create_dir_all(&crds).with_context(|| format!("cannot create {}", crds.display()))?;
    for (group, plural) in all_crds() {
        let spec = serde_json::json!({ "spec": released_crd(group, plural)?["spec"] });
        fs::write(crds.join(format!("{plural}.{group}.yaml")), serde_saphyr::to_string(&spec)?)?;
    }
    Ok(folder.to_owned())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot write {}", target.display()))?;
        }
    }
    Ok(())
}

fn read_yaml(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| path.display().to_string())
}
