//! The place of a key: a variable of the environment, or a private file.

use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nix::fcntl::OFlag;
use nix::unistd::Uid;

use crate::blocking;
use crate::secret::Secret;

/// Maximum size of a file with a key, in bytes.
const MAX_KEY_BYTES: u64 = 64 * 1024;
/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// The place of a key, as `env:NAME` or `file:PATH`. A path is absolute or begins with `~/`, the home folder of the
/// service's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOrigin {
    /// This variable of the environment.
    Environment(String),
    /// This file: of the service's user or root, and without access for any other user.
    File(String),
}

impl FromStr for KeyOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("env", name)) => {
                let mut letters = name.chars();
                let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
                let is_name = letters.next().is_some_and(begins)
                    && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
                if !is_name {
                    return Err("that is no name of a variable".to_owned());
                }
                Ok(Self::Environment(name.to_owned()))
            }
            Some(("file", path)) => {
                // What a relative path means would depend on where the service was started.
                if !path.starts_with('/') && !path.starts_with("~/") {
                    return Err("the path of the file must be absolute or begin with ~/".to_owned());
                }
                Ok(Self::File(path.to_owned()))
            }
            _ => Err("a source is env:NAME or file:PATH".to_owned()),
        }
    }
}

impl KeyOrigin {
    /// Reads the key.
    ///
    /// # Errors
    /// Why there is none, in words that do not hold what was read.
    pub fn read(&self) -> Result<Secret, String> {
        let text = match self {
            Self::Environment(name) => from_environment(name)?,
            Self::File(path) => {
                let home = std::env::var_os("HOME");
                from_file(&whole_path(path, home.as_deref())?)?
            }
        };
        let key = text.trim();
        if key.is_empty() {
            return Err("it is empty".to_owned());
        }
        if key.contains(['\n', '\r']) {
            return Err("it has more than one line".to_owned());
        }
        // Anything else cannot be sent in a header.
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it has characters that no key has".to_owned());
        }
        Ok(key.into())
    }

    /// Reads the key on another thread: a file may be on a disk that is slow, and an arbiter must
    /// not wait for it.
    pub(super) async fn read_aside(self) -> Result<Secret, String> {
        let read = blocking(move || self.read()).await;
        read.unwrap_or_else(|error| Err(format!("reading it failed: {error}")))
    }
}

fn from_environment(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| match error {
        std::env::VarError::NotPresent => "it is not set".to_owned(),
        std::env::VarError::NotUnicode(_) => "it is no text".to_owned(),
    })
}

/// The file that is meant.
fn whole_path(path: &str, home: Option<&OsStr>) -> Result<PathBuf, String> {
    let whole = match path.strip_prefix("~/") {
        Some(rest) => home.map_or_else(PathBuf::new, |home| Path::new(home).join(rest)),
        None => PathBuf::from(path),
    };
    if !whole.is_absolute() {
        return Err("there is no home folder for ~/; give an absolute path".to_owned());
    }
    Ok(whole)
}

fn from_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let opened = OpenOptions::new()
        .read(true)
        // Opening a pipe would wait for a writer.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path);
    let file = opened.map_err(unreadable)?;
    check_private(&file.metadata().map_err(unreadable)?, Uid::effective())?;
    let mut content = Vec::new();
    let mut start = file.take(MAX_KEY_BYTES + 1);
    start.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MAX_KEY_BYTES {
        return Err(format!("it is larger than {MAX_KEY_BYTES} bytes"));
    }
    String::from_utf8(content).map_err(|_| "it is no text".to_owned())
}

/// Checks that the opened file is a file to which only this user, or root, has access.
fn check_private(found: &Metadata, user: Uid) -> Result<(), String> {
    if !found.is_file() {
        return Err("it is no file".to_owned());
    }
    let owner = found.uid();
    if owner != user.as_raw() && owner != 0 {
        return Err(format!(
            "it belongs to another user (uid {owner}); chown it to the service's user"
        ));
    }
    let mode = found.mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(format!(
            "others may read or write it (mode {mode:04o}); run `chmod 600` on it"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "key_origin_tests.rs"]
mod tests;
