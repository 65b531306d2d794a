//! Records which parameters are read from which source, so that a test can compare them with the descriptors.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::field::Source;

thread_local! {
    static RECORDED: RefCell<BTreeSet<(&'static str, Source)>> = const { RefCell::new(BTreeSet::new()) };
}

pub(super) fn record(name: &'static str, source: Source) {
    RECORDED.with_borrow_mut(|recorded| recorded.insert((name, source)));
}

/// The names and sources that this thread read since the last call.
pub(crate) fn take() -> BTreeSet<(&'static str, Source)> {
    RECORDED.take()
}
