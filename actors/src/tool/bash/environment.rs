//! The environment of commands: what programs need, and nothing that the service holds.

use std::path::Path;

use crate::secret::is_secret_name;

/// Variables that are passed on from the service, if they are there.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    // Where tools and their caches are.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "GOCACHE",
    "GOFLAGS",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables that commands get so that nothing waits for a person and nothing colours its output.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    // An editor that fails makes what asks for a text fail, rather than go on with none.
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    // Without the network npm tries for more than a minute to hear of its newer versions.
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PYTHONUNBUFFERED", "1"),
];

/// Variables that are not passed on, even if an operator names them: they make every program run
/// something else.
const NEVER: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XAUTHORITY",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// The search path if the service has none.
pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of a command: of the service's own variables those that tools need and those that the
/// operator names, and nothing that is named like a secret.
pub(crate) fn environment(
    own: impl Iterator<Item = (String, String)>,
    named: &[String],
    temp: &Path,
) -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = own
        .filter(|(name, _)| is_passed(name, named))
        .filter(|(name, _)| SET.iter().all(|(set, _)| set != name) || named.contains(name))
        .collect();
    let is_there = |environment: &[(String, String)], name: &str| {
        environment.iter().any(|(there, _)| there == name)
    };
    if !is_there(&environment, "PATH") {
        environment.push(("PATH".to_owned(), DEFAULT_PATH.to_owned()));
    }
    for (name, value) in SET {
        if !is_there(&environment, name) {
            environment.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    let temp = temp.to_string_lossy().into_owned();
    environment.retain(|(name, _)| name != "TMPDIR");
    environment.push(("TMPDIR".to_owned(), temp));
    environment.sort();
    environment
}

fn is_passed(name: &str, named: &[String]) -> bool {
    let is_never = NEVER.contains(&name)
        || ["LD_", "DYLD_", "BASH_FUNC_", "HARNESS_"]
            .iter()
            .any(|start| name.starts_with(start));
    if is_never {
        return false;
    }
    if named.iter().any(|own| own == name) {
        return true;
    }
    (PASSED.contains(&name) || name.starts_with("LC_")) && !is_secret_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(own: &[(&str, &str)], named: &[&str]) -> Vec<(String, String)> {
        let own = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        environment(own, &named, Path::new("/tmp/x"))
    }

    fn names(environment: &[(String, String)]) -> Vec<&str> {
        environment.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Spec: [BASH-05]
    #[test]
    fn b9_only_what_programs_need_is_passed() {
        let own = [
            ("HOME", "/home/ana"),
            ("LC_ALL", "C.UTF-8"),
            ("LD_PRELOAD", "/evil.so"),
            ("BASH_ENV", "/evil"),
            ("BASH_FUNC_ls%%", "() { evil; }"),
            ("NODE_OPTIONS", "--require /evil"),
            ("ANTHROPIC_API_KEY", "sk-secret"),
            ("HARNESS_TOKEN", "secret"),
            ("GIT_DIR", "/elsewhere"),
            ("SSH_AUTH_SOCK", "/agent"),
            ("MY_OWN", "1"),
            ("TMPDIR", "/elsewhere"),
            ("EDITOR", "vim"),
            ("TERM", "xterm"),
        ];
        let passed = of(&own, &[]);
        let mut expected: Vec<&str> = SET.iter().map(|(name, _)| *name).collect();
        expected.extend(["HOME", "LC_ALL", "PATH", "TMPDIR"]);
        expected.sort_unstable();
        assert_eq!(names(&passed), expected);
        for (name, value) in SET
            .iter()
            .chain(&[("TMPDIR", "/tmp/x"), ("PATH", DEFAULT_PATH)])
        {
            let expected = ((*name).to_owned(), (*value).to_owned());
            assert!(passed.contains(&expected), "{name}");
        }
    }

    /// Spec: [BASH-05]
    #[test]
    fn b9_operators_name_what_else_is_passed_but_not_what_runs_something_else() {
        let own = [
            ("MY_TOKEN", "1"),
            ("GIT_DIR", "/g"),
            ("LD_PRELOAD", "x"),
            ("BASH_ENV", "x"),
            ("HARNESS_TOKEN", "x"),
            ("EDITOR", "vim"),
        ];
        let named = [
            "MY_TOKEN",
            "LD_PRELOAD",
            "BASH_ENV",
            "HARNESS_TOKEN",
            "EDITOR",
        ];
        let passed = of(&own, &named);
        let value = |wanted: &str| {
            let found = passed.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("MY_TOKEN"), Some("1"));
        assert_eq!(value("EDITOR"), Some("vim"));
        for name in ["GIT_DIR", "LD_PRELOAD", "BASH_ENV", "HARNESS_TOKEN"] {
            assert_eq!(value(name), None, "{name}");
        }
    }
}
