//! Small entries by namespace and name, found also by the words that they hold.

use std::collections::HashMap;

/// What a table can hold.
pub trait Entry {
    /// The words by which it is found, each in its own place.
    fn words(&self) -> [Option<&str>; 2];
}

/// The entries of a kind.
#[derive(Debug)]
pub struct Table<E> {
    spaces: HashMap<Box<str>, Space<E>>,
}

/// Those of one namespace.
#[derive(Debug)]
struct Space<E> {
    entries: HashMap<Box<str>, E>,
    /// The names of the entries that hold a word. Few share one.
    by_word: [HashMap<Box<str>, Vec<Box<str>>>; 2],
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { spaces: HashMap::new() }
    }
}

impl<E> Default for Space<E> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_word: Default::default() }
    }
}

impl<E: Entry> Table<E> {
    pub fn put(&mut self, namespace: &str, name: &str, entry: E) {
        self.remove(namespace, name);
        let space = self.spaces.entry(namespace.into()).or_default();
        for (by_word, word) in space.by_word.iter_mut().zip(entry.words()) {
            if let Some(word) = word {
                by_word.entry(word.into()).or_insert_with(|| Vec::with_capacity(1)).push(name.into());
            }
        }
        space.entries.insert(name.into(), entry);
    }

    pub fn remove(&mut self, namespace: &str, name: &str) {
        let Some(space) = self.spaces.get_mut(namespace) else { return };
        let Some(entry) = space.entries.remove(name) else { return };
        for (by_word, word) in space.by_word.iter_mut().zip(entry.words()) {
            let Some((word, names)) = word.and_then(|word| Some((word, by_word.get_mut(word)?))) else { continue };
            names.retain(|known| &**known != name);
            if names.is_empty() {
                by_word.remove(word);
            }
        }
        if space.entries.is_empty() {
            self.spaces.remove(namespace);
        }
    }

    /// Puts all that another table has of a namespace in the place of all that this one has of it.
    pub fn replace(&mut self, namespace: &str, mut with: Self) {
        match with.spaces.remove(namespace) {
            Some(space) => drop(self.spaces.insert(namespace.into(), space)),
            None => drop(self.spaces.remove(namespace)),
        }
    }

    pub fn get(&self, namespace: &str, name: &str) -> Option<&E> {
        self.spaces.get(namespace)?.entries.get(name)
    }

    /// The entries that hold a word in a place, by name.
    pub fn holding<'t>(&'t self, namespace: &str, place: usize, word: &str) -> Vec<(&'t str, &'t E)> {
        let Some(space) = self.spaces.get(namespace) else { return Vec::new() };
        let names = space.by_word[place].get(word).into_iter().flatten();
        let mut found: Vec<_> = names.filter_map(|name| Some((&**name, space.entries.get(name)?))).collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }

    /// All entries of a namespace.
    pub fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = &E> {
        self.spaces.get(namespace).into_iter().flat_map(|space| space.entries.values())
    }

    pub fn len(&self) -> usize {
        self.spaces.values().map(|space| space.entries.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Pair(&'static str, &'static str);

    impl Entry for Pair {
        fn words(&self) -> [Option<&str>; 2] {
            [Some(self.0), Some(self.1)]
        }
    }

    #[test]
    fn entries_are_found_by_what_they_hold_now() {
        let mut table = Table::default();
        table.put("n", "b", Pair("web", "x"));
        table.put("n", "a", Pair("web", "y"));
        table.put("m", "a", Pair("web", "x"));
        let names = |table: &Table<Pair>, namespace: &str, place: usize, word: &str| {
            table.holding(namespace, place, word).iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>()
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
