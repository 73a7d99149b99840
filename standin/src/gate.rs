//! A gate in a reply: the reply stops there until a test opens it.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds replies until it is opened, and then lets everyone through for good.
///
/// Clones are the same gate.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrivals: usize,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everyone through who waits, and everyone who comes later.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Number of replies that have come to the gate so far.
    #[must_use]
    pub fn arrivals(&self) -> usize {
        self.state.borrow().arrivals
    }

    /// Waits until a reply has come to the gate.
    pub async fn reached(&self) {
        self.until(|state| state.arrivals > 0).await;
    }

    /// Lets a reply through at the gate.
    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.arrivals += 1);
        self.until(|state| state.open).await;
    }

    async fn until(&self, met: impl FnMut(&State) -> bool) {
        let mut watcher = self.state.subscribe();
        // It fails only when the sender was dropped, and `self` holds the sender.
        if watcher.wait_for(met).await.is_err() {
            log::debug!("a gate vanished");
        }
    }
}
