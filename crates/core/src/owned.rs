//! What an object that Kedge makes has of its owner: the owner reference, and the labels.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kedge_api::names;

/// The owner reference that makes an object the owner's, and deletes it with the owner.
pub(crate) fn owner_reference(kind: &str, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/{}", names::GROUP, names::VERSION),
        kind: kind.to_owned(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// These labels, and those of the owner but for the ones that its annotation of this name excludes.
// KEDA: the owner's own labels win.
pub(crate) fn with_labels_of_owner(
    labels: impl IntoIterator<Item = (&'static str, String)>,
    owner: &ObjectMeta,
    excluding: &str,
) -> BTreeMap<String, String> {
    let excluded = owner.annotations.as_ref().and_then(|notes| notes.get(excluding));
    let excluded: BTreeSet<&str> = excluded.into_iter().flat_map(|list| list.split(',')).collect();
    let own = owner.labels.iter().flatten().filter(|(key, _)| !excluded.contains(key.as_str()));
    let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value));
    labels.chain(own.map(|(key, value)| (key.clone(), value.clone()))).collect()
}
