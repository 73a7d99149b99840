//! A request as one row of elements: what the API remembers beginnings of, counts, and binds
//! thinking to.
//!
//! The row is the tools, then the blocks of the system prompt, then the blocks of the messages; `cache_control` is not
//! part of it. A plain string counts as one text block.
//!
//! Counting: a token for every four characters of an element as JSON, but 1,600 for an image and
//! 3,000 for a PDF document, whatever they hold. See [`crate::Model::token_percent`].

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::messages_request::list;

const IMAGE_TOKENS: u64 = 1_600;
const PDF_TOKENS: u64 = 3_000;

/// One element of the row.
pub(crate) struct Element<'a> {
    /// The path of the element in the body.
    pub(crate) path: String,
    /// The role of its message; empty for tools and the system prompt.
    pub(crate) role: &'a str,
    /// The element without `cache_control`.
    pub(crate) value: Cow<'a, Value>,
    /// True if it had a `cache_control`.
    pub(crate) marked: bool,
    /// The place of its message.
    pub(crate) message: Option<usize>,
}

/// The row of a request.
pub(crate) fn elements(body: &Value) -> Vec<Element<'_>> {
    let mut row = Vec::new();
    for field in ["tools", "system"] {
        add(&mut row, field, "", &body[field], None);
    }
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let path = format!("messages.{index}.content");
        add(&mut row, &path, role, &message["content"], Some(index));
    }
    // One for the whole request marks its last block.
    if !body["cache_control"].is_null()
        && let Some(last) = row.last_mut()
    {
        last.marked = true;
    }
    row
}

fn add<'a>(
    row: &mut Vec<Element<'a>>,
    path: &str,
    role: &'a str,
    content: &'a Value,
    message: Option<usize>,
) {
    let mut push = |place: usize, block| {
        let (value, marked) = unmarked(block);
        row.push(Element {
            path: format!("{path}.{place}"),
            role,
            value,
            marked,
            message,
        });
    };
    if let Value::String(text) = content {
        push(0, Cow::Owned(json!({"type": "text", "text": text})));
    }
    for (place, block) in list(content).iter().enumerate() {
        push(place, Cow::Borrowed(block));
    }
}

/// An element without its marks, and whether there were any.
fn unmarked(block: Cow<'_, Value>) -> (Cow<'_, Value>, bool) {
    let own = has_mark(&block);
    let inner = block["type"] == "tool_result" && list(&block["content"]).iter().any(has_mark);
    if !own && !inner {
        return (block, false);
    }
    let mut block = block.into_owned();
    let mut clean = |block: &mut Value| {
        if let Some(fields) = block.as_object_mut() {
            fields.shift_remove("cache_control");
        }
    };
    clean(&mut block);
    if inner && let Some(blocks) = block["content"].as_array_mut() {
        blocks.iter_mut().for_each(&mut clean);
    }
    (Cow::Owned(block), true)
}

fn has_mark(block: &Value) -> bool {
    !block["cache_control"].is_null()
}

/// One element, weighed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    /// Tells this beginning of the row, with the element, from every other.
    pub(crate) hash: u64,
    /// Number of tokens of the beginning, with the element.
    pub(crate) tokens: u64,
    pub(crate) marked: bool,
}

/// A row with its sums.
#[derive(Debug, Default)]
pub(crate) struct Weight {
    pub(crate) elements: Vec<Weighed>,
    /// The digests that tell the beginning before each message from others, and at last the whole.
    starts: Vec<u64>,
}

impl Weight {
    /// Weighs the row of a request, with that many percent of tokens for text.
    pub(crate) fn from_body(body: &Value, percent: u64) -> Self {
        let mut digest = Digest::default();
        let (mut characters, mut flat) = (0, 0);
        let mut weight = Self::default();
        for element in elements(body) {
            if let Some(message) = element.message {
                weight.starts.resize(message + 1, digest.0);
            }
            digest.add(element.role.as_bytes());
            let text = element.value.to_string();
            digest.add(text.as_bytes());
            let (more_characters, more_flat) = size(&element.value, &text);
            characters += more_characters;
            flat += more_flat;
            weight.elements.push(Weighed {
                hash: digest.0,
                tokens: (characters * percent).div_ceil(400) + flat,
                marked: element.marked,
            });
        }
        weight.starts.push(digest.0);
        weight
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.elements.last().map_or(0, |last| last.tokens)
    }

    /// The digest of everything before a message; with the number of messages, of the whole request. Neighbours of the
    /// assistant count as one message.
    pub(crate) fn before(&self, messages: &[Value], place: usize) -> u64 {
        let earlier = messages[..place].iter().rev();
        let run = earlier.take_while(|message| message["role"] == "assistant");
        self.starts
            .get(place - run.count())
            .copied()
            .unwrap_or_default()
    }
}

/// The characters of an element that count as text, and the tokens of its images and documents.
fn size(value: &Value, text: &str) -> (u64, u64) {
    match value["type"].as_str() {
        Some("image") => (0, IMAGE_TOKENS),
        Some("document") if value["source"]["media_type"] == "application/pdf" => (0, PDF_TOKENS),
        Some("tool_result") if value["content"].is_array() => {
            let inner = list(&value["content"]).iter();
            let inner = inner.map(|block| size(block, &block.to_string()));
            let shell = value["tool_use_id"].as_str().unwrap_or_default().len() as u64;
            inner.fold((shell, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
        }
        _ => (text.chars().count() as u64, 0),
    }
}

/// A sum that tells texts apart, and that is the same on every machine and in every version.
#[derive(Clone, Copy)]
pub(crate) struct Digest(pub(crate) u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds some bytes; where one addition ends and the next begins counts too.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(bytes.len() as u64);
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

/// The place where the next request differs from the beginning that the previous one marked last with `cache_control`.
/// `None` if it has the same beginning. Everything up to that mark has to be the same in both, byte for byte and with
/// its fields in the same order, except for `cache_control` itself.
///
/// A previous request without any mark is reported too: it caches nothing.
#[must_use]
pub fn prefix_break(previous: &Value, next: &Value) -> Option<String> {
    let (previous, next) = (elements(previous), elements(next));
    let Some(last) = previous.iter().rposition(|element| element.marked) else {
        return Some("the previous request marks nothing".to_owned());
    };
    for (place, element) in previous[..=last].iter().enumerate() {
        let path = &element.path;
        let Some(other) = next.get(place) else {
            return Some(format!("{path}: the next request ends before it"));
        };
        let (was, is) = (element.value.to_string(), other.value.to_string());
        if element.role == other.role && *path == other.path && was == is {
            continue;
        }
        let same = was.bytes().zip(is.bytes()).take_while(|(a, b)| a == b);
        let at = same.count();
        return Some(format!(
            "{path} differs from {} of the next request at byte {at}: {} became {}",
            other.path,
            excerpt(&was, at),
            excerpt(&is, at)
        ));
    }
    None
}

/// A short piece of a text around a byte.
fn excerpt(text: &str, at: usize) -> String {
    let start = text.floor_char_boundary(at.saturating_sub(20));
    text[start..].chars().take(60).collect()
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
