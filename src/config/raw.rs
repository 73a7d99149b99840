//! The unparsed text of a value, with its source.

use derive_more::Display;

use super::error::SettingError;
use super::setting::Key;
use crate::visible;

/// The most characters of a wrong value that an error repeats.
const MAX_SHOWN: usize = 60;

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub(super) enum SettingSource {
    /// No layer gave it.
    #[display("default")]
    Default,
    /// The file config.toml, at this line.
    #[display("config.toml line {line}")]
    File { line: usize },
    /// This environment variable.
    #[display("{_0}")]
    Environment(&'static str),
    /// This command-line flag.
    #[display("--{_0}")]
    Flag(&'static str),
}

impl SettingSource {
    /// The layer's rank; the highest one that gives a setting wins.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Environment(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

/// The unchecked text of a value. Has no `Debug`: it may be a secret.
pub(super) struct RawSetting {
    pub(super) key: Key,
    pub(super) text: String,
    pub(super) source: SettingSource,
}

impl RawSetting {
    /// True if a layer gave this value; otherwise it is the default.
    pub(super) fn is_given(&self) -> bool {
        self.source != SettingSource::Default
    }

    /// The error for a value that breaks `rule`; repeats the value unless it is a secret.
    pub(super) fn refuse(&self, rule: &str) -> SettingError {
        if self.key.setting().secret || self.text.contains("sk-") {
            return self.refuse_unseen(rule);
        }
        let Self { key, text, source } = self;
        let name = key.setting().name;
        let got = visible::cut(text, MAX_SHOWN);
        SettingError::new(format!("{name} must {rule}, got {got:?} (from {source})"))
    }

    /// The error for a value that breaks `rule` and must not be repeated.
    pub(super) fn refuse_unseen(&self, rule: &str) -> SettingError {
        let name = self.key.setting().name;
        SettingError::new(format!("{name} must {rule} (from {})", self.source))
    }
}
