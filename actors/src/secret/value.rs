//! A secret, and which texts are none whatever they are called.

use std::fmt;
use std::path::Path;

use derive_more::From;

/// Minimum length of a text of nothing but letters that counts as a secret: words are shorter.
const MIN_LETTERS: usize = 16;

/// A text that is never shown: not in logs, errors or debug output.
#[derive(Clone, PartialEq, Eq, From)]
#[from(String, &str)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one place that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if it is a word, a number or a path, and so hardly a secret: masking it everywhere would garble other text.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        is_word(&self.0) || is_number(&self.0) || is_path(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

fn is_word(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '_' | '.' | ' ');
    text.len() < MIN_LETTERS && text.chars().all(is_letter)
}

fn is_number(text: &str) -> bool {
    text.len() < MIN_LETTERS
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// True if a text is a path in the file system. A key may begin with a slash as well, but hardly with the name of a
/// folder that exists.
fn is_path(text: &str) -> bool {
    if ["~/", "./", "../"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return true;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let first = rest.split(['/', ':']).next().unwrap_or_default();
    first.is_empty() || Path::new("/").join(first).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-10]
    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::from("key-0123456789");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.expose(), "key-0123456789");
    }

    /// Spec: [SEC-23]
    #[test]
    fn words_numbers_and_paths_are_no_secrets() {
        for plain in [
            "http",
            "true",
            "production",
            "lm-studio",
            "a few words",
            "",
            "8421",
            "127.0.0.1",
            "/",
            "/tmp",
            "/usr/share/long/enough/path",
            "/tmp:/usr",
            "~/keys/one",
            "./x",
            "../x",
        ] {
            assert!(Secret::from(plain).is_plain(), "{plain}");
        }
        for secret in [
            "s3cret-pw",
            "correcthorsebatterystaple",
            "sk-ant-1",
            "/qR7nZ+not/a/folder",
            "AKIA0123456789",
            "1234567890123456",
            "pass word 1",
        ] {
            assert!(!Secret::from(secret).is_plain(), "{secret}");
        }
    }
}
