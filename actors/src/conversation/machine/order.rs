//! Orders: each is a message to the conversation, unchanged, and its rule is beside what it
//! changes.

use super::Machine;
use super::effect::Effect;
use crate::conversation::messages::SubmitError;

/// The answer to an order when its effects are on record, and these effects; or the reason of its
/// refusal.
pub type OrderResult<O> =
    Result<(<O as ConversationOrder>::Answer, Vec<Effect>), <O as ConversationOrder>::Refusal>;

/// An order to a conversation.
pub trait ConversationOrder: Sized + 'static {
    /// Its answer.
    type Answer: 'static;
    /// Why it is refused.
    type Refusal: From<SubmitError> + 'static;

    /// How many bytes it brings to the journal; `None` if it is taken however full the disk is.
    ///
    /// # Errors
    /// Why it is refused however much room there is.
    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        Ok(Some(0))
    }

    /// Carries it out.
    ///
    /// # Errors
    /// Refused orders change nothing and show nothing.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self>;
}

impl Machine {
    /// Takes an order, if there is room for what it brings.
    ///
    /// # Errors
    /// Refused orders change nothing and show nothing.
    pub fn order<O: ConversationOrder>(
        &mut self,
        order: O,
        check_room: impl FnOnce(usize) -> Result<(), SubmitError>,
    ) -> OrderResult<O> {
        if let Some(bytes) = order.brings(self)? {
            check_room(bytes)?;
        }
        order.apply(self)
    }
}
