//! The layers a setting can come from, and which of them wins.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use derive_more::Display;

use super::error::ConfigError;
use super::file::{self, InFile};
use super::flags::SettingFlags;
use super::key_sources::KeySources;
use super::secret::Secret;
use super::setting::{Empty, Key, SETTINGS, Setting};

/// The most characters of a wrong value that an error repeats.
const MAX_SHOWN: usize = 60;

/// Where a value was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub(super) enum Source {
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

impl Source {
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

/// A value as it was written, not yet checked. Has no `Debug`: it may be a secret.
pub(super) struct Raw {
    pub(super) key: Key,
    pub(super) text: String,
    pub(super) source: Source,
}

impl Raw {
    /// Whether a layer gave this value; otherwise it is the default.
    pub(super) fn is_given(&self) -> bool {
        self.source != Source::Default
    }

    /// The error for a value that breaks `rule`; repeats the value unless it is a secret.
    pub(super) fn refuse(&self, rule: &str) -> ConfigError {
        if self.key.setting().secret || self.text.contains("sk-") {
            return self.refuse_unseen(rule);
        }
        let Self { key, text, source } = self;
        let name = key.setting().name;
        let got = shorten(text, MAX_SHOWN);
        ConfigError::new(format!("{name} must {rule}, got {got:?} (from {source})"))
    }

    /// The error for a value that breaks `rule` and must not be repeated.
    pub(super) fn refuse_unseen(&self, rule: &str) -> ConfigError {
        let name = self.key.setting().name;
        ConfigError::new(format!("{name} must {rule} (from {})", self.source))
    }
}

/// Cuts a text to at most `max` characters, with a mark where it was cut.
pub(super) fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// Everything the configuration is made from.
#[derive(Default)]
pub(crate) struct Layers {
    /// The flags of the command line.
    pub(crate) flags: SettingFlags,
    /// The environment, of which only the variables of settings and `HOME` are read.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// The text of config.toml, if there is one.
    pub(crate) file: Option<String>,
    /// What relative paths start from; absolute.
    pub(crate) current_dir: PathBuf,
    /// Whether the program runs in a container, where connections from outside look like the
    /// owner's own.
    pub(crate) in_container: bool,
}

impl Layers {
    /// The state folder; config.toml lies in it, so it is known before the file is read.
    pub(super) fn home(&self) -> Result<PathBuf, ConfigError> {
        let raw = self.raw(Key::Home.setting(), None)?;
        if raw.is_given() {
            return Ok(self.absolute(&raw.text));
        }
        match self.variable("HOME") {
            Some(home) => Ok(self.absolute(home).join(".harness")),
            None => Err(ConfigError::new(
                "home is unknown because HOME is not set; set HARNESS_HOME or give --home",
            )),
        }
    }

    /// Every setting as the highest layer gives it.
    pub(super) fn resolve(&self) -> Result<Given, ConfigError> {
        let InFile {
            mut settings,
            key_sources,
        } = match &self.file {
            Some(text) => file::parse(text)?,
            None => InFile::default(),
        };
        let in_file = settings.values();
        let in_file = in_file.map(|raw| (raw.key.setting().name, raw.text.clone()));
        let secrets = self.secrets(&in_file.collect::<Vec<_>>());
        let raws = SETTINGS
            .iter()
            .map(|setting| self.raw(setting, settings.remove(&setting.key)));
        Ok(Given {
            raws: raws.collect::<Result<_, _>>()?,
            key_sources,
            secrets,
        })
    }

    /// A path as seen from the current directory.
    pub(super) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.current_dir.join(path)
    }

    fn raw(&self, setting: &Setting, in_file: Option<Raw>) -> Result<Raw, ConfigError> {
        let raw = match (self.flag(setting), self.environment(setting)?, in_file) {
            (Some(flag), _, _) => flag,
            (None, Some(variable), _) => variable,
            (None, None, Some(line)) => line,
            (None, None, None) => {
                let text = match setting.in_container {
                    Some(text) if self.in_container => text.to_owned(),
                    Some(_) | None => setting.default.to_owned(),
                };
                return Ok(Raw {
                    key: setting.key,
                    text,
                    source: Source::Default,
                });
            }
        };
        if raw.text.trim().is_empty() && setting.empty != Empty::Meant {
            return Err(raw.refuse_unseen("not be blank; give a value or leave it out"));
        }
        Ok(raw)
    }

    fn flag(&self, setting: &Setting) -> Option<Raw> {
        let text = self.flags.get(setting.key)?.to_owned();
        Some(Raw {
            key: setting.key,
            text,
            source: Source::Flag(setting.flag?),
        })
    }

    fn environment(&self, setting: &Setting) -> Result<Option<Raw>, ConfigError> {
        let Some(value) = self.environment.get(OsStr::new(setting.env)) else {
            return Ok(None);
        };
        if value.is_empty() && setting.empty != Empty::Never {
            return Ok(None);
        }
        let source = Source::Environment(setting.env);
        let raw = |text| Raw {
            key: setting.key,
            text,
            source,
        };
        match value.to_str() {
            Some(text) => Ok(Some(raw(text.to_owned()))),
            None => Err(raw(String::new()).refuse_unseen("be UTF-8 text")),
        }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }
}

/// One value for every setting, in the order of the table.
pub(super) struct Given {
    raws: Vec<Raw>,
    /// The sources of keys that config.toml names.
    pub(super) key_sources: KeySources,
    /// Every secret that a layer holds.
    pub(super) secrets: Vec<Secret>,
}

impl Given {
    /// The value of a setting; its text is empty if nobody gave one and it has no default.
    pub(super) fn raw(&self, key: Key) -> &Raw {
        &self.raws[key as usize]
    }

    /// All values, in the order of the table.
    pub(super) fn all(&self) -> &[Raw] {
        &self.raws
    }

    /// Where every setting came from, without the values.
    pub(super) fn sources(&self) -> Vec<Source> {
        self.raws.iter().map(|raw| raw.source).collect()
    }
}
