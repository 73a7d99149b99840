//! The settings of the service: where they come from, what each must be, and how they are shown.

mod address;
mod base_url;
mod choices;
mod client;
mod closed;
mod container;
mod error;
mod file;
mod flags;
mod key_sources;
mod layers;
mod load;
#[cfg(test)]
mod manual_tests;
mod raw;
mod secret;
mod secrets;
mod setting;
mod show;
mod start;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use choices::SandboxSetting;
pub(crate) use client::{ClientConfig, HomeFlag};
pub(crate) use error::SettingError;
pub(crate) use flags::SettingFlags;
pub(crate) use load::LoadedConfig;
pub(crate) use secret::{Secret, as_token};
pub(crate) use show::RunningSettings;
pub(crate) use start::{given_in, start_again};
pub(crate) use value::parse_duration;
