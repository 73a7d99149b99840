//! The width and height of an image, read from its first bytes.

use super::MediaType;

/// The width and the height of an image in pixels. `None` if the content does not contain them, which is left to the
/// API to judge.
pub(super) fn dimensions(kind: MediaType, content: &[u8]) -> Option<(u32, u32)> {
    match kind {
        MediaType::Png => Some((big(content.get(16..20)?), big(content.get(20..24)?))),
        MediaType::Gif => Some((little(content.get(6..8)?), little(content.get(8..10)?))),
        MediaType::Jpeg => jpeg(content),
        MediaType::Webp => webp(content),
        MediaType::Pdf | MediaType::Text => None,
    }
}

fn big(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

/// Goes from segment to segment up to the one that begins a frame.
fn jpeg(content: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let (&[0xff, marker], rest) = content.get(at..)?.split_first_chunk::<2>()? else {
            return None;
        };
        match marker {
            // Any number of these may precede a marker.
            0xff => at += 1,
            // Markers without a segment.
            0x01 | 0xd0..=0xd8 => at += 2,
            // The frames; three of the numbers between them are something else.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(rest.get(5..7)?), big(rest.get(3..5)?)));
            }
            // The image data begins without a frame, or everything ends.
            0xd9 | 0xda => return None,
            _ => at += 2 + big(rest.get(0..2)?) as usize,
        }
    }
}

fn webp(content: &[u8]) -> Option<(u32, u32)> {
    let chunk = content.get(20..)?;
    match content.get(12..16)? {
        b"VP8X" => Some((little(chunk.get(4..7)?) + 1, little(chunk.get(7..10)?) + 1)),
        b"VP8L" => {
            let bits = little(chunk.get(1..5)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little(chunk.get(6..8)?) & 0x3fff,
            little(chunk.get(8..10)?) & 0x3fff,
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spec: [ATT-04]
    #[test]
    fn the_first_bytes_of_an_image_tell_its_size() {
        let webp = |rest: &[u8]| [b"RIFF\0\0\0\0WEBP", rest].concat();
        let of = |kind, content: &[u8]| dimensions(kind, content);
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x1f\x41\0\0\0\x10\x08\x06\0\0\0";
        assert_eq!(of(MediaType::Png, png), Some((8001, 16)));
        let gif = b"GIF89a\x2c\x01\x05\0\0\0\0";
        assert_eq!(of(MediaType::Gif, gif), Some((300, 5)));
        // A segment, a filler, and a frame of 200 lines with 300 pixels each.
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\0\xc8\x01\x2c\x03";
        assert_eq!(of(MediaType::Jpeg, jpeg), Some((300, 200)));
        let jpeg = b"\xff\xd8\xff\xc4\0\x04ab\xff\xda\0\x04";
        assert_eq!(of(MediaType::Jpeg, jpeg), None);
        let extended = webp(b"VP8X\x0a\0\0\0\x10\0\0\0\x2b\x01\0\xc7\0\0");
        assert_eq!(of(MediaType::Webp, &extended), Some((300, 200)));
        let lossless = webp(b"VP8L\x0a\0\0\0\x2f\x2b\xc1\x31\0");
        assert_eq!(of(MediaType::Webp, &lossless), Some((300, 200)));
        let lossy = webp(b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x2c\x01\xc8\x40");
        assert_eq!(of(MediaType::Webp, &lossy), Some((300, 200)));
        assert_eq!(of(MediaType::Text, b"text"), None);
    }

    proptest! {
        /// Spec: [ATT-04]
        #[test]
        fn no_content_is_too_strange_to_be_looked_at(
            content in prop::collection::vec(prop_oneof![Just(0xff_u8), any::<u8>()], 0..60),
        ) {
            let kinds = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp];
            for kind in kinds {
                dimensions(kind, &content);
                let heads = [&b"\xff\xd8\xff\xc0"[..], b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8L"];
                for head in heads {
                    dimensions(kind, &[head, &content].concat());
                }
            }
        }
    }
}
