//! The signatures of thinking blocks, which bind them to everything before them.
//!
//! A signature names a sum of everything before the reply, a sum of the thinking, and the model. Signatures of any
//! other form are accepted unchecked: they come from recordings and scripts.

use std::collections::HashMap;

use serde_json::Value;

use crate::api_error::ApiError;
use crate::capabilities::Binding;
use crate::messages_request::{MessagesRequest, list};
use crate::model::Model;
use crate::prefix::{Digest, Weight};

const OPENING: &str = "standin-";

/// The content of a signature.
struct Signed<'a> {
    before: &'a str,
    thinking: &'a str,
    model: &'a str,
}

/// Signs a thinking block of that model in the reply to a request.
pub(crate) fn sign(request: &MessagesRequest, model: &str, thinking: &str) -> String {
    let messages = request.messages();
    let before = Weight::from_body(&request.body, 100).before(messages, messages.len());
    let thinking = sum(thinking);
    format!("{OPENING}{before:016x}-{thinking:016x}-{model}")
}

fn sum(thinking: &str) -> u64 {
    let mut digest = Digest::default();
    digest.add(thinking.as_bytes());
    digest.0
}

fn parse(signature: &str) -> Option<Signed<'_>> {
    let mut parts = signature.strip_prefix(OPENING)?.splitn(3, '-');
    Some(Signed {
        before: parts.next()?,
        thinking: parts.next()?,
        model: parts.next()?,
    })
}

/// The model that replies behind a block, if the block says so.
pub(crate) fn fallback_model(block: &Value) -> Option<&str> {
    let model = block["to"]["model"].as_str();
    model.filter(|_| block["type"] == "fallback")
}

/// Checks every thinking block with a signature of this module.
pub(crate) fn check(body: &Value, model: &Model, weight: &Weight) -> Result<(), ApiError> {
    let binding = model.capabilities.binding;
    let messages = list(&body["messages"]);
    let mut sums = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        let mut author = model.id.as_str();
        for (place, block) in list(&message["content"]).iter().enumerate() {
            author = fallback_model(block).unwrap_or(author);
            let signature = block["signature"].as_str().unwrap_or_default();
            let Some(signed) = parse(signature).filter(|_| block["type"] == "thinking") else {
                continue;
            };
            let path = format!("messages.{index}.content.{place}");
            let refuse = |why: &str| {
                let message = format!("Invalid `signature` in `thinking` block{why}");
                Err(ApiError::at(&path, message))
            };
            let thinking = block["thinking"].as_str().unwrap_or_default();
            if signed.thinking != format!("{:016x}", sum(thinking)) {
                return refuse("");
            }
            if binding != Binding::ConversationOfAnyModel && signed.model != author {
                return refuse(": it is bound to a different model");
            }
            let before = sums
                .entry(index)
                .or_insert_with(|| format!("{:016x}", weight.before(messages, index)));
            if binding != Binding::Model && signed.before != *before {
                return refuse(": it is bound to a different conversation");
            }
        }
    }
    Ok(())
}
