//! Waiting for what no event tells: the one loop that looks again and again.

use std::time::Duration;

use crate::client::within;

/// Pause between two looks: short compared with everything that is waited for.
const PAUSE: Duration = Duration::from_millis(3);

/// An answer of a look: there it is, or not yet.
pub(crate) trait Look {
    /// The thing that was looked for.
    type Found;

    /// The thing, if it is there.
    fn found(self) -> Option<Self::Found>;
}

impl Look for bool {
    type Found = ();

    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> Look for Option<T> {
    type Found = T;

    fn found(self) -> Self {
        self
    }
}

/// Looks until it is there, within the limit of all tests; `what` names it when it does not come.
pub(crate) async fn eventually<L: Look>(what: &str, mut look: impl AsyncFnMut() -> L) -> L::Found {
    within(what, async {
        loop {
            if let Some(found) = look().await.found() {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await
}
