//! The calls of tools that wait for their turn.

use std::collections::{HashMap, VecDeque};

use super::messages::RunTool;
use crate::ids::{CallId, ConversationId};

/// Maximum number of calls that wait in the whole service.
pub(super) const MAX_WAITING: usize = 65_536;

/// Calls that wait: those of each conversation in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct WaitingCalls {
    /// Each with its number among all that came. No queue is empty.
    queues: HashMap<ConversationId, VecDeque<(u64, RunTool)>>,
    count: usize,
    came: u64,
}

impl WaitingCalls {
    /// True if no more may wait.
    pub(super) fn is_full(&self) -> bool {
        self.count >= MAX_WAITING
    }

    pub(super) fn push(&mut self, order: RunTool) {
        self.came += 1;
        self.count += 1;
        let queue = self.queues.entry(order.call_id.conversation.clone());
        queue.or_default().push_back((self.came, order));
    }

    /// The call whose turn it is: the first of a conversation that has the fewest calls among those
    /// that run, so that a reply of many calls holds up no other conversation.
    pub(super) fn next<'a>(
        &mut self,
        running: impl Iterator<Item = &'a CallId>,
    ) -> Option<RunTool> {
        let mut of_conversation: HashMap<&ConversationId, usize> = HashMap::new();
        for call_id in running {
            *of_conversation.entry(&call_id.conversation).or_default() += 1;
        }
        let runs = |id: &ConversationId| of_conversation.get(id).copied().unwrap_or_default();
        let firsts = self.queues.iter().filter_map(|(id, queue)| {
            let (number, _) = queue.front()?;
            Some((runs(id), *number, id))
        });
        let (_, _, id) = firsts.min_by_key(|(runs, number, _)| (*runs, *number))?;
        let id = id.clone();
        self.take_at(&id, 0)
    }

    /// Takes a call out.
    pub(super) fn remove(&mut self, call_id: &CallId) -> Option<RunTool> {
        let mut orders = self.queues.get(&call_id.conversation)?.iter();
        let index = orders.position(|(_, order)| order.call_id == *call_id)?;
        self.take_at(&call_id.conversation, index)
    }

    fn take_at(&mut self, id: &ConversationId, index: usize) -> Option<RunTool> {
        let queue = self.queues.get_mut(id)?;
        let (_, order) = queue.remove(index)?;
        if queue.is_empty() {
            self.queues.remove(id);
        }
        self.count -= 1;
        Some(order)
    }
}
