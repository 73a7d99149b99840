//! Where the key of a call comes from, if not from the settings.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use nix::fcntl::OFlag;

use crate::secret::Secret;

/// How large a file with a key may be, in bytes.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// Finds the key for a call. Asked before every call of the model, so that a key may change while
/// the service runs.
pub trait KeyResolver: Send + Sync + 'static {
    /// The key from a source, or, without one, for conversations that name none. Nothing, or an
    /// empty key, means the one from the settings.
    ///
    /// # Errors
    /// Why there is none, in words that do not hold the key.
    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>>;
}

/// Reads keys from the sources `env:NAME` and `file:PATH`, afresh each time. A path is absolute or
/// begins with `~/`, the home folder of the service's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnvOrFileKeys;

impl KeyResolver for EnvOrFileKeys {
    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>> {
        let Some(source) = source.map(ToOwned::to_owned) else {
            return Box::pin(async { Ok(None) });
        };
        Box::pin(async move {
            // A file may be on a disk that is slow, and an arbiter must not wait for it.
            let read = tokio::task::spawn_blocking(move || read(&source));
            match read.await {
                Ok(key) => key.map(Some),
                Err(_) => Err("reading it panicked; this is a bug of the service".to_owned()),
            }
        })
    }
}

/// The key from a source.
fn read(source: &str) -> Result<Secret, String> {
    let text = match source.split_once(':') {
        Some(("env", name)) => from_environment(name)?,
        Some(("file", path)) => {
            let home = std::env::var_os("HOME");
            from_file(&whole_path(path, home.as_deref())?)?
        }
        _ => return Err("a source is env:NAME or file:PATH".to_owned()),
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

fn from_environment(name: &str) -> Result<String, String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("that is no name of a variable".to_owned());
    }
    std::env::var(name).map_err(|error| match error {
        std::env::VarError::NotPresent => "it is not set".to_owned(),
        std::env::VarError::NotUnicode(_) => "it is no text".to_owned(),
    })
}

/// The file that is meant. What a relative path means would depend on where the service was
/// started.
fn whole_path(path: &str, home: Option<&OsStr>) -> Result<PathBuf, String> {
    let whole = match path.strip_prefix("~/") {
        Some(rest) => home.map_or_else(PathBuf::new, |home| Path::new(home).join(rest)),
        None => PathBuf::from(path),
    };
    if whole.is_absolute() {
        Ok(whole)
    } else if path.starts_with("~/") {
        Err("there is no home folder for ~/; give an absolute path".to_owned())
    } else {
        Err("the path of the file must be absolute or begin with ~/".to_owned())
    }
}

fn from_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let opened = OpenOptions::new()
        .read(true)
        // Opening a pipe would wait for whoever writes to it.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path);
    let file = opened.map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut content = Vec::new();
    let mut start = file.take(MAX_KEY_BYTES + 1);
    start.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MAX_KEY_BYTES {
        return Err(format!("it is larger than {MAX_KEY_BYTES} bytes"));
    }
    String::from_utf8(content).map_err(|_| "it is no text".to_owned())
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
