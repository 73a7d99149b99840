//! Orders that go from a client to the machine of a conversation unchanged.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SettingsAnswer;

/// An order to a conversation: the body of `POST /v1/conversations/{id}/{NAME}`, which may be left out
/// where all of its fields may.
pub trait Order:
    Clone + Debug + Default + Serialize + DeserializeOwned + Send + Unpin + 'static
{
    /// The last part of the route.
    const NAME: &'static str;
    /// The answer to it.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// The name of the client that gives it, for the other clients.
    fn by(&mut self) -> &mut Option<String>;
}

/// An order of any kind, on its way to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyOrder {
    /// The last part of the route.
    pub name: &'static str,
    /// The body.
    pub body: Value,
}

impl AnyOrder {
    /// That order.
    ///
    /// # Errors
    /// If it has no JSON form.
    pub fn from_order<O: Order>(order: &O) -> serde_json::Result<Self> {
        Ok(Self {
            name: O::NAME,
            body: serde_json::to_value(order)?,
        })
    }
}

/// Offers the tools that there are now from the next run on, in place of those on record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewTools {
    /// The name of the client that asks for it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Order for RenewTools {
    const NAME: &'static str = "tools";
    type Answer = SettingsAnswer;

    fn by(&mut self) -> &mut Option<String> {
        &mut self.by
    }
}
