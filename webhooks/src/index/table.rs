//! Small entries by namespace and name, with secondary keys.

use std::collections::HashMap;

/// An entry of a table.
pub trait Entry {
    /// The secondary keys, each at its position.
    fn keys(&self) -> [Option<&str>; 2];
}

/// The entries of a kind.
#[derive(Debug)]
pub struct Table<E> {
    namespaces: HashMap<Box<str>, NamespaceEntries<E>>,
}

/// The entries of one namespace.
#[derive(Debug)]
struct NamespaceEntries<E> {
    entries: HashMap<Box<str>, E>,
    /// The names of the entries by secondary key. Few entries share one.
    by_key: [HashMap<Box<str>, Vec<Box<str>>>; 2],
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { namespaces: HashMap::new() }
    }
}

impl<E> Default for NamespaceEntries<E> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_key: Default::default() }
    }
}

impl<E: Entry> Table<E> {
    pub fn put(&mut self, namespace: &str, name: &str, entry: E) {
        self.remove(namespace, name);
        let space = self.namespaces.entry(namespace.into()).or_default();
        for (by_key, key) in space.by_key.iter_mut().zip(entry.keys()) {
            if let Some(key) = key {
                by_key.entry(key.into()).or_insert_with(|| Vec::with_capacity(1)).push(name.into());
            }
        }
        space.entries.insert(name.into(), entry);
    }

    pub fn remove(&mut self, namespace: &str, name: &str) {
        let Some(space) = self.namespaces.get_mut(namespace) else { return };
        let Some(entry) = space.entries.remove(name) else { return };
        for (by_key, key) in space.by_key.iter_mut().zip(entry.keys()) {
            let Some((key, names)) = key.and_then(|key| Some((key, by_key.get_mut(key)?))) else { continue };
            names.retain(|known| &**known != name);
            if names.is_empty() {
                by_key.remove(key);
            }
        }
        if space.entries.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    /// Replaces the entries of a namespace by those of another table.
    pub fn replace(&mut self, namespace: &str, mut with: Self) {
        match with.namespaces.remove(namespace) {
            Some(space) => drop(self.namespaces.insert(namespace.into(), space)),
            None => drop(self.namespaces.remove(namespace)),
        }
    }

    pub fn get(&self, namespace: &str, name: &str) -> Option<&E> {
        self.namespaces.get(namespace)?.entries.get(name)
    }

    /// The entries with a secondary key at a position, ordered by name.
    pub fn find_by_key<'t>(&'t self, namespace: &str, position: usize, key: &str) -> Vec<(&'t str, &'t E)> {
        let Some(space) = self.namespaces.get(namespace) else { return Vec::new() };
        let names = space.by_key[position].get(key).into_iter().flatten();
        let mut found: Vec<_> = names.filter_map(|name| Some((&**name, space.entries.get(name)?))).collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }

    /// All entries of a namespace.
    pub fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = &E> {
        self.namespaces.get(namespace).into_iter().flat_map(|space| space.entries.values())
    }

    pub fn len(&self) -> usize {
        self.namespaces.values().map(|space| space.entries.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Pair(&'static str, &'static str);

    impl Entry for Pair {
        fn keys(&self) -> [Option<&str>; 2] {
            [Some(self.0), Some(self.1)]
        }
    }

    #[test]
    fn entries_are_found_by_their_current_keys() {
        let mut table = Table::default();
        table.put("n", "b", Pair("web", "x"));
        table.put("n", "a", Pair("web", "y"));
        table.put("m", "a", Pair("web", "x"));
        let names = |table: &Table<Pair>, namespace: &str, position: usize, key: &str| {
            table.find_by_key(namespace, position, key).iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&table, "n", 0, "web"), ["a", "b"]);
        assert_eq!(names(&table, "n", 1, "x"), ["b"]);
        table.put("n", "b", Pair("other", "x"));
        assert_eq!(
            (names(&table, "n", 0, "web"), names(&table, "n", 0, "other")),
            (vec!["a".to_owned()], vec!["b".to_owned()])
        );
        table.remove("n", "a");
        table.remove("n", "b");
        table.remove("n", "never there");
        assert!(names(&table, "n", 0, "web").is_empty() && table.len() == 1);
        table.remove("m", "a");
        assert!(table.is_empty(), "nothing is left of an empty namespace");
    }
}
