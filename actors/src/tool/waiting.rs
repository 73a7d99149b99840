//! The calls of tools that wait for their turn.

use std::collections::{HashMap, VecDeque};

use super::messages::RunTool;
use crate::ids::{CallId, ConversationId};

/// Calls that wait, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    orders: VecDeque<RunTool>,
}

impl Waiting {
    pub(super) fn push(&mut self, order: RunTool) {
        self.orders.push_back(order);
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
        let runs = |order: &RunTool| of_conversation.get(&order.call_id.conversation).copied();
        let orders = self.orders.iter().enumerate();
        // Of several the first.
        let (index, _) = orders.min_by_key(|(_, order)| runs(order).unwrap_or_default())?;
        self.orders.remove(index)
    }

    /// Takes a call out.
    pub(super) fn remove(&mut self, call_id: &CallId) -> Option<RunTool> {
        let index = self
            .orders
            .iter()
            .position(|order| order.call_id == *call_id)?;
        self.orders.remove(index)
    }
}
