//! Texts that must never be seen.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

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

/// How short a text may be that is learned later as a secret. A shorter one is no key, and taking
/// it out would take other text apart.
const MIN_LEARNED_BYTES: usize = 4;
/// How many secrets that were learned later are kept: keys that change often are not collected
/// for ever.
const MAX_LEARNED: usize = 256;

/// Takes secrets out of text that comes from elsewhere: a file that a tool read, a gateway that
/// quotes the key it was sent. Clones share what is learned later.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    secrets: Arc<[Secret]>,
    /// Keys that were resolved while the service ran, the oldest first.
    learned: Arc<RwLock<VecDeque<Secret>>>,
}

impl Redaction {
    /// Takes these out.
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Self {
        let mut secrets = secrets;
        secrets.retain(|secret| !secret.expose().is_empty());
        Self {
            secrets: secrets.into(),
            learned: Arc::default(),
        }
    }

    /// From now on, takes this out too, here and in all clones.
    pub fn add(&self, secret: Secret) {
        if secret.expose().len() < MIN_LEARNED_BYTES || self.secrets.contains(&secret) {
            return;
        }
        let known = |learned: &VecDeque<Secret>| learned.back() == Some(&secret);
        if known(&self.learned.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        // The one that was used last is forgotten last.
        learned.retain(|known| *known != secret);
        learned.push_back(secret);
        if learned.len() > MAX_LEARNED {
            learned.pop_front();
        }
    }

    /// The text, with `***` in place of each secret.
    #[must_use]
    pub fn apply(&self, text: String) -> String {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let secrets = self.secrets.iter().chain(learned.iter());
        secrets.fold(text, |text, secret| {
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

    /// Spec: [MODEL-45]
    #[test]
    fn secrets_that_are_learned_later_are_taken_out_by_all_clones() {
        let redaction = Redaction::new(vec!["key-1".into()]);
        let clone = redaction.clone();
        clone.add("key-2".into());
        for short in ["", "a", "key"] {
            clone.add(short.into());
        }
        let text = "a key-1, key-2, key-3".to_owned();
        assert_eq!(redaction.apply(text.clone()), "a ***, ***, key-3");
        // Those that are no longer used are forgotten first, and those from the start never.
        for number in 3..=MAX_LEARNED + 2 {
            redaction.add(format!("no-{number}.").into());
            redaction.add("key-2".into());
        }
        assert_eq!(clone.apply(text), "a ***, ***, key-3");
        assert_eq!(clone.apply("no-3. no-4.".to_owned()), "no-3. ***");
    }
}
