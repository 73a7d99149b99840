//! The settings that the layers add up to, and each error line word for word.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as _, Command, FromArgMatches as _};
use harness_actors::model::{Caching, KeyOrigin};
use harness_protocol::{QueueMode, ThinkingLevel, ToolExecution};

use super::layers::Layers;
use super::secret::{Credential, Secret};
use super::setting::SETTINGS;
use super::{LoadedConfig, SettingFlags};

const LONG_TOKEN: &str = "0123456789abcdef";

fn layers(flags: &[&str], environment: &[(&str, &str)], file: &str) -> Layers {
    let command = SettingFlags::augment_args(Command::new("harness"));
    let matches = command.get_matches_from(["harness"].iter().chain(flags));
    let home = [("HOME", "/home/me")];
    Layers {
        flags: SettingFlags::from_arg_matches(&matches).unwrap(),
        in_container: false,
        environment: home
            .iter()
            .chain(environment)
            .map(|(k, v)| (k.into(), v.into()))
            .collect(),
        file: Some(file.to_owned()),
        current_dir: PathBuf::from("/"),
    }
}

fn load(flags: &[&str], environment: &[(&str, &str)], file: &str) -> LoadedConfig {
    LoadedConfig::load(&layers(flags, environment, file)).unwrap()
}

fn error(flags: &[&str], environment: &[(&str, &str)], file: &str) -> String {
    LoadedConfig::load(&layers(flags, environment, file))
        .unwrap_err()
        .to_string()
}

/// The part of the table for one setting, with single spaces.
fn row(config: &LoadedConfig, name: &str) -> String {
    let table = config.as_table(None);
    let row = table
        .lines()
        .find(|line| line.split(' ').next() == Some(name))
        .unwrap();
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn credential(config: &LoadedConfig) -> (&'static str, &str) {
    match config.credential.as_ref().unwrap() {
        Credential::ApiKey(secret) => ("key", secret.expose()),
        Credential::Bearer(secret) => ("bearer", secret.expose()),
    }
}

/// Spec: [CONF-01]
#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let (flag, env, file) = (
        ["--max-turns", "2"],
        [("HARNESS_MAX_TURNS", "3")],
        "\nmax_turns = 4\n",
    );
    for (config, turns, shown) in [
        (load(&flag, &env, file), 2, "max_turns 2 --max-turns"),
        (load(&[], &env, file), 3, "max_turns 3 HARNESS_MAX_TURNS"),
        (load(&[], &[], file), 4, "max_turns 4 config.toml line 2"),
        (load(&[], &[], ""), 10, "max_turns 10 default"),
    ] {
        assert_eq!(
            (
                config.settings.max_turns,
                row(&config, "max_turns").as_str()
            ),
            (turns, shown)
        );
    }
}

/// Spec: [CONF-02]
#[test]
fn without_any_layer_the_defaults_hold() {
    let config = load(&[], &[], "");
    assert_eq!(config.settings.model, None);
    assert_eq!(config.model(), "claude-3-haiku-20240307");
    assert_eq!(
        (
            config.settings.max_tokens,
            config.settings.max_turns,
            config.max_retries
        ),
        (4096, 10, 4)
    );
    assert_eq!(config.settings.system_prompt, "");
    assert_eq!(config.base_url, "https://api.anthropic.com");
    assert_eq!(
        (config.bind, config.port),
        (IpAddr::from([127, 0, 0, 1]), 8421)
    );
    assert_eq!(
        (config.require_token, config.max_subscribers),
        (false, 4096)
    );
    assert_eq!(config.max_state_bytes, Some(20 << 30));
    assert!(config.credential.is_none() && config.token.is_none());
    assert!(config.allowed_hosts.is_empty());
    assert_eq!(config.max_retry_wait, Duration::from_secs(60));
    assert_eq!(config.connect_timeout, Duration::from_secs(5));
    assert_eq!(config.head_timeout, Duration::from_secs(120));
    assert_eq!(config.idle_timeout, Duration::from_secs(300));
    assert_eq!(config.tool_timeout, Duration::from_secs(60));
    assert_eq!(config.heartbeat, Duration::from_secs(30));
    assert_eq!(config.log, "info");
    assert_eq!(config.workspace, PathBuf::from("/"));
    assert_eq!(config.home, PathBuf::from("/home/me/.harness"));
}

/// Spec: [CONF-51] [CONF-52]
#[test]
fn the_settings_of_runs_have_their_defaults_and_are_read_from_every_layer() {
    let config = load(&[], &[], "");
    assert_eq!(
        (config.settings.thinking, config.settings.context_window),
        (None, None)
    );
    assert_eq!(config.settings.compaction_model, None);
    assert_eq!(
        config.settings.tool_execution,
        ToolExecution::SequentialFailFast
    );
    assert_eq!(
        (
            config.settings.steering_mode,
            config.settings.follow_up_mode
        ),
        (QueueMode::OneAtATime, QueueMode::OneAtATime)
    );
    assert_eq!(
        (config.settings.auto_compact, config.settings.context_files),
        (true, true)
    );
    assert_eq!(
        (config.settings.reserve_tokens, config.settings.keep_tokens),
        (16_384, 20_000)
    );
    assert_eq!(config.prompt_cache, Caching::FiveMinutes);
    assert_eq!(row(&config, "thinking"), "thinking (unset) default");
    assert_eq!(row(&config, "prompt_cache"), "prompt_cache 5m default");

    let flags = [
        "--thinking",
        "max",
        "--prompt-cache",
        "1h",
        "--follow-up-mode",
        "all",
    ];
    let env = [
        ("HARNESS_TOOL_EXECUTION", "parallel"),
        ("HARNESS_STEERING_MODE", "all"),
    ];
    let file = "context_window = 200000\nauto_compact = false\nreserve_tokens = 7\n\
        keep_tokens = 5\ncompaction_model = \"m\"\ncontext_files = false";
    let config = load(&flags, &env, file);
    assert_eq!(config.settings.thinking, Some(ThinkingLevel::Max));
    assert_eq!(config.prompt_cache, Caching::OneHour);
    assert_eq!(config.settings.tool_execution, ToolExecution::Parallel);
    assert_eq!(
        (
            config.settings.steering_mode,
            config.settings.follow_up_mode
        ),
        (QueueMode::All, QueueMode::All)
    );
    assert_eq!(config.settings.context_window, Some(200_000));
    assert_eq!(
        (config.settings.auto_compact, config.settings.context_files),
        (false, false)
    );
    assert_eq!(
        (config.settings.reserve_tokens, config.settings.keep_tokens),
        (7, 5)
    );
    assert_eq!(config.settings.compaction_model.as_deref(), Some("m"));
    for (name, shown) in [
        ("thinking", "thinking max --thinking"),
        (
            "tool_execution",
            "tool_execution parallel HARNESS_TOOL_EXECUTION",
        ),
        ("context_window", "context_window 200000 config.toml line 1"),
        ("auto_compact", "auto_compact false config.toml line 2"),
        ("compaction_model", "compaction_model m config.toml line 5"),
    ] {
        assert_eq!(row(&config, name), shown);
    }
}

/// Spec: [CONF-50] [CONF-52]
#[test]
fn a_wrong_setting_of_runs_is_refused_with_what_it_can_be() {
    for (flags, rule) in [
        (
            ["--prompt-cache", "2h"],
            "prompt_cache must be off, 5m or 1h",
        ),
        (
            ["--steering-mode", "some"],
            "steering_mode must be one_at_a_time or all",
        ),
        (
            ["--context-window", "0"],
            "context_window must be a whole number from 1 to 1000000000",
        ),
        (
            ["--keep-tokens", "0"],
            "keep_tokens must be a whole number from 1 to 1000000000",
        ),
        (
            ["--auto-compact", "yes"],
            "auto_compact must be true or false",
        ),
    ] {
        let [flag, value] = flags;
        assert_eq!(
            error(&flags, &[], ""),
            format!("{rule}, got {value:?} (from {flag})")
        );
    }
}

/// Spec: [CONF-03]
#[test]
fn an_empty_variable_counts_as_unset() {
    let empty = [
        ("HARNESS_MODEL", ""),
        ("ANTHROPIC_API_KEY", ""),
        ("HARNESS_SYSTEM_PROMPT", ""),
    ];
    let config = load(&[], &empty, "model = \"m\"\nsystem_prompt = \"Be terse.\"");
    assert_eq!(config.settings.model.as_deref(), Some("m"));
    assert_eq!(config.settings.system_prompt, "Be terse.");
    assert!(config.credential.is_none());
}

/// Spec: [CONF-04]
#[test]
fn an_empty_flag_or_line_is_refused() {
    let fix = "model must not be blank; give a value or leave it out";
    assert_eq!(
        error(&["--model", ""], &[], ""),
        format!("{fix} (from --model)")
    );
    assert_eq!(
        error(&[], &[], "model = ''"),
        format!("{fix} (from config.toml line 1)")
    );
    assert_eq!(
        error(&[], &[("HARNESS_MODEL", " ")], ""),
        format!("{fix} (from HARNESS_MODEL)")
    );
}

/// Spec: [CONF-05] [CONF-18] [CONF-22] [CONF-24] [CONF-26]
#[test]
fn a_wrong_value_is_refused_in_one_line_that_holds_the_fix() {
    let hosts = "must be host names such as harness.local or harness.local:8421, comma separated";
    let ip = "must be an IP address such as 127.0.0.1, without a port, or localhost";
    for (variable, value, said) in [
        (
            "HARNESS_MAX_TURNS",
            "0",
            "max_turns must be a whole number from 1 to 1000000",
        ),
        (
            "HARNESS_MAX_TURNS",
            "1000001",
            "max_turns must be a whole number from 1 to 1000000",
        ),
        (
            "HARNESS_MAX_TURNS",
            "+5",
            "max_turns must be a whole number from 1 to 1000000",
        ),
        (
            "HARNESS_MAX_TOKENS",
            "4k",
            "max_tokens must be a whole number from 0 to 1000000",
        ),
        (
            "HARNESS_PORT",
            "65536",
            "port must be a whole number from 0 to 65535",
        ),
        (
            "HARNESS_MAX_RETRIES",
            "-1",
            "max_retries must be a whole number from 0 to 20",
        ),
        (
            "HARNESS_MAX_SUBSCRIBERS",
            "0",
            "max_subscribers must be a whole number from 1 to 100000",
        ),
        (
            "HARNESS_REQUIRE_TOKEN",
            "yes",
            "require_token must be true or false",
        ),
        ("HARNESS_BIND", "127.0.0.1:80", &format!("bind {ip}")),
        (
            "HARNESS_ALLOWED_HOSTS",
            "a,,b",
            &format!("allowed_hosts {hosts}"),
        ),
        (
            "HARNESS_ALLOWED_HOSTS",
            "http://a",
            &format!("allowed_hosts {hosts}"),
        ),
        (
            "HARNESS_ALLOWED_HOSTS",
            "*",
            &format!("allowed_hosts {hosts}"),
        ),
        (
            "HARNESS_MODEL",
            "mödel",
            "model must be one line of printable ASCII characters",
        ),
        (
            "RUST_LOG",
            "info\u{7}",
            "log must be one line of printable ASCII characters",
        ),
    ] {
        let expected = format!("{said}, got {value:?} (from {variable})");
        assert_eq!(error(&[], &[(variable, value)], ""), expected);
    }
}

/// Spec: [CONF-05] [CONF-19]
#[test]
fn every_wrong_duration_is_refused_in_the_same_words() {
    for (name, value) in [
        ("max_retry_wait", "0"),
        ("connect_timeout", "-5s"),
        ("head_timeout", "2 s"),
        ("idle_timeout", "1e3"),
        ("tool_timeout", "9999h"),
        ("heartbeat", "0.1ms"),
    ] {
        let variable = format!("HARNESS_{}", name.to_ascii_uppercase());
        assert_eq!(
            error(&[], &[(variable.as_str(), value)], ""),
            format!(
                "{name} must be a duration such as 300ms, 2s, 5m or 1h, from 1ms to 8760h, \
                 got {value:?} (from {variable})"
            )
        );
    }
}

/// Spec: [CONF-05]
#[test]
fn a_long_or_many_lined_value_stays_one_short_line() {
    let line = error(
        &[],
        &[],
        &format!("port = \"\"\"a\n{}\"\"\"", "b".repeat(500)),
    );
    assert_eq!(line.lines().count(), 1);
    assert!(line.len() < 200, "{line}");
}

/// Spec: [CONF-06]
#[test]
fn a_secret_is_never_shown() {
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-ant-SEEN"),
        ("ANTHROPIC_AUTH_TOKEN", "bearer-SEEN"),
        ("HARNESS_TOKEN", "0123456789ab-SEEN"),
    ];
    let config = load(&[], &secrets, "");
    assert_eq!(config.token.as_ref().unwrap().to_string(), "***");
    for text in [
        format!("{config:?}"),
        config.as_table(None),
        config.as_json(None),
    ] {
        assert!(!text.contains("SEEN"), "{text}");
    }
    assert_eq!(
        row(&config, "auth_token"),
        "auth_token *** ANTHROPIC_AUTH_TOKEN"
    );
    assert_eq!(row(&config, "token"), "token *** HARNESS_TOKEN");
    for line in [
        error(&[], &[("ANTHROPIC_API_KEY", "SE\u{7}SEEN")], ""),
        error(&[], &[("HARNESS_TOKEN", "SEEN")], ""),
        error(&[], &[], "token = ['SEEN']"),
        error(&[], &[("HARNESS_PORT", "sk-ant-SEEN")], ""),
        error(&["--base-url", "https://me:SEEN@proxy"], &[], ""),
    ] {
        assert!(!line.contains("SEEN"), "{line}");
    }
}

/// Spec: [CONF-09] [CONF-36]
#[test]
fn a_missing_file_is_no_error_and_nothing_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let config =
        LoadedConfig::gather(layers(&["--home", home.to_str().unwrap()], &[], "")).unwrap();
    assert_eq!(
        row(&config, "home"),
        format!("home {} --home", home.display())
    );
    assert!(!home.exists());
}

/// Spec: [CONF-09]
#[test]
fn the_file_in_the_state_folder_is_read_or_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let gather = || {
        LoadedConfig::gather(layers(
            &["--home", folder.path().to_str().unwrap()],
            &[],
            "",
        ))
    };
    let path = folder.path().join("config.toml");
    fs::write(&path, "port = 1").unwrap();
    assert_eq!(gather().unwrap().port, 1);
    fs::write(&path, [0xff]).unwrap();
    assert_eq!(
        gather().unwrap_err().to_string(),
        format!(
            "cannot read {}: stream did not contain valid UTF-8; \
             make it a readable UTF-8 file or remove it",
            path.display()
        )
    );
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let line = gather().unwrap_err().to_string();
    assert!(
        line.starts_with(&format!("cannot read {}: it is not a file", path.display())),
        "{line}"
    );
}

/// Spec: [CONF-10]
#[test]
fn the_file_takes_numbers_and_switches_as_they_are() {
    let text = "port = 0x10\nmax_tokens = 1_000\nheartbeat = 1.5\nrequire_token = true";
    let config = load(&[], &[], text);
    assert_eq!(
        (
            config.port,
            config.settings.max_tokens,
            config.require_token
        ),
        (16, 1000, true)
    );
    assert_eq!(config.heartbeat, Duration::from_millis(1500));
    for (text, said) in [
        (
            "port = [1]",
            "port must be a single value (from config.toml line 1)",
        ),
        (
            "model.name = 'm'",
            "model must be a single value (from config.toml line 1)",
        ),
        (
            "allowed_hosts = [1]",
            "allowed_hosts must be a text or a list of texts (from config.toml line 1)",
        ),
    ] {
        assert_eq!(error(&[], &[], text), said);
    }
}

/// Spec: [CONF-11]
#[test]
fn the_credential_of_the_higher_layer_wins_and_the_bearer_token_within_one() {
    let (key, bearer) = (("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "b"));
    let config = load(&[], &[key], "auth_token = 'b'");
    assert_eq!(credential(&config), ("key", "k"));
    assert_eq!(
        row(&config, "auth_token"),
        "auth_token (not used: api_key wins) config.toml line 1"
    );
    let config = load(&[], &[bearer], "api_key = 'k'");
    assert_eq!(credential(&config), ("bearer", "b"));
    assert_eq!(
        row(&config, "api_key"),
        "api_key (not used: auth_token wins) config.toml line 1"
    );
    assert_eq!(credential(&load(&[], &[key, bearer], "")), ("bearer", "b"));
    assert_eq!(
        credential(&load(&[], &[], "api_key = 'k'\nauth_token = 'b'")),
        ("bearer", "b")
    );
    assert_eq!(credential(&load(&[], &[], "api_key = 'k'")), ("key", "k"));
}

/// Spec: [CONF-12]
#[test]
fn a_key_is_trimmed_and_must_be_visible() {
    assert_eq!(
        credential(&load(&[], &[("ANTHROPIC_API_KEY", " k1\n")], "")),
        ("key", "k1")
    );
    for wrong in ["k 1", "k\u{0}1", "k\u{e9}"] {
        assert_eq!(
            error(&[], &[("ANTHROPIC_AUTH_TOKEN", wrong)], ""),
            "auth_token must be visible ASCII characters without spaces; copy it again \
             (from ANTHROPIC_AUTH_TOKEN)"
        );
    }
}

/// Spec: [CONF-13]
#[test]
fn a_missing_credential_is_an_error_only_when_it_is_needed() {
    let config = load(&[], &[], "");
    assert_eq!(
        config
            .require_credential("harness --demo")
            .unwrap_err()
            .to_string(),
        "no API key: set ANTHROPIC_API_KEY (or api_key in /home/me/.harness/config.toml), \
         or try the built-in demo with: harness --demo"
    );
}

/// Spec: [CONF-75]
#[test]
fn a_server_of_somebody_else_needs_no_credential() {
    let url = |url| load(&["--base-url", url], &[], "");
    for other in [
        "http://127.0.0.1:8080",
        "https://llm.example.com/v1",
        "https://api.anthropic.com.example.com",
        "https://notanthropic.com",
    ] {
        assert!(url(other).require_credential("").unwrap().is_none());
    }
    for own in [
        "https://api.anthropic.com",
        "https://API.anthropic.com/v1/messages",
        "https://api.anthropic.com.:443",
        "https://eu.anthropic.com",
    ] {
        assert!(url(own).require_credential("").is_err(), "{own}");
    }
    let given = load(
        &["--base-url", "https://a"],
        &[("ANTHROPIC_API_KEY", "k")],
        "",
    );
    assert_eq!(credential(&given), ("key", "k"));
}

/// Spec: [CONF-48]
#[test]
fn a_port_that_was_named_is_known_as_chosen() {
    assert!(!load(&[], &[], "").is_port_chosen());
    for chosen in [
        load(&["--port", "8421"], &[], ""),
        load(&[], &[("HARNESS_PORT", "8421")], ""),
        load(&[], &[], "port = 8421"),
    ] {
        assert!(chosen.is_port_chosen());
    }
}

/// Spec: [CONF-17]
#[test]
fn a_model_that_was_named_is_known_as_chosen() {
    let default = "claude-3-haiku-20240307";
    let config = load(&["--model", default], &[], "");
    assert_eq!(config.settings.model.as_deref(), Some(default));
}

/// Spec: [CONF-20]
#[test]
fn the_instructions_come_from_a_text_or_a_file_of_the_higher_layer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompt.md");
    fs::write(&path, "From the file.\n").unwrap();
    let path = path.to_str().unwrap();
    let prompt = |config: LoadedConfig| config.settings.system_prompt;

    let (text, file) = (["--system-prompt", "Text."], ["--system-prompt-file", path]);
    let in_file = format!("system_prompt_file = '{path}'");
    assert_eq!(prompt(load(&text, &[], &in_file)), "Text.");
    assert_eq!(
        prompt(load(&file, &[("HARNESS_SYSTEM_PROMPT", "Text.")], "")),
        "From the file.\n"
    );
    assert_eq!(prompt(load(&["--system-prompt", ""], &[], &in_file)), "");
    assert_eq!(prompt(load(&[], &[], "system_prompt = '  '")), "");
    assert_eq!(
        error(&[text, file].concat(), &[], ""),
        "system_prompt and system_prompt_file exclude each other, got both \
         (from --system-prompt and --system-prompt-file); leave one out"
    );
    let config = load(&[], &[("HARNESS_SYSTEM_PROMPT", "x")], &in_file);
    assert_eq!(
        row(&config, "system_prompt_file"),
        "system_prompt_file (not used: system_prompt wins) config.toml line 1"
    );
}

/// Spec: [CONF-21]
#[test]
fn a_file_of_instructions_must_be_readable_text_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let line = || error(&["--system-prompt-file", path.to_str().unwrap()], &[], "");
    let from = "(from --system-prompt-file)";
    let missing = line();
    assert!(
        missing.starts_with("system_prompt_file must be a file that can be read (No such file"),
        "{missing}"
    );
    for (content, said) in [
        (vec![0xff], "be a file of UTF-8 text"),
        (vec![b'x'; 1 << 21], "be a file of at most 1 MiB"),
    ] {
        fs::write(&path, content).unwrap();
        let line = line();
        assert!(
            line.starts_with(&format!("system_prompt_file must {said}, got ")),
            "{line}"
        );
        assert!(line.ends_with(from), "{line}");
    }
}

/// Spec: [CONF-22]
#[test]
fn an_address_others_can_reach_needs_a_required_token() {
    assert_eq!(
        load(&["--bind", "localhost"], &[], "").bind,
        IpAddr::from([127, 0, 0, 1])
    );
    assert!(load(&["--bind", "::1"], &[], "").bind.is_loopback());
    assert!(load(&["--bind", "0.0.0.0", "--require-token"], &[], "").require_token);
    assert_eq!(
        error(&[], &[("HARNESS_BIND", "0.0.0.0")], ""),
        "bind must stay on this machine unless a token is required; \
         add --require-token or bind 127.0.0.1, got \"0.0.0.0\" (from HARNESS_BIND)"
    );
}

/// Spec: [CONF-23]
#[test]
fn a_token_is_long_and_never_empty() {
    let token = |config: LoadedConfig| config.token.map(|token| token.expose().to_owned());
    assert_eq!(
        token(load(&[], &[("HARNESS_TOKEN", LONG_TOKEN)], "")).unwrap(),
        LONG_TOKEN
    );
    assert_eq!(
        token(load(&[], &[], &format!("token = '{LONG_TOKEN}'"))).unwrap(),
        LONG_TOKEN
    );
    let blank = "token must not be blank; give a value or leave it out (from HARNESS_TOKEN)";
    for empty in ["", " "] {
        let in_file = format!("token = '{LONG_TOKEN}'");
        assert_eq!(error(&[], &[("HARNESS_TOKEN", empty)], &in_file), blank);
    }
    for wrong in ["0123456789abcde", "0123456789 abcdef", "0123456789abcdé"] {
        assert_eq!(
            error(&[], &[("HARNESS_TOKEN", wrong)], ""),
            "token must be at least 16 visible ASCII characters (from HARNESS_TOKEN)"
        );
    }
}

/// Spec: [CONF-24]
#[test]
fn allowed_hosts_are_a_comma_list_or_a_toml_list() {
    let flag = ["--allowed-hosts", "Box.local, box:8421,[::1]:9"];
    assert_eq!(
        load(&flag, &[], "").allowed_hosts,
        ["box.local", "box:8421", "[::1]:9"]
    );
    assert_eq!(
        load(&[], &[], "allowed_hosts = ['a', 'b']").allowed_hosts,
        ["a", "b"]
    );
    assert!(
        load(&[], &[], "allowed_hosts = []")
            .allowed_hosts
            .is_empty()
    );
}

/// Spec: [CONF-25]
#[test]
fn the_workspace_is_a_folder_that_exists_without_links() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    fs::write(real.join("file"), "").unwrap();
    std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
    let with = |workspace: &str| {
        let mut layers = layers(&["--workspace", workspace], &[], "");
        layers.current_dir = folder.path().to_owned();
        LoadedConfig::load(&layers)
            .map(|config| config.workspace)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("link"), Ok(real));
    assert_eq!(
        with("real/file").unwrap_err(),
        "workspace must be a folder, not a file, got \"real/file\" (from --workspace)"
    );
    assert_eq!(
        with("none").unwrap_err(),
        "workspace must be a folder that exists (No such file or directory (os error 2)), \
         got \"none\" (from --workspace)"
    );
}

/// Spec: [CONF-26]
#[test]
fn the_require_token_flag_needs_no_value() {
    assert!(load(&["--require-token"], &[], "").require_token);
    let on = [("HARNESS_REQUIRE_TOKEN", "true")];
    assert!(load(&[], &on, "").require_token);
    assert!(!load(&["--require-token=false"], &on, "").require_token);
}

/// Spec: [CONF-27]
#[test]
fn the_state_folder_is_a_flag_a_variable_or_in_the_home_folder() {
    let env = [("HARNESS_HOME", "/env")];
    assert_eq!(
        load(&["--home", "rel"], &env, "").home,
        PathBuf::from("/rel")
    );
    assert_eq!(load(&[], &env, "").home, PathBuf::from("/env"));
    assert_eq!(
        error(&[], &[], "home = '/x'"),
        "config.toml line 1: home cannot be set here; set HARNESS_HOME or give --home"
    );
    assert_eq!(
        error(&[], &[("HOME", "")], ""),
        "home is unknown because HOME is not set; set HARNESS_HOME or give --home"
    );
}

/// Spec: [CONF-28]
#[test]
fn the_table_shows_every_setting_with_its_origin_on_one_line() {
    let config = load(&["--system-prompt", "a\n\u{1b}[31mb"], &[], "");
    // And the keys that conversations can choose.
    assert_eq!(config.as_table(None).lines().count(), SETTINGS.len() + 1);
    assert_eq!(
        row(&config, "system_prompt"),
        r"system_prompt a\n\u{1b}[31mb --system-prompt"
    );
    assert_eq!(row(&config, "api_key"), "api_key (unset) default");
    assert_eq!(row(&config, "head_timeout"), "head_timeout 120s default");
    let config = load(&["--system-prompt", &"x".repeat(300)], &[], "");
    assert!(
        config
            .as_table(None)
            .lines()
            .all(|line| line.chars().count() < 120)
    );
}

/// Spec: [CONF-29]
#[test]
fn json_holds_key_value_and_source_of_every_setting() {
    let config = load(&["--port", "0"], &[("ANTHROPIC_API_KEY", "k")], "");
    let rows: serde_json::Value = serde_json::from_str(&config.as_json(None)).unwrap();
    let rows = rows["items"].as_array().unwrap();
    assert_eq!(rows.len(), SETTINGS.len() + 1);
    for expected in [
        serde_json::json!({ "key": "port", "value": 0, "source": "--port" }),
        serde_json::json!({ "key": "api_key", "value": "***", "source": "ANTHROPIC_API_KEY" }),
        serde_json::json!({ "key": "token", "value": null, "source": "default" }),
        serde_json::json!({ "key": "key_sources", "value": null, "source": "default" }),
    ] {
        assert!(rows.contains(&expected), "{expected}");
    }
}

/// Spec: [CONF-30]
#[test]
fn a_flag_value_may_begin_with_a_dash() {
    assert_eq!(
        error(&["--max-turns", "-1"], &[], ""),
        "max_turns must be a whole number from 1 to 1000000, got \"-1\" (from --max-turns)"
    );
    let config = load(&["--system-prompt", "- be terse"], &[], "");
    assert_eq!(config.settings.system_prompt, "- be terse");
}

/// Spec: [CONF-31]
#[test]
fn a_variable_that_is_not_text_is_refused_if_it_is_a_setting() {
    let broken = OsString::from_vec(vec![0xff]);
    let mut layers = layers(&[], &[], "");
    layers
        .environment
        .insert("UNRELATED".into(), broken.clone());
    assert!(LoadedConfig::load(&layers).is_ok());
    layers.environment.insert("HARNESS_MODEL".into(), broken);
    assert_eq!(
        LoadedConfig::load(&layers).unwrap_err().to_string(),
        "model must be UTF-8 text (from HARNESS_MODEL)"
    );
}

/// Spec: [SEC-53]
#[test]
fn in_a_container_the_token_is_asked_for_unless_somebody_says_otherwise() {
    let required = |environment: &[(&str, &str)]| {
        let layers = Layers {
            in_container: true,
            ..layers(&["--workspace", "/"], environment, "")
        };
        let config = LoadedConfig::load(&layers).unwrap();
        let shown = config.as_table(None);
        let line = shown.lines().find(|line| line.starts_with("require_token"));
        assert!(line.unwrap().contains(&config.require_token.to_string()));
        config.require_token
    };
    assert!(required(&[]));
    assert!(!required(&[("HARNESS_REQUIRE_TOKEN", "false")]));
}

/// Spec: [CONF-53] [CONF-54]
#[test]
fn key_sources_are_named_in_the_file_and_shown_by_their_names() {
    let file = "port = 1\n\n[key_sources]\nteam = \"env:TEAM_KEY\"\nmine-2 = 'file:~/keys/SEEN'\n";
    let config = load(&[], &[], file);
    let expected = [
        ("mine-2", KeyOrigin::File("~/keys/SEEN".to_owned())),
        ("team", KeyOrigin::Environment("TEAM_KEY".to_owned())),
    ];
    let expected = expected.map(|(name, origin)| (name.to_owned(), origin));
    assert_eq!(config.key_sources.origins, expected.into());
    assert_eq!(
        row(&config, "key_sources"),
        "key_sources mine-2, team config.toml line 3"
    );
    for text in [config.as_table(None), config.as_json(None)] {
        assert!(
            !text.contains("SEEN") && !text.contains("TEAM_KEY"),
            "{text}"
        );
    }
    let inline = load(&[], &[], "key_sources = { a = 'file:/k' }");
    assert_eq!(inline.key_sources.names(), ["a"]);
}

/// Spec: [CONF-55]
#[test]
fn a_mistake_in_key_sources_is_told_without_the_value() {
    let must = r#"must be "env:NAME" or "file:PATH", and not the key itself"#;
    let name = "a name in key_sources must be 1 to 32 letters, digits, - or _, and no key";
    for (text, said) in [
        (
            "key_sources = 'SEEN'",
            r#"line 1: key_sources must be a table of names, such as [key_sources] team = "env:TEAM_KEY""#
                .to_owned(),
        ),
        (
            "[key_sources]\nteam = 'sk-SEEN'",
            format!("line 2: key_sources.team {must} (a source is env:NAME or file:PATH)"),
        ),
        (
            "[key_sources]\nz = 'file:SEEN'\na = 'env:1'",
            format!(
                "line 2: key_sources.z {must} (the path of the file must be absolute or begin with ~/)"
            ),
        ),
        (
            "[key_sources]\nteam = 5",
            format!("line 2: key_sources.team {must} (a source is env:NAME or file:PATH)"),
        ),
        (
            "[key_sources]\nsk-SEEN = 'env:A'",
            format!("line 2: {name}"),
        ),
        (
            "[key_sources]\n\"a b\" = 'env:A'",
            format!("line 2: {name}"),
        ),
        (
            "[key_sources]\nown = 'env:HARNESS_TOKEN'",
            "line 2: key_sources.own must not be the service's own token, which is sent nowhere"
                .to_owned(),
        ),
    ] {
        assert_eq!(error(&[], &[], text), format!("config.toml {said}"));
    }
}

/// Spec: [SEC-20]
#[test]
fn the_configuration_knows_every_secret_of_every_layer() {
    let environment = [("ANTHROPIC_API_KEY", "sk-environment")];
    let file = "api_key = 'sk-of-the-file'\ntoken = '0123456789abcdef'";
    let config = load(&[], &environment, file);
    let secrets = config.secrets.iter().map(Secret::expose);
    assert!(secrets.eq(["0123456789abcdef", "sk-environment", "sk-of-the-file"]));
}
