//! The command-line flags of the settings, made from the table so that help cannot drift.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use harness_protocol::GivenSetting;

use super::setting::{Key, SETTINGS, Setting};

/// The settings given on the command line, not yet checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingFlags {
    given: BTreeMap<Key, String>,
}

impl SettingFlags {
    /// The text given for a setting, if any.
    pub(super) fn get(&self, key: Key) -> Option<&str> {
        self.given.get(&key).map(String::as_str)
    }
}

impl SettingFlags {
    /// Those flags with their values; flags that this version does not know are left out.
    pub(super) fn from_given(given: &[GivenSetting]) -> Self {
        let known = |GivenSetting { name, value }: &GivenSetting| {
            let named = |setting: &&Setting| setting.flag.as_deref() == Some(name);
            let setting = SETTINGS.iter().find(named)?;
            Some((setting.key, value.clone()))
        };
        Self {
            given: given.iter().filter_map(known).collect(),
        }
    }

    /// The same, with another state folder.
    pub(super) fn at(mut self, home: &Path) -> Self {
        self.given.insert(Key::Home, home.display().to_string());
        self
    }

    /// The settings given by flag, without the state folder.
    pub(crate) fn given(&self) -> Vec<GivenSetting> {
        let given = |setting: &Setting| {
            Some(GivenSetting {
                name: setting.flag.clone().filter(|_| setting.key != Key::Home)?,
                value: self.get(setting.key)?.to_owned(),
            })
        };
        SETTINGS.iter().filter_map(given).collect()
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |setting: &Setting| matches.get_one::<String>(setting.flag.as_deref()?).cloned();
        let given = SETTINGS
            .iter()
            .filter_map(|setting| Some((setting.key, text(setting)?)));
        Ok(Self {
            given: given.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().filter_map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl SettingFlags {
    /// The flags of a command that takes only this setting.
    pub(super) fn only(key: Key, matches: &ArgMatches) -> Self {
        let flag = key.setting().flag.as_deref();
        let text = flag.and_then(|flag| matches.get_one::<String>(flag).cloned());
        Self {
            given: text.map(|text| (key, text)).into_iter().collect(),
        }
    }
}

pub(super) fn argument(setting: &'static Setting) -> Option<Arg> {
    let flag = setting.flag.as_deref()?;
    let argument = Arg::new(flag)
        .long(flag)
        // The last one counts, so that a script can add to the flags it was given.
        .overrides_with(flag)
        .value_name(setting.value_name)
        .help(help(setting));
    Some(match setting.flag_alone {
        Some(text) => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(text),
        // A value may begin with a dash: `--max-turns -1` must reach our own check.
        None => argument.allow_hyphen_values(true),
    })
}

fn help(setting: &Setting) -> String {
    let Setting {
        help, env, default, ..
    } = setting;
    if default.is_empty() {
        format!("{help} [env: {env}]")
    } else {
        format!("{help} [env: {env}] [default: {default}]")
    }
}
