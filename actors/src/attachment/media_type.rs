//! The media type of a content, found from its first bytes.

use derive_more::Display;

/// A mebibyte.
const MIB: usize = 1024 * 1024;
/// Maximum size of an image in bytes. The API takes 5 MiB of base64, which is a third longer.
const MAX_IMAGE: usize = 5 * MIB / 4 * 3;
/// Maximum size of a text in bytes.
const MAX_TEXT: usize = MIB;

/// Number of bytes at the start of a PDF in which its header is, and at its end in which its end mark is.
///
/// Source: PDF Reference, sixth edition (PDF 1.7), Appendix H.3, implementation notes 13 and 18.
const PDF_EDGE: usize = 1024;

/// The media types that the model can be shown.
#[derive(Debug, Display, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// An image.
    #[display("image/png")]
    Png,
    /// An image.
    #[display("image/jpeg")]
    Jpeg,
    /// An image.
    #[display("image/gif")]
    Gif,
    /// An image.
    #[display("image/webp")]
    Webp,
    /// A document of pages.
    #[display("application/pdf")]
    Pdf,
    /// UTF-8.
    #[display("text/plain")]
    Text,
}

impl MediaType {
    /// The media type of a content; nothing if the model cannot be shown it. A content that is
    /// longer than a text may be is never taken for one.
    #[must_use]
    pub fn detect(content: &[u8]) -> Option<Self> {
        if content.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if content.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else if is_pdf(content) {
            Some(Self::Pdf)
        } else if content.len() <= MAX_TEXT
            && !content.contains(&0)
            && std::str::from_utf8(content).is_ok()
        {
            Some(Self::Text)
        } else {
            None
        }
    }

    /// Maximum size of a content of this type, in bytes.
    #[must_use]
    pub fn max_bytes(self) -> usize {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => MAX_IMAGE,
            Self::Pdf => super::MAX_ATTACHED_BYTES,
            Self::Text => MAX_TEXT,
        }
    }

    /// True if it is an image.
    #[must_use]
    pub fn is_image(self) -> bool {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => true,
            Self::Pdf | Self::Text => false,
        }
    }

    /// True if a client that declares this type means this one. For a text, any of the type names of texts matches.
    pub(super) fn is_meant_by(self, declared: &str) -> bool {
        let essence = declared.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        essence == self.to_string()
            || self == Self::Text && (essence.starts_with("text/") || essence == "application/json")
    }
}

/// True if a content begins as a PDF, or has both marks of one near its edges, each at the start of a line:
/// a text that only speaks of them is none.
fn is_pdf(content: &[u8]) -> bool {
    let head = &content[..content.len().min(PDF_EDGE)];
    let tail = &content[content.len().saturating_sub(PDF_EDGE)..];
    content.starts_with(b"%PDF-") || has_line(head, b"%PDF-") && has_line(tail, b"%%EOF")
}

/// True if one of the lines begins so; a byte that no text has ends a line, too.
fn has_line(bytes: &[u8], start: &[u8]) -> bool {
    let is_in_line = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let mut places = bytes.windows(start.len()).enumerate();
    places.any(|(at, part)| part == start && (at == 0 || !is_in_line(bytes[at - 1])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ATT-03] [ATT-440]
    #[test]
    fn a_type_is_told_from_the_content() {
        for (content, expected) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some(MediaType::Png)),
            (b"\x89PNG\r\n", None),
            (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
            (b"GIF87a", Some(MediaType::Gif)),
            (b"GIF89a\x01\0", Some(MediaType::Gif)),
            (b"GIF88a", Some(MediaType::Text)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some(MediaType::Webp)),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"RIFF", Some(MediaType::Text)),
            (b"%PDF-1.7\n\xe2\xe3", Some(MediaType::Pdf)),
            (b" %PDF-1.7\n\xe2\xe3", None),
            (b"\n\n%PDF-1.4\n1 0 obj\n%%EOF\n", Some(MediaType::Pdf)),
            (b"\xef\xbb\xbf%PDF-1.4\n\xe2\n%%EOF", Some(MediaType::Pdf)),
            (b"\n\n%PDF-1.4\n1 0 obj\n", Some(MediaType::Text)),
            (b"A %PDF-1.4 ends in %%EOF\n", Some(MediaType::Text)),
            ("Grüße".as_bytes(), Some(MediaType::Text)),
            (b"<script>alert(1)</script>", Some(MediaType::Text)),
            (b"a\0b", None),
            (b"\xc3", None),
            (b"\x7fELF", Some(MediaType::Text)),
            (b"\x7fELF\x02\x01\x01\0", None),
        ] {
            assert_eq!(MediaType::detect(content), expected, "{content:?}");
        }
        let pdf_behind = |bytes: usize| [vec![b'\n'; bytes], b"%PDF-1\n%%EOF".to_vec()].concat();
        let (near, far) = (pdf_behind(1019), pdf_behind(1020));
        assert_eq!(MediaType::detect(&near), Some(MediaType::Pdf));
        assert_eq!(MediaType::detect(&far), Some(MediaType::Text));
        assert_eq!(
            MediaType::detect(&vec![b'x'; MAX_TEXT]),
            Some(MediaType::Text)
        );
        assert_eq!(MediaType::detect(&vec![b'x'; MAX_TEXT + 1]), None);
    }

    /// Spec: [ATT-03]
    #[test]
    fn a_declared_type_is_the_one_of_the_content() {
        for (kind, declared, is_meant) in [
            (MediaType::Png, "image/png", true),
            (MediaType::Png, "IMAGE/PNG ; x=y", true),
            (MediaType::Png, "image/jpeg", false),
            (MediaType::Png, "text/plain", false),
            (MediaType::Pdf, "application/pdf", true),
            (MediaType::Text, "text/markdown", true),
            (MediaType::Text, "text/plain; charset=utf-8", true),
            (MediaType::Text, "application/json", true),
            (MediaType::Text, "image/png", false),
            (MediaType::Text, "application/pdf", false),
            (MediaType::Text, "", false),
        ] {
            assert_eq!(kind.is_meant_by(declared), is_meant, "{kind} {declared}");
        }
    }

    /// Spec: [ATT-04]
    #[test]
    fn an_image_in_base64_is_as_long_as_the_api_takes_it() {
        assert_eq!(MAX_IMAGE.div_ceil(3) * 4, 5 * MIB);
    }
}
