//! The rules for images and documents.

use serde_json::{Map, Value};

use super::{Check, only};
use crate::api_error::ApiError;

/// The most that one image may have, in bytes.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// Number of the first bytes of a file that identify its type.
const OPENING: usize = 12;

/// Checks an image block.
pub(super) fn check_image(path: &str, block: &Value) -> Check {
    let path = format!("{path}.image.source");
    let source = source(&path, block)?;
    match source.get("type").and_then(Value::as_str) {
        Some("base64") => {
            let path = format!("{path}.base64");
            let (kind, size, opening) = data(&path, source)?;
            let is_kind = match kind {
                "image/png" => opening.starts_with(b"\x89PNG\r\n\x1a\n"),
                "image/jpeg" => opening.starts_with(b"\xff\xd8\xff"),
                "image/gif" => opening.starts_with(b"GIF87a") || opening.starts_with(b"GIF89a"),
                "image/webp" => opening.starts_with(b"RIFF") && opening.ends_with(b"WEBP"),
                _ => {
                    let message = "Input should be 'image/jpeg', 'image/png', 'image/gif' or \
                                   'image/webp'";
                    return Err(ApiError::at(format!("{path}.media_type"), message));
                }
            };
            if size > MAX_IMAGE {
                let message =
                    format!("image exceeds 5 MB maximum: {size} bytes > {MAX_IMAGE} bytes");
                return Err(ApiError::at(path, message));
            }
            if !is_kind {
                let message = format!("Image does not match the provided media type {kind}");
                return Err(ApiError::at(path, message));
            }
            Ok(())
        }
        Some("url") => filled(&path, source, "url").map(drop),
        Some("file") => filled(&path, source, "file_id").map(drop),
        Some(_) | None => Err(ApiError::at(
            format!("{path}.type"),
            "Input should be 'base64', 'url' or 'file'",
        )),
    }
}

/// Checks a document block.
pub(super) fn check_document(path: &str, block: &Value) -> Check {
    let path = format!("{path}.document.source");
    let source = source(&path, block)?;
    match source.get("type").and_then(Value::as_str) {
        Some("base64") => {
            let path = format!("{path}.base64");
            let (kind, _, opening) = data(&path, source)?;
            if kind != "application/pdf" {
                let message = "Input should be 'application/pdf'";
                return Err(ApiError::at(format!("{path}.media_type"), message));
            }
            if !opening.starts_with(b"%PDF-") {
                return Err(ApiError::at(path, "The PDF specified was not valid."));
            }
            Ok(())
        }
        Some("text") => {
            let path = format!("{path}.text");
            only(
                &format!("{path}."),
                source,
                &[&["type", "media_type", "data"]],
            )?;
            if filled(&path, source, "media_type")? != "text/plain" {
                let message = "Input should be 'text/plain'";
                return Err(ApiError::at(format!("{path}.media_type"), message));
            }
            filled(&path, source, "data").map(drop)
        }
        Some("url") => filled(&path, source, "url").map(drop),
        Some("file") => filled(&path, source, "file_id").map(drop),
        Some("content") => Ok(()),
        Some(_) | None => Err(ApiError::at(
            format!("{path}.type"),
            "Input should be 'base64', 'content', 'file', 'text' or 'url'",
        )),
    }
}

fn source<'a>(path: &str, block: &'a Value) -> Result<&'a Map<String, Value>, ApiError> {
    match block["source"].as_object() {
        Some(source) => Ok(source),
        None => Err(ApiError::at(path, "Field required")),
    }
}

fn filled<'a>(path: &str, source: &'a Map<String, Value>, name: &str) -> Result<&'a str, ApiError> {
    match source.get(name).and_then(Value::as_str) {
        Some(value) if !value.is_empty() => Ok(value),
        Some(_) => Err(ApiError::at(
            format!("{path}.{name}"),
            "Input should not be empty",
        )),
        None => Err(ApiError::at(format!("{path}.{name}"), "Field required")),
    }
}

/// The media type, the size and the first bytes of data in base64.
fn data<'a>(
    path: &str,
    source: &'a Map<String, Value>,
) -> Result<(&'a str, usize, Vec<u8>), ApiError> {
    only(
        &format!("{path}."),
        source,
        &[&["type", "media_type", "data"]],
    )?;
    let kind = filled(path, source, "media_type")?;
    match decode(filled(path, source, "data")?) {
        Some((size, opening)) => Ok((kind, size, opening)),
        None => Err(ApiError::at(
            format!("{path}.data"),
            "Input should be valid base64",
        )),
    }
}

/// The size of what a base64 text holds, and its first bytes; nothing if it is none.
fn decode(text: &str) -> Option<(usize, Vec<u8>)> {
    let whole = text.as_bytes();
    let digits = whole
        .strip_suffix(b"==")
        .or_else(|| whole.strip_suffix(b"="))
        .unwrap_or(whole);
    if !whole.len().is_multiple_of(4) || !digits.iter().all(|digit| value(*digit).is_some()) {
        return None;
    }
    let mut opening = Vec::new();
    for group in digits.chunks(4).take(OPENING / 3) {
        let bits = group.iter().filter_map(|digit| value(*digit));
        let bits = bits.fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        opening.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    Some((digits.len() * 3 / 4, opening))
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        let rows: [(&str, Option<&[u8]>); 8] = [
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYmFy", Some(b"foobar")),
            ("Zm9", None),
            ("Zm 9", None),
            ("Z===", None),
        ];
        for (text, expected) in rows {
            let decoded = decode(text);
            let expected = expected.map(|bytes| (bytes.len(), bytes.to_vec()));
            assert_eq!(decoded, expected, "{text}");
        }
        let (size, opening) = decode(&"AAAA".repeat(10)).unwrap();
        assert_eq!((size, opening.len()), (30, OPENING));
    }
}
