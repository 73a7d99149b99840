//! The limit of workflows that work at the same time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workflows that work, and how many may at once. Clones are the same.
#[derive(Debug, Clone)]
pub struct WorkSlots {
    most: usize,
    at_work: Arc<Mutex<BTreeSet<String>>>,
}

impl WorkSlots {
    /// Room for so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            at_work: Arc::default(),
        }
    }

    /// Room for any number.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// True if the workflow of that id may begin to work.
    pub(super) fn has_for(&self, id: &str) -> bool {
        let at_work = self.lock();
        at_work.contains(id) || at_work.len() < self.most
    }

    /// Lets one of that id begin to work.
    ///
    /// # Errors
    /// Why not, and a way out.
    pub(super) fn take(&self, id: &str) -> Result<(), String> {
        let mut at_work = self.lock();
        if !at_work.contains(id) && at_work.len() >= self.most {
            let others: Vec<&str> = at_work.iter().map(String::as_str).collect();
            return Err(format!(
                "at most {} may work at once (max_workflows), and {} at work: {}; wait, pause one, or raise the \
                 setting",
                if self.most == 1 {
                    "1 workflow".to_owned()
                } else {
                    format!("{} workflows", self.most)
                },
                if others.len() == 1 {
                    "1 is".to_owned()
                } else {
                    format!("{} are", others.len())
                },
                others.join(", ")
            ));
        }
        at_work.insert(id.to_owned());
        Ok(())
    }

    /// Notes that a workflow works or rests: work that continues after a crash, or after a person's answer, is not
    /// refused.
    pub(super) fn note(&self, id: &str, works: bool) {
        let mut at_work = self.lock();
        if works {
            at_work.insert(id.to_owned());
        } else {
            at_work.remove(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-226]
    #[test]
    fn as_many_work_as_may_and_who_works_already_is_not_counted_twice() {
        let room = WorkSlots::new(2);
        assert_eq!(
            (room.take("a"), room.take("b"), room.take("a")),
            (Ok(()), Ok(()), Ok(()))
        );
        let refused = room.take("c").unwrap_err();
        assert_eq!(
            refused,
            "at most 2 workflows may work at once (max_workflows), and 2 are at work: a, b; wait, pause one, or \
             raise the setting"
        );
        assert!(!room.has_for("c") && room.has_for("b"));
        room.note("a", false);
        assert_eq!(room.take("c"), Ok(()));
        room.note("d", true);
        assert!(!room.has_for("e"));
    }
}
