//! A sorted set that mostly has one member, and then takes the memory of one.

use std::slice;

#[derive(Debug)]
pub(super) struct SmallSet<T>(Vec<T>);

impl<T> Default for SmallSet<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> SmallSet<T> {
    pub(super) fn insert(&mut self, member: T) {
        if let Err(place) = self.0.binary_search(&member) {
            self.0.reserve_exact(1);
            self.0.insert(place, member);
        }
    }

    pub(super) fn remove(&mut self, member: &T) {
        if let Ok(place) = self.0.binary_search(member) {
            self.0.remove(place);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a, T> IntoIterator for &'a SmallSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_and_each_is_in_it_once() {
        let mut set = SmallSet::default();
        ["web", "api", "web"].into_iter().for_each(|one| set.insert(one));
        assert_eq!((&set).into_iter().copied().collect::<Vec<_>>(), ["api", "web"]);
        ["api", "none", "web"].iter().for_each(|one| set.remove(one));
        assert!(set.is_empty());
    }
}
