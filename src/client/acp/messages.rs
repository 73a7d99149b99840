//! The messages of a session that are sent in pieces: replies and thinking.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client::acp::content::text_block;
use crate::client::acp::stream_block::StreamedBlock;

/// The kind of a block that is sent in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReplyBlock {
    /// A text.
    Text,
    /// Thinking.
    Thought,
}

impl ReplyBlock {
    fn update(self, message: &str, text: &str) -> Value {
        let kind = match self {
            Self::Text => "agent_message_chunk",
            Self::Thought => "agent_thought_chunk",
        };
        json!({"sessionUpdate": kind, "content": text_block(text), "messageId": message})
    }
}

/// The messages of a session, and the blocks of the reply that are not finished.
#[derive(Debug)]
pub(super) struct SessionMessages {
    /// The beginning of their names, which no other process gives.
    prefix: String,
    /// Number of messages so far.
    count: u64,
    /// The unfinished blocks, by their kind and their place in the reply.
    open: BTreeMap<(ReplyBlock, u64), StreamedBlock>,
}

impl SessionMessages {
    /// No messages. Their names begin with a prefix.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            count: 0,
            open: BTreeMap::new(),
        }
    }

    /// The update of an operator's message.
    pub(super) fn user(&mut self, text: &str) -> Value {
        let message = self.next_id();
        json!({
            "sessionUpdate": "user_message_chunk", "content": text_block(text), "messageId": message,
        })
    }

    /// Adds a piece of a block. Returns the update; none if it was sent before, or others before it were missed.
    pub(super) fn add(
        &mut self,
        kind: ReplyBlock,
        index: u64,
        offset: u64,
        piece: &str,
    ) -> Option<Value> {
        let known = self.open.remove(&(kind, index));
        let mut block = known.unwrap_or_else(|| StreamedBlock::new(self.next_id()));
        let fresh = match block.add(offset, piece) {
            Some(fresh) => fresh,
            // It begins again with another text.
            None => {
                block = StreamedBlock::new(self.next_id());
                block.add(offset, piece)?
            }
        };
        let update = kind.update(&block.message, fresh);
        self.open.insert((kind, index), block);
        (!fresh.is_empty()).then_some(update)
    }

    /// Finishes a block. Blocks of a kind are finished in their order. Returns the update with what was not sent; none
    /// if all of it was.
    pub(super) fn finish(&mut self, kind: ReplyBlock, content: &str) -> Option<Value> {
        let mut places = self.open.keys();
        let place = places.find(|(other, _)| *other == kind).copied();
        let block = place.and_then(|place| self.open.remove(&place));
        let rest = block.as_ref().and_then(|block| block.rest(content));
        let (message, text) = match (block, rest) {
            (Some(block), Some(rest)) => (block.message, rest),
            (_, _) => (self.next_id(), content),
        };
        (!text.is_empty()).then(|| kind.update(&message, text))
    }

    /// Forgets the unfinished blocks.
    pub(super) fn discard(&mut self) {
        self.open.clear();
    }

    fn next_id(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.prefix, self.count)
    }
}
