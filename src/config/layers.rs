//! The layers a setting can come from, and which of them wins.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::SettingError;
use super::file::{self, InFile};
use super::flags::SettingFlags;
use super::key_sources::KeySources;
use super::raw::{RawSetting, SettingSource};
use super::secret::Secret;
use super::setting::{Empty, Key, SETTINGS, Setting};

/// Everything the configuration is made from.
#[derive(Default)]
pub(crate) struct Layers {
    /// The flags of the command line.
    pub(crate) flags: SettingFlags,
    /// The environment; only the variables of settings and `HOME` are read.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// The text of config.toml, if there is one.
    pub(crate) file: Option<String>,
    /// The folder that relative paths start from; absolute.
    pub(crate) current_dir: PathBuf,
    /// True if the program runs in a container, where connections from outside look like the owner's own.
    pub(crate) in_container: bool,
}

impl Layers {
    /// The state folder; it contains config.toml, so it is known before the file is read.
    pub(super) fn home(&self) -> Result<PathBuf, SettingError> {
        let raw = self.raw(Key::Home.setting(), None)?;
        if raw.is_given() {
            return Ok(self.absolute(&raw.text));
        }
        match self.variable("HOME") {
            Some(home) => Ok(self.absolute(home).join(".harness")),
            None => Err(SettingError::new(
                "home is unknown because HOME is not set; set HARNESS_HOME or give --home",
            )),
        }
    }

    /// Every setting as the highest layer gives it.
    pub(super) fn resolve(&self) -> Result<GivenValues, SettingError> {
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
        Ok(GivenValues {
            raws: raws.collect::<Result<_, _>>()?,
            key_sources,
            secrets,
        })
    }

    /// A path as seen from the current directory.
    pub(super) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.current_dir.join(path)
    }

    fn raw(
        &self,
        setting: &'static Setting,
        in_file: Option<RawSetting>,
    ) -> Result<RawSetting, SettingError> {
        let raw = match (self.flag(setting), self.environment(setting)?, in_file) {
            (Some(flag), _, _) => flag,
            (None, Some(variable), _) => variable,
            (None, None, Some(line)) => line,
            (None, None, None) => {
                let text = match setting.in_container {
                    Some(text) if self.in_container => text.to_owned(),
                    Some(_) | None => setting.default.clone(),
                };
                return Ok(RawSetting {
                    key: setting.key,
                    text,
                    source: SettingSource::Default,
                });
            }
        };
        if raw.text.trim().is_empty() && setting.empty != Empty::Meant {
            return Err(raw.refuse_unseen("not be blank; give a value or leave it out"));
        }
        Ok(raw)
    }

    fn flag(&self, setting: &'static Setting) -> Option<RawSetting> {
        let text = self.flags.get(setting.key)?.to_owned();
        Some(RawSetting {
            key: setting.key,
            text,
            source: SettingSource::Flag(setting.flag.as_deref()?),
        })
    }

    fn environment(&self, setting: &'static Setting) -> Result<Option<RawSetting>, SettingError> {
        let Some(value) = self.environment.get(OsStr::new(&setting.env)) else {
            return Ok(None);
        };
        if value.is_empty() && setting.empty != Empty::Never {
            return Ok(None);
        }
        let source = SettingSource::Environment(&setting.env);
        let raw = |text| RawSetting {
            key: setting.key,
            text,
            source,
        };
        match value.to_str() {
            Some(text) => Ok(Some(raw(text.to_owned()))),
            None => Err(raw(String::new()).refuse_unseen("be UTF-8 text")),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }
}

/// One value for every setting, in the order of the table.
pub(super) struct GivenValues {
    raws: Vec<RawSetting>,
    /// The sources of keys that config.toml names.
    pub(super) key_sources: KeySources,
    /// Every secret that a layer holds.
    pub(super) secrets: Vec<Secret>,
}

impl GivenValues {
    /// The value of a setting; its text is empty if no layer gave one and it has no default.
    pub(super) fn raw(&self, key: Key) -> &RawSetting {
        &self.raws[key.place()]
    }

    /// All values, in the order of the table.
    pub(super) fn all(&self) -> &[RawSetting] {
        &self.raws
    }

    /// The source of every setting, without the values.
    pub(super) fn sources(&self) -> Vec<SettingSource> {
        self.raws.iter().map(|raw| raw.source).collect()
    }
}
