use futures_util::FutureExt as _;

use super::super::{MemoryAttachments, sha256};
use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x1f\x40\0\0\x1f\x40";

fn file(content: &[u8]) -> NewAttachment {
    NewAttachment {
        content: Bytes::copy_from_slice(content),
        ..NewAttachment::default()
    }
}

/// A content of that size that begins so.
fn large(head: &[u8], bytes: usize) -> Vec<u8> {
    let mut content = head.to_vec();
    content.resize(bytes, b'x');
    content
}

fn keep(files: Vec<NewAttachment>) -> Result<Vec<Attachment>, AttachmentError> {
    let store = MemoryAttachments::default();
    keep_attachments(&store, files).now_or_never().unwrap()
}

fn refusal(file: NewAttachment) -> String {
    keep(vec![self::file(b"fine"), file])
        .unwrap_err()
        .to_string()
}

/// Spec: [ATT-03] [ATT-05]
#[test]
fn what_is_kept_is_told_with_its_type_and_a_name_that_can_be_shown() {
    let named = |name: &str, content: &[u8]| NewAttachment {
        name: Some(name.to_owned()),
        ..file(content)
    };
    let kept = keep(vec![
        named("a\u{1b}[2J\n.png", PNG),
        named(&"ü".repeat(201), b"text"),
        named(" \n", b"%PDF-1.7"),
    ])
    .unwrap();
    let expected = |content: &[u8], media_type: &str, name: Option<&str>| Attachment {
        sha256: sha256(content),
        media_type: media_type.to_owned(),
        bytes: content.len() as u64,
        name: name.map(str::to_owned),
    };
    assert_eq!(
        kept,
        [
            expected(PNG, "image/png", Some("a[2J.png")),
            expected(b"text", "text/plain", Some(&"ü".repeat(200))),
            expected(b"%PDF-1.7", "application/pdf", None),
        ]
    );
    assert_eq!(keep(Vec::new()).unwrap(), []);
}

/// Spec: [ATT-03] [ATT-04]
#[test]
fn what_cannot_be_used_is_named_with_what_may_be() {
    let declared = NewAttachment {
        media_type: Some("image/jpeg".to_owned()),
        name: Some("a.jpg".to_owned()),
        ..file(PNG)
    };
    assert_eq!(
        refusal(declared),
        "attachment 2 (a.jpg) is image/png, not \"image/jpeg\"; leave `media_type` out or correct it"
    );
    assert_eq!(refusal(file(b"")), "attachment 2 is empty");
    let unknown = "is no image, PDF or text; it may be a PNG, JPEG, GIF or WebP image, a PDF, \
                   or UTF-8 text of at most 1048576 bytes";
    assert_eq!(
        refusal(file(b"\xff\xfe")),
        format!("attachment 2 has 2 bytes and {unknown}")
    );
    assert_eq!(
        refusal(file(&large(b"text", 1_048_577))),
        format!("attachment 2 has 1048577 bytes and {unknown}")
    );
    let wide = [&PNG[..16], &8001_u32.to_be_bytes(), &PNG[20..]].concat();
    assert_eq!(
        refusal(file(&wide)),
        "attachment 2 has 8001 x 8000 pixels; an image may have 8000 x 8000"
    );
    assert_eq!(
        refusal(file(&large(PNG, 3_932_161))),
        "attachment 2 has 3932161 bytes; image/png may have 3932160"
    );
    assert!(keep(vec![file(&large(PNG, 3_932_160))]).is_ok());
    assert_eq!(
        refusal(file(&large(b"%PDF-", MAX_ATTACHED_BYTES + 1))),
        "attachment 2 has 23068673 bytes; application/pdf may have 23068672"
    );
}

/// Spec: [ATT-04]
#[test]
fn the_files_of_a_prompt_are_bounded_together() {
    let pdf = |bytes: usize| file(&large(b"%PDF-", bytes));
    let half = MAX_ATTACHED_BYTES / 2;
    assert!(keep(vec![pdf(half), pdf(half)]).is_ok());
    assert_eq!(
        keep(vec![pdf(half), pdf(half + 1)])
            .unwrap_err()
            .to_string(),
        "the attachments have 23068673 bytes together; those of a prompt may have 23068672"
    );
    assert!(keep(vec![file(b"x"); 20]).is_ok());
    assert_eq!(
        keep(vec![file(b"x"); 21]).unwrap_err().to_string(),
        "21 attachments are too many; a prompt may have 20"
    );
}

/// Spec: [ATT-04]
#[test]
fn nothing_is_kept_if_one_of_them_cannot_be_used() {
    let store = MemoryAttachments::default();
    let kept = keep_attachments(&store, vec![file(b"fine"), file(b"")]);
    assert!(kept.now_or_never().unwrap().is_err());
    let read = store.get(&sha256(b"fine")).now_or_never().unwrap();
    assert!(read.is_err());
}
