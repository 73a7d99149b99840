//! Remarks for a shell before it talks to the running service: that the service is of another
//! version, works in another folder, or has other settings than this shell.

use std::path::Path;

use harness_protocol::{ServiceInfo, SettingValue, UpstreamKind};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery::VERSION;
use crate::client::folder;
use crate::config::{LoadedConfig, SettingError};
use crate::difference::{SettingDifference, SideValue, differences};

/// The settings that say who answers, which the demo has no use for.
const OF_THE_API: [&str; 3] = ["api_key", "auth_token", "base_url"];
/// Settings of which a difference makes none to a prompt.
const HARMLESS: [&str; 1] = ["log"];

/// The settings that a service would have that this shell starts.
///
/// # Errors
/// If config.toml or a setting cannot be used.
pub(super) fn of_shell(
    home: &Path,
    connection: &ServiceConnection,
) -> Result<Vec<SettingValue>, SettingError> {
    let config = LoadedConfig::of_shell(home)?;
    Ok(config.values(|secret| connection.fingerprint(secret)))
}

/// Something that this shell ought to know of the running service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    /// Its subject, in a word.
    pub(super) about: String,
    /// One line, with the way out.
    pub(super) line: String,
}

/// Where the running service is not what this shell says. A shell whose settings cannot be used
/// starts nothing, so that nothing of it is compared.
pub(super) fn of_process(home: &Path, connection: &ServiceConnection) -> Vec<Remark> {
    let Some(info) = connection.info() else {
        return Vec::new();
    };
    let shell = of_shell(home, connection).unwrap_or_else(|error| {
        log::info!("this shell's settings are not compared: {error}");
        Vec::new()
    });
    remarks_on(info, &shell)
}

/// That the service is of another release.
pub(super) fn version(info: &ServiceInfo) -> Option<String> {
    let theirs = &info.version;
    (theirs != VERSION).then(|| {
        format!(
            "the service is {theirs} and this is {VERSION}; `harness restart` starts this version"
        )
    })
}

/// Where the service is not what this shell says.
fn remarks_on(info: &ServiceInfo, shell: &[SettingValue]) -> Vec<Remark> {
    let is_demo = info.upstream.kind == UpstreamKind::Demo;
    let key = shell
        .iter()
        .find(|value| value.fingerprint.is_some() && OF_THE_API.contains(&value.key.as_str()));
    let demo = key.filter(|_| is_demo).map(|key| {
        let source = &key.source;
        Remark {
            about: "demo".to_owned(),
            line: format!("the demo answers, though this shell has a key ({source}): `harness stop`, then `harness` asks the API"),
        }
    });
    let told = |difference: &SettingDifference| {
        let key = difference.key.as_str();
        let is_moot = HARMLESS.contains(&key) || (is_demo && OF_THE_API.contains(&key));
        if is_moot {
            return None;
        }
        if key == "workspace" && !difference.shell.is_given() {
            if folder::are_known(info) {
                return None;
            }
            return Some(Remark {
                about: "folder".to_owned(),
                line: elsewhere(&info.workspace, &difference.shell),
            });
        }
        difference.shell.is_given().then(|| Remark {
            about: key.to_owned(),
            line: setting(difference),
        })
    };
    let differing = differences(&info.settings, shell);
    demo.into_iter()
        .chain(differing.iter().filter_map(told))
        .collect()
}

fn elsewhere(theirs: &str, here: &SideValue) -> String {
    let here = here.value.as_deref().unwrap_or_default();
    format!(
        "the service works in {theirs}, not in {here}: `harness stop`, then `harness` serves this folder; with another HARNESS_HOME it serves both"
    )
}

fn setting(difference: &SettingDifference) -> String {
    let line = difference.line();
    // A restart keeps what flags and the environment said at the start, and reads the rest anew.
    let is_read = |said: &SideValue| !said.is_given() || said.source.starts_with("config.toml");
    let is_restarted =
        difference.is_secret() || (is_read(&difference.service) && is_read(&difference.shell));
    let way_out = if is_restarted {
        "`harness restart`"
    } else {
        "`harness stop`, then `harness`"
    };
    format!("{line}; {way_out} takes this shell's")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn info(kind: &str, settings: &Value) -> ServiceInfo {
        let info = json!({
            "version": VERSION, "protocol": {"min": 1, "max": 1}, "epoch": "e", "pid": 1,
            "address": "a", "home": "/h", "workspace": "/a", "upstream": {"kind": kind},
            "model": "m", "sandbox": "none", "started_at": 0, "clients": 0, "runs": 0,
            "settings": settings,
        });
        serde_json::from_value(info).unwrap()
    }

    fn values(values: &Value) -> Vec<SettingValue> {
        serde_json::from_value(values.clone()).unwrap()
    }

    fn key(mark: &str) -> Value {
        json!({"key": "api_key", "value": "***", "source": "ANTHROPIC_API_KEY", "fingerprint": mark})
    }

    fn lines(info: &ServiceInfo, shell: &[SettingValue]) -> Vec<String> {
        remarks_on(info, shell)
            .into_iter()
            .map(|it| it.line)
            .collect()
    }

    fn setting(key: &str, value: &str, source: &str) -> Value {
        json!({"key": key, "value": value, "source": source})
    }

    /// Spec: [CLI-104]
    #[test]
    fn a_key_is_of_no_use_to_the_demo_and_another_key_is_told() {
        let service = json!([key("aa"), setting("base_url", "x", "default")]);
        let shell = values(&json!([key("bb"), setting("base_url", "y", "--base-url")]));
        assert_eq!(
            lines(&info("demo", &service), &shell),
            [
                "the demo answers, though this shell has a key (ANTHROPIC_API_KEY): `harness stop`, then `harness` asks the API"
            ]
        );
        assert_eq!(
            lines(&info("api", &service), &shell),
            [
                "api_key: another one than in this shell's ANTHROPIC_API_KEY; `harness restart` takes this shell's",
                "base_url: x in the running service, y (--base-url) in this shell; `harness stop`, then `harness` takes this shell's",
            ]
        );
        assert_eq!(lines(&info("api", &service), &[]), [""; 0]);
    }

    /// Spec: [CLI-104]
    #[test]
    fn only_what_this_shell_says_is_told_and_a_folder_that_is_not_the_service_s() {
        let service = json!([
            setting("workspace", "/a", "default"),
            setting("model", "m1", "--model"),
            setting("max_turns", "5", "config.toml line 1"),
            setting("log", "debug", "RUST_LOG"),
        ]);
        let service = info("api", &service);
        let shell = values(&json!([
            setting("workspace", "/a/b", "default"),
            setting("model", "m2", "default"),
            setting("max_turns", "6", "config.toml line 1"),
            setting("log", "info", "RUST_LOG"),
        ]));
        assert_eq!(
            lines(&service, &shell),
            [
                "max_turns: 5 (config.toml line 1) in the running service, 6 (config.toml line 1) in this shell; `harness restart` takes this shell's"
            ]
        );
        let elsewhere = values(&json!([setting("workspace", "/b", "default")]));
        let said = lines(&service, &elsewhere);
        assert!(said[0].starts_with("the service works in /a, not in /b: `harness stop`"));
        assert_eq!(said.len(), 1);
        let chosen = values(&json!([setting("workspace", "/b", "HARNESS_WORKSPACE")]));
        assert!(
            lines(&service, &chosen)[0].starts_with("workspace: /a in the running service, /b")
        );
    }
}
