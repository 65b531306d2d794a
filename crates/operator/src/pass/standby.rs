//! What a replica does that does not lead, and one that leads before its first pass over an object: it builds the triggers of an object
//! when somebody asks for its metrics, and drops them when they no longer fit. It writes nothing.

use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_core::policy::Policy;

use super::{Passes, problem_of};
use crate::board::ObjectBoard;
use crate::build::Earlier;
use kedge_cluster::ObjectKey;

impl Passes {
    /// The triggers of an object as it is now: as built before, or built now. Else why there are none.
    pub async fn board_on_demand(&self, key: &ObjectKey, object: &ScaledObject) -> Result<Arc<ObjectBoard>, String> {
        if let Some(board) = self.board.get(key).filter(|board| self.is_current(board, object)) {
            return Ok(board);
        }
        if let Some((_, problem)) = problem_of(object) {
            return Err(problem);
        }
        if Policy::from_spec(&object.spec, object.metadata.annotations.as_ref()).overrides.is_paused() {
            return Err("it is paused".to_owned());
        }
        let hpa = self.own_hpa(object);
        let target = self
            .targets
            .resolve(object.metadata.namespace.as_deref().unwrap_or_default(), &object.spec.scale_target_ref)
            .await
            .map_err(|error| error.to_string())?;
        let old = self.board.get(key).filter(|old| old.fits(object));
        let board = self.builder.build(object, &target, Earlier { board: old.as_deref(), hpa: hpa.as_deref() }).await;
        // A pass, or another question, may have been quicker.
        if let Some(newer) = self.board.get(key).filter(|board| self.is_current(board, object)) {
            return Ok(newer);
        }
        self.drop_stale(key);
        self.board.put(key.clone(), board.clone());
        Ok(board)
    }

    /// Drops the triggers of an object that changed or is gone.
    pub fn drop_stale(&self, key: &ObjectKey) {
        let object = self.world.object(key);
        if object.is_none() {
            self.credentials.references.forget(key);
        }
        let fits = |board: &ObjectBoard| object.as_ref().is_some_and(|object| self.is_current(board, object));
        if self.board.get(key).is_some_and(|board| !fits(&board))
            && let Some(old) = self.board.remove(key)
        {
            self.telemetry.forget(key, &old.triggers);
        }
    }
}
