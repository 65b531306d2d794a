//! What a value was before an update, as far as it can be told: fields by their names, items by their keys.

use serde_json::Value;

use crate::schema::node::{List, Node};

/// The earlier value of a place, and what the schema says of the place.
#[derive(Clone, Copy, Debug)]
pub(in crate::schema) struct Past<'a> {
    pub(in crate::schema) value: &'a Value,
    pub(in crate::schema) node: &'a Node,
}

impl<'a> Past<'a> {
    /// A field's; at the root, what an object is has no past.
    pub(in crate::schema) fn field(self, path: &str, name: &str) -> Option<Past<'a>> {
        if path.is_empty() && matches!(name, "apiVersion" | "kind") {
            return None;
        }
        Some(Past { value: self.value.get(name)?, node: self.node.field(name)? })
    }

    /// That of an item of a list whose items have keys.
    pub(in crate::schema) fn item(self, item: &Value) -> Option<Past<'a>> {
        let (List::Map(keys), Some(node)) = (&self.node.list, &self.node.items) else { return None };
        let same = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
        let value = self.value.as_array()?.iter().find(same)?;
        Some(Past { value, node })
    }
}
