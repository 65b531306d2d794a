//! The switch of the mutants: the environment names one, and the threads that run perturbed scenarios turn it on. Baselines run
//! on another thread, without it.

use std::cell::Cell;
use std::sync::LazyLock;

static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("KEDGE_MUTANT").ok());

thread_local! {
    static ACTIVE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Turns on, for the rest of this thread, the mutant that the environment names.
pub fn activate_on_this_thread() {
    ACTIVE.set(CHOSEN.as_deref());
}

/// Whether this thread runs this mutant.
pub fn is_active(mutant: &str) -> bool {
    ACTIVE.get() == Some(mutant)
}
