//! The same work for many files in a few threads: what takes long about a file is that it is flushed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Maximum number of threads.
const MAX_THREADS: usize = 4;

/// Does a work for each item, for several at the same time. The results have the order of the items. Blocks.
///
/// # Panics
/// If the work does.
pub(super) fn for_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work_on = || {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return results;
            };
            results.push((at, work(item)));
        }
    };
    let mut results = thread::scope(|scope| {
        let others = MAX_THREADS.min(items.len()).saturating_sub(1);
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work_on)).collect();
        let mut results = work_on();
        for other in others {
            match other.join() {
                Ok(other) => results.extend(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [UNDO-785]
    #[test]
    fn each_item_has_its_result_whatever_thread_works_on_it() {
        for count in [0, 1, 2, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(for_each(&items, |item| item * 2), doubled);
        }
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_comes_through() {
        let items: Vec<usize> = (0..100).collect();
        for_each(&items, |item| assert_ne!(*item, 7, "item 7"));
    }
}
