//! The text of a header: the first line of a journal.

use std::path::PathBuf;

use harness_protocol::Settings;
use serde::{Deserialize, Serialize};

use super::header::{FORMAT_VERSION, ForkedFrom, Header, Workspace};
use super::line::{Seal, SealedLine};
use crate::ids::ConversationId;

/// The name of the format in a header.
const FORMAT: &str = "harness-journal";
/// The mark that some editors put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The reason why a first line is not a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// It is damaged, or something else.
    Unreadable(String),
    /// A newer version wrote it.
    Newer(u32),
}

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    format: String,
    version: u32,
    conversation: String,
    epoch: String,
    created_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    settings: Settings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forked_from: Option<ForkedFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<PathBuf>,
}

fn is_default(settings: &Settings) -> bool {
    *settings == Settings::default()
}

/// The line of a header, with its line break.
///
/// # Errors
/// When the header has no JSON form.
pub(super) fn encode(header: &Header) -> serde_json::Result<Vec<u8>> {
    let workspace = header.workspace.as_ref();
    let is_elsewhere = workspace.is_some_and(|workspace| workspace.is_elsewhere);
    let mut line = serde_json::to_vec(&HeaderLine {
        format: FORMAT.to_owned(),
        version: if is_elsewhere { FORMAT_VERSION } else { 1 },
        conversation: header.conversation.to_string(),
        epoch: header.epoch.to_string(),
        created_at: header.created_at,
        title: header.title.clone(),
        settings: header.settings.clone(),
        forked_from: header.forked_from.clone(),
        workspace: workspace.map(|workspace| workspace.folder.clone()),
    })?;
    Seal::of_header().close(&mut line, 0);
    Ok(line)
}

/// Reads the first line of a journal.
///
/// # Errors
/// See [`HeaderError`].
pub(super) fn decode(line: &[u8]) -> Result<Header, HeaderError> {
    /// The field that every version writes.
    #[derive(Deserialize)]
    struct Version {
        format: String,
        version: u32,
    }
    let unreadable = |reason: &str| HeaderError::Unreadable(reason.to_owned());
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let line = line.trim_ascii_end();
    let text = str::from_utf8(line).map_err(|_| unreadable("its first line is not UTF-8"))?;
    let version: Version = serde_json::from_str(text)
        .map_err(|error| unreadable(&format!("its first line is not a header: {error}")))?;
    if version.format != FORMAT || version.version == 0 {
        return Err(unreadable("its first line is the header of something else"));
    }
    if version.version > FORMAT_VERSION {
        return Err(HeaderError::Newer(version.version));
    }
    let is_right = match SealedLine::split(line) {
        Some(sealed) => Seal::of_header().sum(sealed.body) == sealed.sum,
        None => !SealedLine::is_broken(line),
    };
    if !is_right {
        return Err(unreadable("the checksum of its first line is wrong"));
    }
    let header: HeaderLine = serde_json::from_str(text)
        .map_err(|error| unreadable(&format!("its first line is not a header: {error}")))?;
    let epoch = header
        .epoch
        .parse()
        .map_err(|_| unreadable("its epoch is not 16 hexadecimal digits"))?;
    Ok(Header {
        conversation: ConversationId::new(&header.conversation),
        epoch,
        created_at: header.created_at,
        title: header.title,
        settings: header.settings,
        forked_from: header.forked_from,
        workspace: header.workspace.map(|folder| Workspace {
            folder,
            is_elsewhere: header.version > 1,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(header: &Header) -> (Header, String) {
        let line = encode(header).unwrap();
        let text = String::from_utf8(line.clone()).unwrap();
        (decode(&line).unwrap(), text)
    }

    /// Spec: [JRNL-98]
    #[test]
    fn only_a_journal_that_works_elsewhere_has_the_newer_format() {
        let plain = Header::new(ConversationId::new("c"), 5);
        let at = |is_elsewhere| Header {
            workspace: Some(Workspace {
                folder: "/a b/\u{e9}".into(),
                is_elsewhere,
            }),
            ..plain.clone()
        };
        for (header, version, has_folder) in [
            (plain.clone(), 1, false),
            (at(false), 1, true),
            (at(true), 2, true),
        ] {
            let (read, text) = read_back(&header);
            assert_eq!(read, header);
            assert!(text.contains(&format!("\"version\":{version},")), "{text}");
            assert_eq!(text.contains("\"workspace\":\"/a b/\u{e9}\""), has_folder);
        }
        let newer = encode(&plain).unwrap();
        let newer = String::from_utf8(newer).unwrap();
        let newer = newer.replace("\"version\":1", "\"version\":3");
        assert_eq!(decode(newer.as_bytes()), Err(HeaderError::Newer(3)));
    }
}
