//! One row a rule for images and documents.

use serde_json::{Value, json};

use super::tests::{body, check_rows, conversation, verdict_for};
use crate::model::Model;

/// The smallest file of each kind that is told apart, in base64.
const PNG: &str = "iVBORw0KGgoAAAAN";
const JPEG: &str = "/9j/4AAQSkZJRgAB";
const GIF: &str = "R0lGODlhAQABAAAA";
const WEBP: &str = "UklGRiQAAABXRUJQ";
const PDF: &str = "JVBERi0xLjcK";

fn image(media_type: &str, data: &str) -> Value {
    let source = json!({"type": "base64", "media_type": media_type, "data": data});
    json!({"type": "image", "source": source})
}

fn pdf(data: &str) -> Value {
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": data});
    json!({"type": "document", "source": source, "title": "x.pdf"})
}

fn notes(data: &str) -> Value {
    let source = json!({"type": "text", "media_type": "text/plain", "data": data});
    json!({"type": "document", "source": source})
}

fn user(block: &Value) -> Value {
    conversation(&[json!([block])])
}

fn in_result(block: &Value) -> Value {
    let call = json!({"type": "tool_use", "id": "a", "name": "read", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [block]});
    conversation(&[json!("hi"), json!([call]), json!([result])])
}

#[test]
fn images_and_documents_are_checked() {
    let huge = format!("iVBORw0KGgoA{}", "AAAA".repeat(5 * 1024 * 1024 / 3));
    check_rows(vec![
        (user(&image("image/png", PNG)), "valid"),
        (user(&image("image/jpeg", JPEG)), "valid"),
        (user(&image("image/gif", GIF)), "valid"),
        (user(&image("image/webp", WEBP)), "valid"),
        (
            user(&image("image/bmp", PNG)),
            "image.source.base64.media_type:",
        ),
        (
            user(&image("image/png", JPEG)),
            "does not match the provided media type image/png",
        ),
        (
            user(&image("image/png", "%%%%")),
            "image.source.base64.data:",
        ),
        (user(&image("image/png", "")), "image.source.base64.data:"),
        (
            user(&image("image/png", &huge)),
            "image exceeds 5 MB maximum",
        ),
        (
            user(&json!({"type": "image"})),
            "image.source: Field required",
        ),
        (
            user(&json!({"type": "image", "source": {"type": "path"}})),
            "image.source.type:",
        ),
        (user(&pdf(PDF)), "valid"),
        (user(&pdf(PNG)), "The PDF specified was not valid"),
        (user(&notes("some text")), "valid"),
        (user(&notes("")), "document.source.text.data:"),
        (in_result(&image("image/png", PNG)), "valid"),
        (
            in_result(&image("image/png", GIF)),
            "messages.2.content.0.tool_result.content.0.image",
        ),
    ]);
}

#[test]
fn a_model_without_eyes_takes_no_images() {
    let blind = Model::text_only("claude-sonnet-5-5");
    for (body, expected) in [
        (
            user(&image("image/png", PNG)),
            "does not support image input",
        ),
        (
            in_result(&image("image/png", PNG)),
            "messages.2.content.0.content.0:",
        ),
        (user(&pdf(PDF)), "does not support PDF input"),
        (user(&notes("some text")), "valid"),
        (body(json!({})), "valid"),
    ] {
        let verdict = verdict_for(&body, &blind);
        assert!(verdict.contains(expected), "{expected:?}: {verdict:?}");
    }
}
