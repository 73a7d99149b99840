//! The files that go with a prompt, read where the command runs.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use derive_more::{Display, Error};
use harness_actors::attachment::{MAX_ATTACHED_BYTES, MAX_ATTACHMENTS};
use harness_protocol::AttachmentOrder;

/// Why a file cannot go with the prompt.
#[derive(Debug, Display, Error)]
pub(super) enum PromptFileError {
    /// The system refused.
    #[display("cannot attach {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There are more than the service takes.
    #[display("cannot attach {count} files: a prompt may have {MAX_ATTACHMENTS}")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// They have more bytes than the service takes.
    #[display(
        "cannot attach {}: the files of a prompt may have {MAX_ATTACHED_BYTES} bytes together",
        path.display()
    )]
    TooLarge {
        /// The one that is too much.
        path: PathBuf,
    },
}

/// The files, in their order, as the service takes them.
///
/// # Errors
/// If one of them cannot be read, or they are more than the service takes.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<AttachmentOrder>, PromptFileError> {
    let count = paths.len();
    if count > MAX_ATTACHMENTS {
        return Err(PromptFileError::TooMany { count });
    }
    let mut rest = MAX_ATTACHED_BYTES as u64;
    let mut files = Vec::with_capacity(count);
    for path in paths {
        let content = read_up_to(path, rest + 1).map_err(|source| PromptFileError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let Some(left) = rest.checked_sub(content.len() as u64) else {
            return Err(PromptFileError::TooLarge { path: path.clone() });
        };
        rest = left;
        files.push(AttachmentOrder {
            data: Some(STANDARD.encode(content)),
            name: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            ..AttachmentOrder::default()
        });
    }
    Ok(files)
}

fn read_up_to(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ATT-13]
    #[test]
    fn files_are_sent_with_their_content_and_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, b"abcd").unwrap();
        let files = read(&[path.clone(), path]).unwrap();
        let expected = AttachmentOrder {
            data: Some("YWJjZA==".to_owned()),
            name: Some("a.txt".to_owned()),
            ..AttachmentOrder::default()
        };
        assert_eq!(files, [expected.clone(), expected]);
        assert_eq!(read(&[]).unwrap(), []);
    }

    /// Spec: [ATT-13]
    #[test]
    fn what_the_service_would_not_take_is_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let size = |name: &str, bytes: usize| {
            File::create(at(name))
                .unwrap()
                .set_len(bytes as u64)
                .unwrap();
            at(name)
        };
        let (half, most) = (
            size("half", MAX_ATTACHED_BYTES / 2),
            size("most", MAX_ATTACHED_BYTES / 2 + 1),
        );
        assert_eq!(read(&[half.clone(), half.clone()]).unwrap().len(), 2);
        let told = |paths: &[PathBuf]| read(paths).unwrap_err().to_string();
        let expected = format!(
            "cannot attach {}: the files of a prompt may have 23068672 bytes together",
            most.display()
        );
        assert_eq!(told(&[half, most]), expected);
        let expected = format!("cannot attach {}: No such file", at("none").display());
        assert!(told(&[at("none")]).starts_with(&expected));
        assert!(told(&[folder.path().to_owned()]).contains("Is a directory"));
        let one = size("one", 1);
        assert_eq!(read(&vec![one.clone(); 20]).unwrap().len(), 20);
        let expected = "cannot attach 21 files: a prompt may have 20";
        assert_eq!(told(&vec![one; 21]), expected);
    }
}
