//! The marks on an object that is looked after: the finalizer, and the label with its name.

use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::names::{FINALIZER, labels};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::{PassError, Passes};

impl Passes {
    /// Puts the marks on an object that lacks them, in one write.
    pub(super) async fn mark(&self, object: Arc<ScaledObject>) -> Result<Arc<ScaledObject>, PassError> {
        let meta = &object.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let finalizers = meta.finalizers.clone().unwrap_or_default();
        let labelled = meta.labels.as_ref().and_then(|labels| labels.get(labels::SCALED_OBJECT_NAME)) == Some(&name);
        if finalizers.iter().any(|one| one == FINALIZER) && labelled {
            return Ok(object);
        }
        let mut wanted = finalizers;
        if !wanted.iter().any(|one| one == FINALIZER) {
            wanted.push(FINALIZER.to_owned());
        }
        // The version makes this fail, and be made anew, if somebody changed the finalizers meanwhile.
        let patch = json!({ "metadata": {
            "resourceVersion": meta.resource_version,
            "finalizers": wanted,
            "labels": { labels::SCALED_OBJECT_NAME: name },
        }});
        let marked = self.patch_object(&object, &patch).await?;
        Ok(Arc::new(marked))
    }

    /// Patches the object itself, and takes the result at once.
    pub(super) async fn patch_object(
        &self,
        object: &ScaledObject,
        patch: &serde_json::Value,
    ) -> Result<ScaledObject, PassError> {
        let (namespace, name) = (object.metadata.namespace.as_deref(), object.metadata.name.as_deref());
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), namespace.unwrap_or_default());
        let written = api.patch(name.unwrap_or_default(), &PatchParams::default(), &Patch::Merge(patch)).await;
        let written = written.map_err(PassError::api("cannot mark the ScaledObject"))?;
        self.world.wrote_object(written.clone());
        Ok(written)
    }
}
