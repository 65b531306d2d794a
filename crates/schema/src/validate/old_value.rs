//! What a value was before an update, as far as it can be told: fields by their names, items by their keys.

use serde_json::Value;

use crate::node::{List, Node};

/// The earlier value of a place, and what the schema says of the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldValue<'a> {
    pub(crate) value: &'a Value,
    pub(crate) node: &'a Node,
}

impl<'a> OldValue<'a> {
    /// A field's; at the root, what an object is has no past.
    pub(crate) fn field(self, path: &str, name: &str) -> Option<OldValue<'a>> {
        if path.is_empty() && matches!(name, "apiVersion" | "kind") {
            return None;
        }
        Some(OldValue { value: self.value.get(name)?, node: self.node.field(name)? })
    }

    /// That of an item of a list whose items have keys.
    pub(crate) fn item(self, item: &Value) -> Option<OldValue<'a>> {
        let (List::Map(keys), Some(node)) = (&self.node.list, &self.node.items) else { return None };
        let same = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
        let value = self.value.as_array()?.iter().find(same)?;
        Some(OldValue { value, node })
    }
}
