//! Confines a panic to one object: whatever its manifest and its sources hold, the other objects are reconciled.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// A future panicked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// The result of a future, or that it panicked.
// Not an async function: that would hold the future twice.
pub(crate) fn without_panic<T>(future: impl Future<Output = T>) -> impl Future<Output = Result<T, Panicked>> {
    AssertUnwindSafe(future).catch_unwind().map(|outcome| outcome.map_err(|_| Panicked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_confined_to_its_future() {
        assert_eq!(without_panic(async { 1 }).await, Ok(1));
        let broken = async {
            tokio::task::yield_now().await;
            panic!("a defect")
        };
        assert_eq!(without_panic::<u32>(broken).await, Err(Panicked));
    }
}
