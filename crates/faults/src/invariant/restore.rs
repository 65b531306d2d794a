//! An object that restores the original replicas does so before it is removed.

use kedge_plane::ChangeType;

use super::RunRecord;
use crate::scenario::NAME;

pub(super) fn restored_before_removal(record: &RunRecord) -> Vec<String> {
    let ended = record.changes_of("ScaledObject").filter(|change| change.change_type == ChangeType::Deleted);
    let broken = ended.filter_map(|end| {
        let requested = end.after["spec"]["advanced"]["restoreToOriginalReplicaCount"] == true;
        let original = end.after["status"]["originalReplicaCount"].as_i64().filter(|_| requested)?;
        let before = record.changes_of("Deployment").take_while(|change| change.revision <= end.revision);
        let target = before.filter(|change| change.name == NAME).last()?;
        let has = target.after["spec"]["replicas"].as_i64()?;
        (has != original)
            .then(|| format!("the object is removed, and its target has {has} replicas instead of {original}"))
    });
    broken.collect()
}
