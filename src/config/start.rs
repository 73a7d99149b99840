//! The flags and variables that a service was started with, and the way to start another one so.
//!
//! Invariant: no secret is among it. The one that is started so takes them from the environment of
//! its starter and from config.toml.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use harness_protocol::{GivenSetting, StartOptions};

use super::error::SettingError;
use super::flags::SettingFlags;
use super::layers::{GivenValues, Layers};
use super::load::LoadedConfig;
use super::raw::SettingSource;
use super::setting::{Key, SETTINGS, Setting};

impl GivenValues {
    /// The flags and variables.
    pub(super) fn start(&self, folder: &Path) -> StartOptions {
        let (mut flags, mut environment) = (Vec::new(), Vec::new());
        for raw in self.all().iter().filter(|raw| is_told(raw.key.setting())) {
            let given = |name: &str| GivenSetting {
                name: name.to_owned(),
                value: raw.text.clone(),
            };
            match raw.source {
                SettingSource::Flag(name) => flags.push(given(name)),
                SettingSource::Environment(name) => environment.push(given(name)),
                SettingSource::Default | SettingSource::File { .. } => {}
            }
        }
        StartOptions {
            folder: folder.display().to_string(),
            flags,
            environment,
        }
    }
}

impl LoadedConfig {
    /// The settings of a service that this shell would start for a state folder.
    ///
    /// # Errors
    /// If config.toml or a setting cannot be used; the error is one line with the fix.
    pub(crate) fn of_shell(home: &Path) -> Result<Self, SettingError> {
        Self::from_process(&SettingFlags::default().at(home))
    }

    /// The configuration of a service that this process starts again with the same options.
    ///
    /// # Errors
    /// If config.toml or a setting cannot be used; the error is one line with the fix.
    pub(crate) fn again(start: &StartOptions, home: &Path) -> Result<Self, SettingError> {
        let is_told = |name: &OsString| SETTINGS.iter().any(|it| is_told(it) && *name == *it.env);
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| !is_told(name))
            .collect();
        let given = start.environment.iter();
        environment.extend(given.map(|it| (OsString::from(&it.name), OsString::from(&it.value))));
        Self::gather(Layers {
            environment: environment.into_iter().collect(),
            current_dir: start.folder.clone().into(),
            ..Layers::of_process(&SettingFlags::from_given(&start.flags).at(home))?
        })
    }
}

/// Makes a command start a service with its earlier options instead of those of this process.
pub(crate) fn start_again(command: &mut Command, start: &StartOptions, home: &Path) {
    command.current_dir(&start.folder).arg("--home").arg(home);
    for GivenSetting { name, value } in &start.flags {
        // A value may begin with a dash.
        command.arg(format!("--{name}={value}"));
    }
    for setting in SETTINGS.iter() {
        if !setting.secret {
            command.env_remove(&setting.env);
        }
    }
    for GivenSetting { name, value } in &start.environment {
        command.env(name, value);
    }
}

/// The settings in an environment, as the system tells that of a process.
pub(crate) fn given_in(environment: &[u8]) -> Vec<GivenSetting> {
    let lines = environment.split(|byte| *byte == 0);
    let given = lines.filter_map(|line| {
        let (name, value) = str::from_utf8(line).ok()?.split_once('=')?;
        let setting = SETTINGS.iter().find(|setting| setting.env == name)?;
        (is_told(setting) && !value.is_empty()).then(|| GivenSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    });
    given.collect()
}

/// True if the source of the setting is passed on. Secrets are not; the state folder is passed separately.
fn is_told(setting: &Setting) -> bool {
    !setting.secret && setting.key != Key::Home
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(environment: &[(&str, &str)], folder: &Path) -> Layers {
        let given = |name: &str, value: &str| GivenSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        Layers {
            flags: SettingFlags::from_given(&[given("max-turns", "7"), given("gone", "x")])
                .at(Path::new("/state")),
            environment: environment
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            file: Some("max_tokens = 9\napi_key = \"sk-SEEN\"".to_owned()),
            current_dir: folder.to_owned(),
            ..Layers::default()
        }
    }

    /// Spec: [CONF-65]
    #[test]
    fn what_was_given_is_told_without_secrets_and_gives_the_same_settings_again() {
        let folder = tempfile::tempdir().unwrap();
        let environment = [
            ("HOME", "/home/me"),
            ("HARNESS_MODEL", "m1"),
            ("HARNESS_WORKSPACE", "."),
            ("HARNESS_TOKEN", "0123456789abcdef-SEEN"),
            ("ANTHROPIC_API_KEY", "sk-SEEN"),
        ];
        let config = LoadedConfig::load(&layers(&environment, folder.path())).unwrap();
        let start = &config.start;
        assert_eq!(start.folder, folder.path().display().to_string());
        let told = |given: &[GivenSetting]| -> Vec<String> {
            let told = given.iter().map(|it| format!("{}={}", it.name, it.value));
            told.collect()
        };
        assert_eq!(told(&start.flags), ["max-turns=7"]);
        let expected = ["HARNESS_MODEL=m1", "HARNESS_WORKSPACE=."];
        assert_eq!(told(&start.environment), expected);
        assert!(!format!("{start:?}").contains("SEEN"));

        let again = LoadedConfig::again(start, Path::new("/state")).unwrap();
        assert_eq!((again.settings.max_turns, again.model()), (7, "m1"));
        assert_eq!(again.workspace, folder.path().canonicalize().unwrap());
        assert_eq!(again.home, Path::new("/state"));
        let mut command = Command::new("harness");
        start_again(&mut command, start, Path::new("/state"));
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["--home", "/state", "--max-turns=7"]);
        let variable = |name: &str| {
            let mut found = command.get_envs().filter(|(it, _)| *it == name);
            found.next().map(|(_, value)| value.is_some())
        };
        assert_eq!(variable("HARNESS_MODEL"), Some(true));
        assert_eq!(variable("HARNESS_PORT"), Some(false));
        assert_eq!(variable("HARNESS_HOME"), Some(false));
        assert_eq!(variable("ANTHROPIC_API_KEY"), None);
    }

    /// Spec: [CONF-65]
    #[test]
    fn of_an_environment_only_the_settings_are_taken() {
        let environment = b"PATH=/bin\0HARNESS_MODEL=m=1\0HARNESS_PORT=\0\xff\0\
            ANTHROPIC_API_KEY=sk-SEEN\0HARNESS_HOME=/h\0HARNESS_BIND=127.0.0.1\0";
        let given = given_in(environment);
        let given: Vec<&str> = given.iter().map(|it| &*it.value).collect();
        assert_eq!(given, ["m=1", "127.0.0.1"]);
    }
}
