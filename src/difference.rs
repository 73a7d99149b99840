//! Where the settings of the running service differ from those that a shell would give it.

use std::path::Path;

use harness_protocol::SettingValue;
use serde::Serialize;

/// The text in place of a secret that is set.
const MASK: &str = "***";
/// The source of a value that was not given.
const DEFAULT: &str = "default";

/// One side's value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SideValue {
    /// Its value; nothing if it is unset.
    pub(crate) value: Option<String>,
    /// Where it came from, as `harness config` says it.
    pub(crate) source: String,
}

/// A setting that the running service has another value of than this shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SettingDifference {
    /// Its name.
    pub(crate) key: String,
    /// The service's value.
    pub(crate) service: SideValue,
    /// This shell's value.
    pub(crate) shell: SideValue,
}

/// Finds the settings that differ. One that a side does not know is not compared.
pub(crate) fn differences(
    service: &[SettingValue],
    shell: &[SettingValue],
) -> Vec<SettingDifference> {
    let differs = |ours: &SettingValue| {
        let theirs = service.iter().find(|theirs| theirs.key == ours.key)?;
        (!is_same(theirs, ours)).then(|| SettingDifference {
            key: ours.key.clone(),
            service: value_text(theirs),
            shell: value_text(ours),
        })
    };
    shell.iter().filter_map(differs).collect()
}

fn value_text(value: &SettingValue) -> SideValue {
    SideValue {
        value: value.value.clone(),
        source: value.source.clone(),
    }
}

fn is_same(theirs: &SettingValue, ours: &SettingValue) -> bool {
    if theirs.fingerprint.is_some() || ours.fingerprint.is_some() {
        return theirs.fingerprint == ours.fingerprint;
    }
    match (ours.key.as_str(), &theirs.value, &ours.value) {
        // Both are about the one state folder, however its path is written.
        ("home", _, _) => true,
        // Who stands below the service's folder means that one.
        ("workspace", Some(theirs), Some(here)) if ours.source == DEFAULT => {
            Path::new(here).starts_with(theirs)
        }
        // Any port is the one that was asked for.
        ("port", _, Some(port)) if port == "0" => true,
        (_, theirs, ours) => theirs == ours,
    }
}

impl SideValue {
    /// True if it was given, and is not the default.
    pub(crate) fn is_given(&self) -> bool {
        self.source != DEFAULT
    }

    fn words(&self) -> String {
        let value = self.value.as_deref().unwrap_or("unset");
        if self.is_given() {
            format!("{value} ({})", self.source)
        } else {
            value.to_owned()
        }
    }
}

impl SettingDifference {
    /// Whether its values must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        let is_masked = |said: &SideValue| said.value.as_deref() == Some(MASK);
        is_masked(&self.service) || is_masked(&self.shell)
    }

    /// The running service's value, in few words.
    pub(crate) fn of_service(&self) -> String {
        let SideValue { value, source } = &self.service;
        match value.as_deref() {
            None => "unset".to_owned(),
            Some(MASK) if self.shell.value.as_deref() == Some(MASK) => {
                format!("another one, {source}")
            }
            Some(MASK) => format!("set, {source}"),
            Some(value) => format!("{value}, {source}"),
        }
    }

    /// The values of both, as a line that begins with the name.
    pub(crate) fn line(&self) -> String {
        let Self {
            key,
            service,
            shell,
        } = self;
        let is_set = |said: &SideValue| said.value.as_deref() == Some(MASK);
        match (is_set(service), is_set(shell)) {
            (true, true) => format!("{key}: another one than in this shell's {}", shell.source),
            (true, false) => {
                let source = &service.source;
                format!("{key}: set in the running service ({source}), not in this shell")
            }
            (false, true) => {
                let source = &shell.source;
                format!("{key}: not used by the running service, set in this shell ({source})")
            }
            (false, false) => format!(
                "{key}: {} in the running service, {} in this shell",
                service.words(),
                shell.words()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn value(key: &str, value: Option<&str>, source: &str, mark: Option<&str>) -> SettingValue {
        SettingValue {
            key: key.to_owned(),
            value: value.map(str::to_owned),
            source: source.to_owned(),
            fingerprint: mark.map(str::to_owned),
        }
    }

    fn lines(service: &[SettingValue], shell: &[SettingValue]) -> Vec<String> {
        let found = differences(service, shell);
        found.iter().map(SettingDifference::line).collect()
    }

    /// Spec: [CLI-93]
    #[test]
    fn values_are_compared_with_their_sources_and_secrets_by_fingerprint() {
        let service = [
            value("model", Some("m1"), "HARNESS_MODEL", None),
            value("max_turns", Some("10"), "default", None),
            value("thinking", None, "default", None),
            value("api_key", Some("***"), "ANTHROPIC_API_KEY", Some("aa")),
            value("newer", Some("x"), "--newer", None),
        ];
        let shell = [
            value("model", Some("m2"), "default", None),
            value("max_turns", Some("10"), "--max-turns", None),
            value("thinking", Some("high"), "config.toml line 2", None),
            value("api_key", Some("***"), "ANTHROPIC_API_KEY", Some("bb")),
            value("older", Some("x"), "--older", None),
        ];
        assert_eq!(
            lines(&service, &shell),
            [
                "model: m1 (HARNESS_MODEL) in the running service, m2 in this shell",
                "thinking: unset in the running service, high (config.toml line 2) in this shell",
                "api_key: another one than in this shell's ANTHROPIC_API_KEY",
            ]
        );
        let found = differences(&service, &shell);
        let shown: Vec<String> = found.iter().map(SettingDifference::of_service).collect();
        let expected = [
            "m1, HARNESS_MODEL",
            "unset",
            "another one, ANTHROPIC_API_KEY",
        ];
        assert_eq!(shown, expected);
        assert_eq!(found.iter().filter(|it| it.is_secret()).count(), 1);
        assert_eq!(differences(&service, &service), []);
    }

    /// Spec: [CLI-93]
    #[test]
    fn a_secret_that_one_side_lacks_is_told_without_it() {
        let set = value("api_key", Some("***"), "ANTHROPIC_API_KEY", Some("aa"));
        let unset = value("api_key", None, "default", None);
        assert_eq!(
            lines(from_ref(&set), from_ref(&unset)),
            ["api_key: set in the running service (ANTHROPIC_API_KEY), not in this shell"]
        );
        assert_eq!(
            lines(&[unset], &[set]),
            ["api_key: not used by the running service, set in this shell (ANTHROPIC_API_KEY)"]
        );
    }

    /// Spec: [CLI-93]
    #[test]
    fn who_takes_any_port_has_the_one_that_there_is() {
        let port = |port: &str| [value("port", Some(port), "HARNESS_PORT", None)];
        assert_eq!(lines(&port("8421"), &port("0")), [""; 0]);
        assert_eq!(lines(&port("0"), &port("8421")).len(), 1);
    }

    /// Spec: [CLI-93]
    #[test]
    fn a_folder_below_the_service_s_is_no_difference_unless_it_was_chosen() {
        let service = [value("workspace", Some("/a"), "--workspace", None)];
        for (here, source, differs) in [
            ("/a", "default", false),
            ("/a/b/c", "default", false),
            ("/ab", "default", true),
            ("/", "default", true),
            ("/a/b", "HARNESS_WORKSPACE", true),
            ("/a", "HARNESS_WORKSPACE", false),
        ] {
            let shell = [value("workspace", Some(here), source, None)];
            assert_eq!(!lines(&service, &shell).is_empty(), differs, "{here}");
        }
    }
}
