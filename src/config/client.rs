//! The settings that a client of the running service needs: the state folder, and the token if one
//! is set.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::error::SettingError;
use super::flags::{SettingFlags, argument};
use super::layers::Layers;
use super::load::LoadedConfig;
use super::secret::Secret;
use super::setting::Key;
use super::value::token;

/// The one setting that every command takes as a flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct HomeFlag(SettingFlags);

impl FromArgMatches for HomeFlag {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(SettingFlags::only(Key::Home, matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for HomeFlag {
    fn augment_args(command: Command) -> Command {
        command.args(argument(Key::Home.setting()).map(|home| home.global(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The settings that a client goes by.
#[derive(Debug, Clone)]
pub(crate) struct ClientConfig {
    /// The state folder, absolute; perhaps not there.
    pub(crate) home: PathBuf,
    /// The token that is set; without it the token file may hold one.
    pub(crate) token: Option<Secret>,
    /// Every secret that a layer holds.
    pub(crate) secrets: Vec<Secret>,
}

impl ClientConfig {
    /// Gathers the layers of this process, creating nothing. Settings that only the service uses are not checked: a
    /// client can list conversations although the workspace does not exist.
    ///
    /// # Errors
    /// If config.toml or one of the two cannot be used; the error is one line with the fix.
    pub(crate) fn from_process(HomeFlag(flags): &HomeFlag) -> Result<Self, SettingError> {
        let mut layers = Layers::of_process(flags)?;
        layers.read_file()?;
        Self::load(&layers)
    }

    /// The settings of a client, taken from the full configuration.
    pub(crate) fn from_config(config: &LoadedConfig) -> Self {
        Self {
            home: config.home.clone(),
            token: config.token.clone(),
            secrets: config.secrets.clone(),
        }
    }

    fn load(layers: &Layers) -> Result<Self, SettingError> {
        let given = layers.resolve()?;
        let raw = given.raw(Key::Token);
        Ok(Self {
            home: layers.home()?,
            token: raw.is_given().then(|| token(raw)).transpose()?,
            secrets: given.secrets.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(environment: &[(&str, &str)], file: &str) -> Result<ClientConfig, SettingError> {
        ClientConfig::load(&Layers {
            environment: environment
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            file: Some(file.to_owned()),
            current_dir: "/here".into(),
            ..Layers::default()
        })
    }

    /// Spec: [CLI-01]
    #[test]
    fn a_client_needs_the_state_folder_and_goes_by_no_setting_of_the_service() {
        let config = load(&[("HOME", "/home/me")], "workspace = \"/gone\"").unwrap();
        assert_eq!(config.home, PathBuf::from("/home/me/.harness"));
        assert!(config.token.is_none());
        let set = "token = \"0123456789abcdef\"";
        let config = load(&[("HARNESS_HOME", "state")], set).unwrap();
        assert_eq!(config.home, PathBuf::from("/here/state"));
        assert_eq!(config.token.unwrap().expose(), "0123456789abcdef");
        let refused = load(&[("HARNESS_HOME", "/s"), ("HARNESS_TOKEN", "short")], "");
        assert!(refused.unwrap_err().to_string().starts_with("token must"));
    }
}
