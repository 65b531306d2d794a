//! An object that is to give back what its target had does so before it is gone.

use kedge_plane::store::Happened;

use super::Evidence;
use crate::scenario::NAME;

pub(super) fn restored_before_the_end(evidence: &Evidence) -> Vec<String> {
    let ended = evidence.changes_of("ScaledObject").filter(|change| change.happened == Happened::Deleted);
    let broken = ended.filter_map(|end| {
        let asked = end.after["spec"]["advanced"]["restoreToOriginalReplicaCount"] == true;
        let original = end.after["status"]["originalReplicaCount"].as_i64().filter(|_| asked)?;
        let before = evidence.changes_of("Deployment").take_while(|change| change.revision <= end.revision);
        let target = before.filter(|change| change.name == NAME).last()?;
        let has = target.after["spec"]["replicas"].as_i64()?;
        (has != original).then(|| format!("the object is gone, and its target has {has} instead of {original}"))
    });
    broken.collect()
}
