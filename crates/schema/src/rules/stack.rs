//! A stack that is large enough for deep rules: in debug builds, the `cel` crate takes up to 170 KiB of it for a level.

use std::panic::resume_unwind;
use std::thread;

/// 5000 characters make at most 2500 levels of 40 KiB; what is not touched is not taken.
const STACK_BYTES: usize = 256 << 20;

/// Runs a closure on a thread with a large stack.
pub(crate) fn with_deep_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("rules".to_owned()).stack_size(STACK_BYTES);
        let handle = builder.spawn_scoped(scope, work).expect("the system has room for a thread");
        handle.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
