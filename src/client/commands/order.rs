//! An order that starts a run: which conversation it is for, what it sends, and how its run is shown.

use harness_protocol::{ContinueOrder, PromptAnswer};
use serde_json::{Map, Value};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::route::Route;
use crate::client::commands::asks::AsksMode;
use crate::client::commands::common::{self, SendingArgs, StartingArgs, WaysArgs};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::{folder, known_models};

/// How the other clients see a command that gives such an order.
pub(super) const NAME: &str = "harness-prompt";

/// Makes the request to a conversation.
type RouteTo<'c> = Box<dyn FnOnce(&str) -> Route<PromptAnswer> + 'c>;

/// An order to a conversation that is not found yet.
pub(super) struct CommandOrder<'c> {
    place: OrderPlace<'c>,
    route: RouteTo<'c>,
    by: String,
    key: OrderKey,
    json: bool,
    asks: Option<AsksMode>,
    ways: WaysArgs,
    is_typed: bool,
}

/// The conversation that an order is for.
enum OrderPlace<'c> {
    /// The named one, or else the last one of this folder.
    There(Option<&'c str>),
    /// One that is made for it, with these settings.
    New(Map<String, Value>),
}

/// An order, and the way in which its run is shown.
pub(super) struct Addressed {
    pub(super) conversation: String,
    pub(super) route: Route<PromptAnswer>,
    /// How the other clients see who asks.
    pub(super) by: String,
    pub(super) key: OrderKey,
    pub(super) json: bool,
    pub(super) asks: Option<AsksMode>,
    pub(super) ways: WaysArgs,
    /// Whether the conversation was made for it.
    pub(super) is_new: bool,
    /// True if its reply has to fit a schema, and is shown by the caller.
    pub(super) is_typed: bool,
}

/// The key by which the service knows an order that it got before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderKey {
    /// There is none, so that the order cannot be sent again without doing it twice.
    None,
    /// A new one.
    New,
    /// One that may have been sent before.
    Known,
}

impl<'c> CommandOrder<'c> {
    /// An order with the key that was given or a new one, so that sending it again after a break cannot run it twice.
    /// `route` makes the request of the conversation, the key and the name of who asks.
    pub(super) fn sending(
        sending: &'c SendingArgs,
        route: impl FnOnce(&str, String, String) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        Self::with_key(sending, sending.key.clone(), route)
    }

    /// The same with this key, or a new one.
    pub(super) fn with_key(
        sending: &'c SendingArgs,
        given: Option<String>,
        route: impl FnOnce(&str, String, String) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let key = match given {
            Some(_) => OrderKey::Known,
            None => OrderKey::New,
        };
        let text = given.unwrap_or_else(common::new_key);
        Self::new(&sending.starting, key, |to, by| route(to, text, by))
    }

    /// An order that continues without a prompt.
    pub(super) fn without_prompt(
        starting: &'c StartingArgs,
        route: impl FnOnce(&str, &ContinueOrder) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let route = |to: &str, by| route(to, &ContinueOrder { by: Some(by) });
        Self::new(starting, OrderKey::None, route)
    }

    fn new(
        starting: &'c StartingArgs,
        key: OrderKey,
        route: impl FnOnce(&str, String) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let by = starting.caller.name().unwrap_or_else(|| NAME.to_owned());
        let who = by.clone();
        Self {
            place: OrderPlace::There(starting.which.named()),
            route: Box::new(|conversation| route(conversation, who)),
            by,
            key,
            json: starting.json,
            asks: starting.asks,
            ways: starting.ways.clone(),
            is_typed: false,
        }
    }

    /// The same order, whose reply has to fit a schema.
    pub(super) fn typed(self) -> Self {
        Self {
            is_typed: true,
            ..self
        }
    }

    /// The same order, to a conversation that is made for it.
    pub(super) fn in_new(self, settings: Map<String, Value>) -> Self {
        Self {
            place: OrderPlace::New(settings),
            ..self
        }
    }

    /// How its run is waited for and shown.
    pub(super) fn ways(&self) -> &WaysArgs {
        &self.ways
    }

    /// The order to the conversation that is meant. It is made if this folder has none.
    ///
    /// # Errors
    /// See [`folder::conversation`] and [`folder::make`].
    pub(super) async fn find(
        mut self,
        service: &ServiceConnection,
        output: &mut Output,
    ) -> Result<Addressed, CommandError> {
        let place = std::mem::replace(&mut self.place, OrderPlace::There(None));
        let (conversation, is_new) = match place {
            OrderPlace::There(named) => (folder::conversation(named, service).await?, false),
            OrderPlace::New(settings) => {
                known_models::warn(&settings, service, output).await;
                let made = folder::make(None, settings, service).await?;
                output.note(&format!("harness: conversation {made}"));
                (made, true)
            }
        };
        Ok(self.to(conversation, is_new))
    }

    pub(super) fn to(self, conversation: String, is_new: bool) -> Addressed {
        Addressed {
            is_new,
            route: (self.route)(&conversation),
            conversation,
            by: self.by,
            key: self.key,
            json: self.json,
            asks: self.asks,
            ways: self.ways,
            is_typed: self.is_typed,
        }
    }
}
