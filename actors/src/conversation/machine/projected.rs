//! The past as a projection makes it for a request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use harness_protocol::Attachment;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::plan::Projection;
use crate::conversation::past::{History, first_violation};
use crate::model::RequestPiece;

/// The past as a projection has it. The past itself is never sent in its place: it may be there
/// to leave something out.
///
/// # Errors
/// When it panics, or when the API would refuse what it made.
pub(super) fn projected(
    projection: &dyn Projection,
    history: &History,
) -> Result<Vec<RequestPiece>, String> {
    let project = || projection.project(history.values());
    let mut messages = catch_unwind(AssertUnwindSafe(project))
        .map_err(|_| "the projection of the past panicked".to_owned())?;
    for message in &mut messages {
        if let Some(Value::String(text)) = message.get("content") {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
    }
    let empty = messages.is_empty().then(|| "there is none".to_owned());
    let pieces = match empty.or_else(|| first_violation(&messages)) {
        Some(wrong) => Err(wrong),
        None => pieces(messages),
    };
    pieces.map_err(|wrong| format!("the projection of the past cannot be sent: {wrong}"))
}

/// Messages as a request holds them. The files that they only describe are files again.
///
/// # Errors
/// When one of them describes a file as nothing else does.
fn pieces(messages: Vec<Value>) -> Result<Vec<RequestPiece>, String> {
    let mut pieces = Vec::new();
    let mut json = String::new();
    for (number, mut message) in messages.into_iter().enumerate() {
        let content = message["content"].take();
        let Value::Array(blocks) = content else {
            return Err(format!("message {number} is empty"));
        };
        if number > 0 {
            json.push(',');
        }
        json += &format!(r#"{{"role":{},"content":["#, message["role"]);
        let mut files: Vec<Attachment> = Vec::new();
        for (place, block) in blocks.iter().enumerate() {
            if block["type"] == "attachment" {
                let file = Attachment::deserialize(&block["attachment"]);
                let file =
                    file.map_err(|error| format!("message {number} has no file: {error}"))?;
                if files.is_empty() {
                    json.push_str(if place > 0 { "," } else { "" });
                }
                files.push(file);
                continue;
            }
            put(&mut pieces, &mut json, &mut files);
            json.push_str(if place > 0 { "," } else { "" });
            json += &block.to_string();
        }
        put(&mut pieces, &mut json, &mut files);
        json.push_str("]}");
    }
    pieces.push(RequestPiece::Json(json.into()));
    Ok(pieces)
}

/// Puts files behind what was written so far.
fn put(pieces: &mut Vec<RequestPiece>, json: &mut String, files: &mut Vec<Attachment>) {
    if !files.is_empty() {
        pieces.push(RequestPiece::Json(std::mem::take(json).into()));
        pieces.push(RequestPiece::Attachments(std::mem::take(files).into()));
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::journal::Unanswered;
    use crate::model::{Caching, HeadSettings, ModelChoice, RequestHead};
    use crate::reply::Block;

    fn file(name: &str) -> Attachment {
        Attachment {
            sha256: format!("{name}{name}"),
            media_type: "image/png".to_owned(),
            bytes: 3,
            name: Some(name.to_owned()),
        }
    }

    /// The messages of a request of these pieces, its files as one text for all of a piece.
    fn sent(pieces: Vec<RequestPiece>) -> Value {
        let model = ModelChoice {
            id: "m".into(),
            chosen: true,
        };
        let head = RequestHead::new(HeadSettings::plain(model, 7));
        let body: Vec<Bytes> = head.request(pieces, false).body("m");
        let body: Value = serde_json::from_slice(&body.concat()).unwrap();
        body["messages"].clone()
    }

    fn files(pieces: &[RequestPiece]) -> Vec<Vec<Attachment>> {
        let files = pieces.iter().filter_map(|piece| match piece {
            RequestPiece::Attachments(files) => Some(files.to_vec()),
            RequestPiece::Json(_) => None,
        });
        files.collect()
    }

    fn past() -> History {
        let mut history = History::default();
        history.push_prompt("one", &[file("a"), file("b")]);
        let reply = Block::text("well");
        history.push_reply(vec![reply], Unanswered::Interrupted);
        history.push_prompt("two", &[file("c")]);
        history.push_prompt("three", &[file("d")]);
        history
    }

    /// Spec: [ATT-20]
    #[test]
    fn what_a_projection_leaves_as_it_is_is_sent_as_it_is() {
        let past = past();
        let same = |messages: Vec<Value>| messages;
        let made = projected(&same, &past).unwrap();
        let unprojected = past.pieces(Caching::Off);
        assert_eq!(files(&made), files(&unprojected));
        assert_eq!(files(&made).len(), 3);
        assert_eq!(sent(made), sent(unprojected));
    }

    /// Spec: [ATT-20]
    #[test]
    fn a_projection_may_leave_files_out_move_them_and_say_nothing_but_them() {
        let moved = |mut messages: Vec<Value>| {
            let first = messages[0]["content"].as_array_mut().unwrap();
            // The text comes between the two files.
            first.swap(1, 2);
            let last = messages[2]["content"].as_array_mut().unwrap();
            last.retain(|block| block["type"] == "attachment");
            messages
        };
        let made = projected(&moved, &past()).unwrap();
        assert_eq!(
            files(&made),
            [vec![file("a")], vec![file("b")], vec![file("c"), file("d")]]
        );
        let said = |text: &str| json!({"type": "text", "text": text});
        let sent = sent(made);
        assert_eq!(
            sent[0]["content"],
            json!([said("(1 files)"), said("one"), said("(1 files)")])
        );
        assert_eq!(sent[2]["content"], json!([said("(2 files)")]));
        let without = |mut messages: Vec<Value>| {
            for message in &mut messages {
                let content = message["content"].as_array_mut().unwrap();
                content.retain(|block| block["type"] == "text");
            }
            messages
        };
        assert_eq!(files(&projected(&without, &past()).unwrap()).len(), 0);
    }

    /// Spec: [ATT-20]
    #[test]
    fn a_file_that_is_none_is_not_sent() {
        let odd = |mut messages: Vec<Value>| {
            messages[0]["content"][0]["attachment"] = json!({"sha256": 7});
            messages
        };
        let refused = projected(&odd, &past()).unwrap_err();
        assert!(
            refused.starts_with("the projection of the past cannot be sent: message 0 has no file"),
            "{refused}"
        );
    }
}
