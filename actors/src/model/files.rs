//! Attachments as blocks of a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use harness_protocol::Attachment;
use serde_json::{Value, json};

use super::left_out::LeftOut;
use super::{ModelError, ModelInfo};
use crate::attachment::AttachmentStore;

/// The largest body that the API takes, in bytes.
///
/// Source: the API's documentation of errors, `request_too_large`.
pub const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The kinds of files that a model can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    images: bool,
    pdfs: bool,
}

impl Sight {
    /// Follows the API; a kind that it does not mention counts as seen.
    pub(super) fn from_model(info: Option<&ModelInfo>) -> Self {
        let capabilities = info.map(|info| &info.capabilities);
        let images = capabilities.and_then(|can| can.image_input.supported);
        let pdfs = capabilities.and_then(|can| can.pdf_input.supported);
        Self {
            images: images.unwrap_or(true),
            pdfs: pdfs.unwrap_or(true),
        }
    }
}

/// The kind of a file for the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApiFileKind {
    Image,
    Pdf,
    Text,
    Other,
}

impl ApiFileKind {
    fn from_attachment(file: &Attachment) -> Self {
        match essence(file) {
            "application/pdf" => Self::Pdf,
            essence if essence.starts_with("image/") => Self::Image,
            essence if essence.starts_with("text/") => Self::Text,
            _ => Self::Other,
        }
    }
}

/// The media type without its parameters.
fn essence(file: &Attachment) -> &str {
    let (essence, _) = file
        .media_type
        .split_once(';')
        .unwrap_or((&file.media_type, ""));
    essence.trim()
}

/// True if a request with this file depends on whether the model can see.
pub(super) fn needs_sight(file: &Attachment) -> bool {
    matches!(
        ApiFileKind::from_attachment(file),
        ApiFileKind::Image | ApiFileKind::Pdf
    )
}

/// Maximum number of tokens of an image.
///
/// Source: the API's documentation of vision: 4,784 for the models that see the most of one.
const IMAGE_TOKENS: u64 = 5000;

/// Maximum number of tokens of a file with its name. That of a PDF file is not known before the API has read it.
pub(super) fn most_tokens(file: &Attachment) -> u64 {
    let name = name_of(file).len() as u64 + 100;
    let content = match ApiFileKind::from_attachment(file) {
        ApiFileKind::Image => IMAGE_TOKENS,
        ApiFileKind::Text => file.bytes,
        ApiFileKind::Pdf | ApiFileKind::Other => u64::MAX,
    };
    content.saturating_add(name)
}

/// The blocks of these files, with commas between them. `size` is that of the request so far.
pub(super) async fn blocks(
    files: &[Attachment],
    store: &dyn AttachmentStore,
    sight: Sight,
    left_out: &LeftOut,
    size: usize,
) -> Result<Bytes, ModelError> {
    let mut blocks = String::new();
    for run in
        files.chunk_by(|a, b| ApiFileKind::from_attachment(a) == ApiFileKind::from_attachment(b))
    {
        let Some(kind) = run.first().map(ApiFileKind::from_attachment) else {
            continue;
        };
        let unseen = match kind {
            ApiFileKind::Image if !sight.images => Some(unseen(run.len(), "image", "see images")),
            ApiFileKind::Pdf if !sight.pdfs => {
                Some(unseen(run.len(), "PDF file", "read PDF files"))
            }
            ApiFileKind::Image | ApiFileKind::Pdf | ApiFileKind::Text | ApiFileKind::Other => None,
        };
        if let Some(note) = unseen {
            push(&mut blocks, &text(&note));
            continue;
        }
        for file in run {
            if left_out.has_file(file) {
                let name = name_of(file);
                let note = format!("({name} was left out: the API does not take it)");
                push(&mut blocks, &text(&note));
                continue;
            }
            // Nothing is read that would not fit anyway.
            let at_least = usize::try_from(file.bytes).unwrap_or(usize::MAX);
            let bytes = size.saturating_add(blocks.len()).saturating_add(at_least);
            if bytes > MAX_REQUEST_BYTES {
                let limit = MAX_REQUEST_BYTES;
                return Err(ModelError::TooLarge { bytes, limit });
            }
            push(&mut blocks, &block(file, kind, store).await);
        }
    }
    Ok(blocks.into())
}

/// The blocks that replace these files where their contents are not looked up.
pub(super) fn placeholder(files: &[Attachment]) -> Bytes {
    text(&format!("({} files)", files.len())).into()
}

fn name_of(file: &Attachment) -> &str {
    file.name.as_deref().unwrap_or("a file")
}

fn unseen(count: usize, noun: &str, what: &str) -> String {
    let were = if count == 1 { " was" } else { "s were" };
    format!("({count} {noun}{were} left out: this model does not {what})")
}

fn push(blocks: &mut String, block: &str) {
    if !blocks.is_empty() {
        blocks.push(',');
    }
    blocks.push_str(block);
}

fn text(text: &str) -> String {
    json!({"type": "text", "text": text}).to_string()
}

async fn block(file: &Attachment, kind: ApiFileKind, store: &dyn AttachmentStore) -> String {
    let name = name_of(file);
    if kind == ApiFileKind::Other {
        let media_type = essence(file);
        return text(&format!(
            "({name} was left out: {media_type} cannot be sent)"
        ));
    }
    let content = match store.get(&file.sha256).await {
        Ok(content) => content,
        Err(error) => {
            log::warn!("an attachment is left out of a request: {error}");
            return text(&format!("({name} was left out: its content is gone)"));
        }
    };
    if content.trim_ascii().is_empty() {
        return text(&format!("({name} is empty)"));
    }
    let media_type = Value::from(essence(file));
    let title = match &file.name {
        Some(name) if !name.trim().is_empty() => format!(r#","title":{}"#, Value::from(&**name)),
        _ => String::new(),
    };
    // Built by hand: a large content is copied once only.
    match kind {
        ApiFileKind::Image => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":{media_type},"data":"{}"}}}}"#,
            BASE64.encode(&content)
        ),
        ApiFileKind::Pdf => format!(
            r#"{{"type":"document","source":{{"type":"base64","media_type":{media_type},"data":"{}"}}{title}}}"#,
            BASE64.encode(&content)
        ),
        ApiFileKind::Text | ApiFileKind::Other => format!(
            r#"{{"type":"document","source":{{"type":"text","media_type":"text/plain","data":{}}}{title}}}"#,
            Value::from(String::from_utf8_lossy(&content))
        ),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
