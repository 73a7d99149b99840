//! Files that are no text: their kinds, by their first bytes.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use crate::attachment::MediaType;

/// Number of bytes at a file's start that tell text from other content.
const HEAD_BYTES: usize = 8 * 1024;

/// The starts of common kinds of files besides those that the model can be shown. None is the start of a text.
///
/// Source: the specifications of the formats.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program or library"),
    (b"!<arch>\n", "an archive of object files"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x1f\x8b", "data packed by gzip"),
    (b"\xfd7zXZ\0", "data packed by xz"),
    (b"\x28\xb5\x2f\xfd", "data packed by zstd"),
    (b"PK\x03\x04", "a zip archive, or a document in one"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"OggS", "Ogg sound or video"),
    (b"fLaC", "FLAC sound"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"\0\x01\0\0", "a font"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
];

/// The kind of a file that is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BinaryKind {
    name: String,
    /// True if the model can be shown it with a prompt.
    is_attachable: bool,
}

/// The line that the model gets in place of a content that is no text; `None` if it is text, or cannot be
/// looked at without being read.
pub(super) fn binary_note(file: &File) -> Option<String> {
    let mut head = [0; HEAD_BYTES];
    // Some files of the kernel can be read only in order.
    let read = file.read_at(&mut head, 0).ok()?;
    let kind = binary_kind(&head[..read])?;
    let known = file.metadata().map_or(0, |metadata| metadata.len());
    // The size of a file that the kernel makes up is 0.
    let size = known.max(read as u64);
    let attach = match kind.is_attachable {
        true => ", or ask the user to attach it to a prompt, which shows it to you",
        false => "",
    };
    Some(format!(
        "the file is not text but {}, {size} bytes, and is not shown; look into it with bash (file, \
         xxd and the like){attach}",
        kind.name
    ))
}

/// The kind of a file that begins with those bytes; `None` if they are text.
fn binary_kind(head: &[u8]) -> Option<BinaryKind> {
    let has_nul = head.contains(&0);
    // The last character may be cut.
    let is_utf_8 = std::str::from_utf8(head)
        .err()
        .is_none_or(|error| error.error_len().is_none());
    if is_utf_8 && !has_nul {
        return None;
    }
    let by_signature = || {
        let known = |(start, _): &&(&[u8], &str)| head.starts_with(start);
        SIGNATURES.iter().find(known).map(|(_, name)| *name)
    };
    match MediaType::detect(head) {
        Some(
            kind @ (MediaType::Png
            | MediaType::Jpeg
            | MediaType::Gif
            | MediaType::Webp
            | MediaType::Pdf),
        ) => Some(BinaryKind {
            name: kind.to_string(),
            is_attachable: true,
        }),
        Some(MediaType::Text) | None => {
            let name = by_signature().or(has_nul.then_some("binary data"))?;
            Some(BinaryKind {
                name: name.to_owned(),
                is_attachable: false,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-440]
    #[test]
    fn a_kind_is_found_by_the_first_bytes_and_text_is_left_alone() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a\x01\0", Some("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n", Some("application/pdf")),
            (b"\x7fELF\x02\x01\x01\0", Some("an ELF program or library")),
            (b"\x1f\x8b\x08\x08abc", Some("data packed by gzip")),
            (b"SQLite format 3\0\x10\0", Some("a SQLite database")),
            (
                b"PK\x03\x04\x14\0",
                Some("a zip archive, or a document in one"),
            ),
            (b"\xff\xfea\0", Some("text in UTF-16")),
            (b"a\0b", Some("binary data")),
            // Text, whatever it begins with.
            (b"", None),
            (b"%PDF-1.7\n1 0 obj\n", None),
            (b"PK\x03\x04", None),
            (b"caf\xe9 in Latin-1", None),
            (b"\xef\xbb\xbftext", None),
            ("grün".as_bytes(), None),
            (&"grün".as_bytes()[..3], None),
        ] {
            let kind = binary_kind(head).map(|kind| kind.name);
            assert_eq!(kind.as_deref(), expected, "{head:?}");
        }
    }
}
