//! The value before an update: fields are correlated by name, items by their list map keys.

use serde_json::Value;

use crate::node::{List, Node};

/// The old value, and its schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldValue<'a> {
    pub(crate) value: &'a Value,
    pub(crate) node: &'a Node,
}

impl<'a> OldValue<'a> {
    /// The old value of a field; `apiVersion`, `kind` and `metadata` of the root have none.
    pub(crate) fn field(self, path: &str, name: &str) -> Option<OldValue<'a>> {
        if path.is_empty() && matches!(name, "apiVersion" | "kind") {
            return None;
        }
        Some(OldValue { value: self.value.get(name)?, node: self.node.field(name)? })
    }

    /// The old value of an item in a list of type map.
    pub(crate) fn item(self, item: &Value) -> Option<OldValue<'a>> {
        let (List::Map(keys), Some(node)) = (&self.node.list, &self.node.items) else { return None };
        let same = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
        let value = self.value.as_array()?.iter().find(same)?;
        Some(OldValue { value, node })
    }
}
