//! Errands beside each other: those of one kind in their order, those of different kinds at once.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

type Errand = LocalBoxFuture<'static, ()>;

/// The errands that are under way, by their kinds. Dropping it drops them.
pub(super) struct Lanes<K> {
    waiting: HashMap<K, UnboundedSender<Errand>>,
    workers: JoinSet<()>,
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            workers: JoinSet::new(),
        }
    }
}

impl<K: Copy + Debug + Eq + Hash> Lanes<K> {
    /// Starts an errand when those of its lane are done that came before it.
    pub(super) fn add(&mut self, lane: K, errand: impl Future<Output = ()> + 'static) {
        let workers = &mut self.workers;
        let waiting = self.waiting.entry(lane).or_insert_with(|| {
            let (sender, mut errands) = unbounded_channel::<Errand>();
            workers.spawn_local(async move {
                while let Some(errand) = errands.recv().await {
                    errand.await;
                }
            });
            sender
        });
        if waiting.send(Box::pin(errand)).is_err() {
            log::error!("the lane {lane:?} has ended");
        }
    }

    /// Waits until all errands are done, but no longer than this.
    pub(super) async fn finish(mut self, limit: Duration) {
        self.waiting.clear();
        let done = async { while self.workers.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, done).await.is_err() {
            log::debug!("orders were dropped that were under way");
        }
    }
}
