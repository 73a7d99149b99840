//! Prompts that were sent from here and are not on record yet.

use std::collections::HashSet;

use super::part::{Author, Part, PartId, PartKind};

/// The first id of pending prompts, which come after all else.
const FIRST: i64 = i64::MAX / 2;

/// The prompts of this client.
#[derive(Debug)]
pub(super) struct Pending {
    /// The prefix of all keys of this client.
    client_key: String,
    /// The keys of all prompts that were sent from here.
    own: HashSet<String>,
    waiting: Vec<WaitingPrompt>,
    next: i64,
    /// The last run that a snapshot had.
    reached: Option<u64>,
}

#[derive(Debug)]
struct WaitingPrompt {
    key: String,
    run_id: Option<u64>,
    part: Part,
}

impl Pending {
    pub(super) fn new(client_key: String) -> Self {
        Self {
            client_key,
            own: HashSet::new(),
            waiting: Vec::new(),
            next: FIRST,
            reached: None,
        }
    }

    /// A prompt is on its way; shows it. A key that is known already changes nothing.
    pub(super) fn submit(&mut self, key: String, content: String, files: Vec<String>) -> bool {
        if !self.own.insert(key.clone()) {
            return false;
        }
        let part = Part {
            id: PartId(self.next),
            revision: 0,
            seq: None,
            at: None,
            kind: PartKind::User {
                content,
                by: Author::You,
                is_pending: true,
                is_queued: false,
                files,
            },
        };
        self.next += 1;
        self.waiting.push(WaitingPrompt {
            key,
            run_id: None,
            part,
        });
        true
    }

    /// The service took a prompt for a run.
    pub(super) fn accepted(&mut self, key: &str, run_id: u64) {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.key == key) {
            waiting.run_id = Some(run_id);
        }
        self.drop_reached();
    }

    /// Takes a prompt away: it is on record, or was refused.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.key != key);
        self.waiting.len() < before
    }

    /// A prompt was refused and may be sent again under its key.
    pub(super) fn refuse(&mut self, key: &str) -> bool {
        let is_removed = self.remove(key);
        if is_removed {
            self.own.remove(key);
        }
        is_removed
    }

    /// A snapshot was taken whose last run is this one. A prompt that was accepted for it or one
    /// before, and is not in it, is further up than what was loaded.
    pub(super) fn reached(&mut self, run_id: Option<u64>) {
        self.reached = run_id;
        self.drop_reached();
    }

    fn drop_reached(&mut self) {
        let reached = self.reached;
        self.waiting
            .retain(|waiting| waiting.run_id.is_none() || waiting.run_id > reached);
    }

    /// Another conversation is opened.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.reached = None;
    }

    /// The author of a prompt.
    pub(super) fn author(&self, key: Option<&str>, by: Option<&str>) -> Author {
        // By the key and not by the name, which another client may have, too.
        let is_of_client = |key: &str| {
            let rest = key.strip_prefix(&self.client_key);
            !self.client_key.is_empty() && rest.is_some_and(|rest| rest.starts_with('-'))
        };
        if key.is_some_and(|key| self.own.contains(key) || is_of_client(key)) {
            return Author::You;
        }
        match by {
            Some(by) => Author::Named(by.to_owned()),
            None => Author::Unnamed,
        }
    }

    /// True if the prompt of that key waits.
    pub(super) fn has(&self, key: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.key == key)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn at(&self, index: usize) -> Option<&Part> {
        self.waiting.get(index).map(|waiting| &waiting.part)
    }

    /// Number of pending prompts before that id.
    pub(super) fn before(&self, id: PartId) -> usize {
        self.waiting.partition_point(|waiting| waiting.part.id < id)
    }
}
