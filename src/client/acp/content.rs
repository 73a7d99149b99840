//! Content blocks of the Agent Client Protocol: what an editor sends with a prompt, and texts for it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use harness_protocol::AttachmentOrder;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::acp::message::RpcError;

/// A prompt of an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EditorPrompt {
    /// The text, with the names of the files that it is about.
    pub(super) text: String,
    /// The contents that go with it.
    pub(super) attachments: Vec<AttachmentOrder>,
}

/// A content block.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum ContentBlock {
    Text { text: String },
    Image { data: String, mime_type: String },
    Audio {},
    ResourceLink { uri: String },
    Resource { resource: ResourceContents },
}

/// A file or another text that the editor sends along.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceContents {
    uri: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    blob: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
}

/// Reads the content blocks of a prompt. Paths below the folder are shortened.
///
/// # Errors
/// If a block cannot be sent to the model.
pub(super) fn editor_prompt(blocks: Value, folder: &str) -> Result<EditorPrompt, RpcError> {
    let blocks: Vec<ContentBlock> = serde_json::from_value(blocks)
        .map_err(|error| RpcError::invalid_params(format!("prompt: {error}")))?;
    let mut prompt = EditorPrompt::default();
    for block in blocks {
        prompt.add(block, folder)?;
    }
    if prompt.text.trim().is_empty() {
        if prompt.attachments.is_empty() {
            return Err(RpcError::invalid_params("prompt: it is blank"));
        }
        "Look at the attached files.".clone_into(&mut prompt.text);
    }
    Ok(prompt)
}

impl EditorPrompt {
    fn add(&mut self, block: ContentBlock, folder: &str) -> Result<(), RpcError> {
        match block {
            ContentBlock::Text { text } => self.text.push_str(&text),
            ContentBlock::ResourceLink { uri } => self.mention(&resource_name(&uri, folder)),
            ContentBlock::Image { data, mime_type } => self.attach(data, Some(mime_type), None),
            ContentBlock::Resource { resource } => {
                let name = resource_name(&resource.uri, folder);
                self.mention(&name);
                match (resource.text, resource.blob) {
                    (Some(text), _) => {
                        let data = BASE64_STANDARD.encode(text);
                        self.attach(data, Some("text/plain".to_owned()), Some(name));
                    }
                    (None, Some(blob)) => self.attach(blob, resource.mime_type, Some(name)),
                    (None, None) => {
                        let reason = format!("prompt: the resource {name} has no content");
                        return Err(RpcError::invalid_params(reason));
                    }
                }
            }
            ContentBlock::Audio {} => {
                return Err(RpcError::invalid_params("prompt: sound cannot be sent"));
            }
        }
        Ok(())
    }

    fn mention(&mut self, name: &str) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        self.text.push_str(&format!("@{name} "));
    }

    fn attach(&mut self, data: String, media_type: Option<String>, name: Option<String>) {
        self.attachments.push(AttachmentOrder {
            data: Some(data),
            path: None,
            media_type,
            name,
        });
    }
}

/// The name of a resource: the path of a file, from the folder on if it is below it; else the address.
fn resource_name(uri: &str, folder: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let path = percent_decode_str(path).decode_utf8_lossy();
    let below = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    below.unwrap_or(&path).to_owned()
}

/// A text block.
pub(super) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A text as the content of a tool call.
pub(super) fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": text_block(text)})
}

/// A text that is shown unchanged, as the content of a tool call: editors read texts as Markdown.
pub(super) fn fenced_content(text: &str) -> Value {
    let mut longest = 0;
    let mut ticks = 0;
    for character in text.chars() {
        ticks = if character == '`' { ticks + 1 } else { 0 };
        longest = longest.max(ticks);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    text_content(&format!("{fence}\n{text}{end}{fence}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(data: &str, media_type: &str, name: Option<&str>) -> AttachmentOrder {
        AttachmentOrder {
            data: Some(data.to_owned()),
            path: None,
            media_type: Some(media_type.to_owned()),
            name: name.map(str::to_owned),
        }
    }

    /// Spec: [ACP-05]
    #[test]
    fn a_prompt_has_the_text_the_names_and_the_contents_of_its_blocks() {
        let blocks = json!([
            {"type": "text", "text": "Look at"},
            {"type": "resource_link", "uri": "file:///work/a%20b/src/main.rs", "name": "main.rs"},
            {"type": "text", "text": "and this:"},
            {"type": "resource", "resource": {"uri": "file:///etc/hosts#L2-3", "text": "x\n"}},
            {"type": "resource", "resource": {"uri": "https://example.com/", "blob": "AA==",
                "mimeType": "application/pdf"}},
            {"type": "image", "data": "BB==", "mimeType": "image/png"},
        ]);
        assert_eq!(
            editor_prompt(blocks, "/work/a b"),
            Ok(EditorPrompt {
                text: "Look at @src/main.rs and this: @/etc/hosts#L2-3 @https://example.com/ "
                    .to_owned(),
                attachments: vec![
                    attachment("eAo=", "text/plain", Some("/etc/hosts#L2-3")),
                    attachment("AA==", "application/pdf", Some("https://example.com/")),
                    attachment("BB==", "image/png", None),
                ],
            })
        );
        let image = json!([{"type": "image", "data": "BB==", "mimeType": "image/png"}]);
        let prompt = editor_prompt(image, "/work").unwrap();
        assert_eq!(prompt.text, "Look at the attached files.");
    }

    /// Spec: [ACP-05]
    #[test]
    fn a_block_that_cannot_be_sent_refuses_the_prompt() {
        for blocks in [
            json!([]),
            json!([{"type": "text", "text": " \n"}]),
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            json!([{"type": "resource", "resource": {"uri": "file:///x"}}]),
            json!([{"type": "later"}]),
            json!("text"),
            Value::Null,
        ] {
            editor_prompt(blocks, "/work").unwrap_err();
        }
    }

    /// Spec: [ACP-06]
    #[test]
    fn a_fence_is_longer_than_every_fence_in_its_text() {
        for (text, fenced) in [
            ("a", "```\na\n```"),
            ("a\n", "```\na\n```"),
            ("``` b ````\n", "`````\n``` b ````\n`````"),
        ] {
            assert_eq!(fenced_content(text), text_content(fenced));
        }
    }
}
