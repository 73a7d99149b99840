//! Texts that must never be seen.

use std::fmt;
use std::sync::Arc;

use derive_more::From;

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

/// Takes secrets out of text that comes from elsewhere: a file that a tool read, a gateway that
/// quotes the key it was sent.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    secrets: Arc<[Secret]>,
}

impl Redaction {
    /// Takes these out.
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Self {
        let mut secrets = secrets;
        secrets.retain(|secret| !secret.expose().is_empty());
        Self {
            secrets: secrets.into(),
        }
    }

    /// The text, with `***` in place of each secret.
    #[must_use]
    pub fn apply(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.expose()) {
                text.replace(secret.expose(), "***")
            } else {
                text
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-10]
    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        let redaction = Redaction::new(vec!["key-1".into(), "".into(), "token-2".into()]);
        let text = "a key-1, key-1\ntoken-2 and key-2".to_owned();
        assert_eq!(redaction.apply(text), "a ***, ***\n*** and key-2");
        let secret = Secret::from("key-1");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    }
}
