//! Entries of the configuration.

use proptest::prelude::*;

use super::*;

fn read(value: &Value) -> ServerEntry {
    ServerEntry::read(value).unwrap()
}

#[track_caller]
fn check_refused(value: &Value, reason: &str) {
    assert_eq!(ServerEntry::read(value).unwrap_err(), reason);
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn minimal() -> ServerEntry {
    ServerEntry {
        command: "uvx".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        timeout: None,
        access: Access::Write,
        network: true,
        enabled_tools: Vec::new(),
        disabled_tools: Vec::new(),
        is_disabled: false,
    }
}

fn complete() -> Value {
    json!({
        "command": "uvx",
        "args": ["mcp-server-git", ""],
        "env": {"X": "${X:-default}", "_a1": ""},
        "timeout": 60000,
        "access": "read",
        "network": false,
        "enabled_tools": ["git_*", "a"],
        "disabled_tools": ["git_push"],
        "disabled": true,
    })
}

/// Spec: [MCP-01]
#[test]
fn an_entry_is_read_with_its_defaults() {
    assert_eq!(read(&json!({"command": "uvx"})), minimal());
    let expected = ServerEntry {
        command: "uvx".to_owned(),
        args: owned(&["mcp-server-git", ""]),
        env: [("X", "${X:-default}"), ("_a1", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        timeout: Some(Duration::from_secs(60)),
        access: Access::Read,
        network: false,
        enabled_tools: owned(&["git_*", "a"]),
        disabled_tools: owned(&["git_push"]),
        is_disabled: true,
    };
    assert_eq!(read(&complete()), expected);
    for (word, access) in [
        ("read", Access::Read),
        ("write", Access::Write),
        ("full", Access::Full),
    ] {
        let entry = read(&json!({"command": "uvx", "access": word}));
        assert_eq!(entry.access, access);
    }
}

/// Spec: [MCP-01]
#[test]
fn the_keys_of_other_programs_are_understood_or_ignored() {
    let entry = json!({
        "command": "uvx",
        "type": "stdio",
        "description": 5,
        "alwaysAllow": ["a"],
        "autoApprove": [],
        "startup_timeout_sec": 20,
        "tool_timeout_sec": 1.5,
    });
    let expected = ServerEntry {
        timeout: Some(Duration::from_millis(1500)),
        ..minimal()
    };
    assert_eq!(read(&entry), expected);
    // Of two times, the one in milliseconds counts.
    let both = json!({"command": "uvx", "timeout": 5, "tool_timeout_sec": 9});
    assert_eq!(read(&both).timeout, Some(Duration::from_millis(5)));
}

/// Spec: [MCP-01]
#[test]
fn a_server_over_http_is_refused() {
    for entry in [
        json!({"url": "https://example.com/mcp"}),
        json!({"url": null, "command": "uvx"}),
        json!({"httpUrl": "https://example.com/mcp"}),
        json!({"serverUrl": "https://example.com/mcp"}),
        json!({"type": "http", "url": "https://example.com/mcp", "headers": {}}),
        json!({"type": "sse"}),
        json!({"type": "streamable-http"}),
    ] {
        check_refused(
            &entry,
            "servers over HTTP are not supported yet; name a command",
        );
    }
    check_refused(
        &json!({"command": "uvx", "type": "pipe"}),
        "type must be \"stdio\" or left out, not \"pipe\"",
    );
    check_refused(
        &json!({"command": "uvx", "type": null}),
        "type must be \"stdio\" or left out, not null",
    );
}

/// Spec: [MCP-01]
#[test]
fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    for (key, expected) in [
        ("arg", "unknown key \"arg\"; did you mean \"args\"?"),
        (
            "enabledTools",
            "unknown key \"enabledTools\"; did you mean \"enabled_tools\"?",
        ),
        (
            "working directory",
            "unknown key \"working directory\"; the keys here are command, args, env, timeout, access, network, \
             enabled_tools, disabled_tools, disabled",
        ),
        (
            "cwd",
            "cwd cannot be set: the server works in the conversation's folder; leave it out",
        ),
    ] {
        check_refused(&json!({"command": "uvx", key: 1}), expected);
    }
}

/// Spec: [MCP-01]
#[test]
fn a_value_of_another_type_is_refused_with_its_key_and_the_fix() {
    for (key, value, expected) in [
        (
            "command",
            json!(""),
            "command is empty; name a program, such as \"uvx\"",
        ),
        (
            "command",
            json!(" "),
            "command is empty; name a program, such as \"uvx\"",
        ),
        (
            "command",
            json!(["uvx", "a"]),
            "command must be the name of a program, with its arguments in args, not [\"uvx\",\"a\"]",
        ),
        (
            "command",
            json!("a\0b"),
            "command holds a NUL character; take it out",
        ),
        (
            "args",
            json!("a"),
            "args must be a list of texts, such as [\"a\", \"b\"], not \"a\"",
        ),
        (
            "args",
            json!(["a", 5]),
            "args[1] must be a text in quotes, not 5",
        ),
        (
            "args",
            json!(["\0"]),
            "args[0] holds a NUL character; take it out",
        ),
        (
            "args",
            json!(null),
            "args must be a list of texts, such as [\"a\", \"b\"], not null",
        ),
        (
            "env",
            json!(["A=b"]),
            "env must be an object such as {\"NAME\": \"value\"}, not a list",
        ),
        (
            "env",
            json!({"PORT": 8080}),
            "env.PORT must be a text in quotes, not a number",
        ),
        (
            "env",
            json!({"TOKEN": ["s3cret"]}),
            "env.TOKEN must be a text in quotes, not a list",
        ),
        (
            "env",
            json!({"A": "a\0"}),
            "env.A holds a NUL character; take it out",
        ),
        (
            "env",
            json!({"A-B": "a"}),
            "env has \"A-B\"; the name of a variable has letters, digits and _, and does not start with a digit",
        ),
    ] {
        let mut entry = json!({"command": "uvx"});
        entry[key] = value;
        check_refused(&entry, expected);
    }
    check_refused(
        &json!({}),
        "command is missing; name a program, such as \"uvx\"",
    );
}

/// Spec: [MCP-01]
#[test]
fn a_value_of_our_own_keys_is_refused_with_its_key_and_the_fix() {
    for (key, value, expected) in [
        (
            "access",
            json!("none"),
            "access must be \"read\", \"write\" or \"full\", not \"none\"",
        ),
        (
            "access",
            json!("unknown"),
            "access must be \"read\", \"write\" or \"full\", not \"unknown\"",
        ),
        (
            "access",
            json!(true),
            "access must be \"read\", \"write\" or \"full\", not true",
        ),
        (
            "network",
            json!("yes"),
            "network must be true or false, not \"yes\"",
        ),
        (
            "disabled",
            json!(0),
            "disabled must be true or false, not 0",
        ),
        (
            "disabled_tools",
            json!({}),
            "disabled_tools must be a list of texts, such as [\"a\", \"b\"], not {}",
        ),
        (
            "enabled_tools",
            json!([]),
            "enabled_tools is empty; leave it out for all tools, or name some, such as [\"get_*\"]",
        ),
    ] {
        let mut entry = json!({"command": "uvx"});
        entry[key] = value;
        check_refused(&entry, expected);
    }
    let long = ServerEntry::read(&json!("x".repeat(100))).unwrap_err();
    assert!(
        long.starts_with("an entry is an object such as {\"command\": "),
        "{long}"
    );
    assert!(long.ends_with("xxx…") && long.len() < 200, "{long}");
}

/// Spec: [MCP-01]
#[test]
fn names_of_variables_are_those_of_the_shell() {
    for name in ["A", "_", "a1", "LD_PRELOAD", "NODE_OPTIONS"] {
        assert!(is_variable_name(name), "{name}");
    }
    for name in ["", "1", "1A", "A B", "A=B", "A\0", "Ä", "A.B"] {
        assert!(!is_variable_name(name), "{name:?}");
        let entry = json!({"command": "uvx", "env": {name: "x"}});
        assert!(ServerEntry::read(&entry).is_err(), "{name:?}");
    }
}

/// Spec: [MCP-01]
#[test]
fn a_time_is_from_a_millisecond_to_a_day() {
    for (key, value, milliseconds) in [
        ("timeout", json!(1), 1),
        ("timeout", json!(86_400_000), 86_400_000),
        ("tool_timeout_sec", json!(0.001), 1),
        ("tool_timeout_sec", json!(86400), 86_400_000),
        ("tool_timeout_sec", json!(0.0019), 1),
    ] {
        let entry = read(&json!({"command": "uvx", key: value}));
        assert_eq!(
            entry.timeout,
            Some(Duration::from_millis(milliseconds)),
            "{key}"
        );
    }
    for value in [
        json!(0),
        json!(-1),
        json!(86_400_001),
        json!(1.5),
        json!("5s"),
        json!(null),
    ] {
        check_refused(
            &json!({"command": "uvx", "timeout": value}),
            &format!(
                "timeout must be a whole number of milliseconds from 1 to 86400000 (24 h), not {value}"
            ),
        );
    }
    for value in [
        json!(0),
        json!(0.0009),
        json!(-1),
        json!(86401),
        json!(1e300),
        json!("5"),
    ] {
        check_refused(
            &json!({"command": "uvx", "tool_timeout_sec": value}),
            &format!(
                "tool_timeout_sec must be a number of seconds from 0.001 to 86400 (24 h), not {value}"
            ),
        );
    }
}

/// An environment of the service.
fn variable(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/usr/share/home",
        "EMPTY" => "",
        "PORT" => "8080",
        "PAT" => "ghp_0123456789",
        "SHORT" => "x7$y",
        "NESTED" => "${PAT}-nested1",
        "NUL" => "a\0b",
        _ => return None,
    };
    Some(value.to_owned())
}

fn expanded(entry: &Value) -> Result<ExpandedEntry, String> {
    read(entry).expanded(&variable)
}

/// Spec: [MCP-01]
#[test]
fn variables_are_filled_in() {
    for (text, expected) in [
        ("plain", "plain"),
        ("${HOME}", "/usr/share/home"),
        ("a${PORT}b${PORT}", "a8080b8080"),
        ("${NONE:-default}", "default"),
        ("${NONE:-}", ""),
        ("${NONE:-a:-b}c}", "a:-bc}"),
        ("${PORT:-default}", "8080"),
        ("${EMPTY:-default}", ""),
        ("${EMPTY}", ""),
        // Values are not filled in again.
        ("${NESTED}", "${PAT}-nested1"),
        // All else stays.
        ("$PORT $$ $", "$PORT $$ $"),
        ("$${PORT}", "$8080"),
        ("${", "${"),
        ("${}", "${}"),
        ("${PORT", "${PORT"),
        ("${1}", "${1}"),
        ("${PORT-x}", "${PORT-x}"),
        ("${PORT:x}", "${PORT:x}"),
        ("${NONE:-x", "${NONE:-x"),
        ("${a b}${PORT}", "${a b}8080"),
        ("${${PORT}}", "${8080}"),
        ("ä${PORT}ö", "ä8080ö"),
    ] {
        let entry = json!({"command": "uvx", "args": [text], "env": {"A": text}});
        let expanded = expanded(&entry).unwrap();
        assert_eq!(expanded.program, ["uvx", expected], "{text}");
        let environment = [("A".to_owned(), expected.to_owned())];
        assert_eq!(expanded.environment, environment, "{text}");
    }
    let entry = json!({"command": "${HOME}/server"});
    assert_eq!(
        expanded(&entry).unwrap().program,
        ["/usr/share/home/server"]
    );
}

/// Spec: [MCP-01]
#[test]
fn a_variable_that_is_not_set_is_named_with_its_place() {
    let reason = |place: &str| {
        format!(
            "{place} needs the variable NONE, which is not set for the service; set it, or give a default: \
             ${{NONE:-default}}"
        )
    };
    for (entry, place) in [
        (json!({"command": "${NONE}"}), "command"),
        (
            json!({"command": "uvx", "args": ["a", "b${NONE}"]}),
            "args[1]",
        ),
        (
            json!({"command": "uvx", "env": {"A": "", "B": "${NONE}"}}),
            "env.B",
        ),
    ] {
        assert_eq!(expanded(&entry).unwrap_err(), reason(place));
    }
    assert_eq!(
        expanded(&json!({"command": "${EMPTY}"})).unwrap_err(),
        "command is empty once its variables are filled in; set them to a program"
    );
    assert_eq!(
        expanded(&json!({"command": "uvx", "args": ["${NUL}"]})).unwrap_err(),
        "the variable NUL for args[0] holds a NUL character; take it out"
    );
}

/// Spec: [MCP-14]
#[test]
fn values_of_variables_and_under_secret_names_are_secrets() {
    let secrets = |entry: Value| expanded(&entry).unwrap().secrets;
    // Of variables: not the paths and the numbers among them.
    assert_eq!(
        secrets(
            json!({"command": "uvx", "args": ["--auth=${PAT}", "${HOME}", "${PORT}", "${SHORT}"]})
        ),
        ["ghp_0123456789"]
    );
    assert_eq!(
        secrets(
            json!({"command": "uvx", "env": {"API_KEY": "Bearer ${PAT}", "PLACE": "abcdefgh1"}})
        ),
        ["Bearer ghp_0123456789", "ghp_0123456789"]
    );
    for name in [
        "API_KEY",
        "token",
        "MY_SECRET_1",
        "PGPASSWORD",
        "passwd",
        "CREDENTIALS",
        "OAUTH",
        "AUTHORIZATION",
    ] {
        assert_eq!(
            secrets(json!({"command": "uvx", "env": {name: "s3cret-value"}})),
            ["s3cret-value"],
            "{name}"
        );
    }
    for (name, value) in [
        ("NAME", "s3cret-value"),
        ("GIT_AUTHOR_EMAIL", "me@example.com1"),
        ("TOKEN", "s3cret1"),
        ("KEYMAP", "us"),
        ("AUTH_MODE", "interactive"),
        ("TOKEN_URL", "https://example.com/token1"),
        ("KEY_FILE", "/usr/share/key-1"),
        ("SECRET", "${NONE:-}"),
    ] {
        let found = secrets(json!({"command": "uvx", "env": {name: value}}));
        assert_eq!(found, [""; 0], "{name}");
    }
    // A password in an address.
    assert_eq!(
        secrets(json!({
            "command": "uvx",
            "args": ["--db=postgres://me:pa55word!@host/db?x=y:z@w"],
            "env": {"DB": "mysql://me:s3cret-value@host", "OTHER": "https://example.com/a:bcdefgh1@x"},
        })),
        [
            "me:pa55word!@",
            "me:s3cret-value@",
            "pa55word!",
            "s3cret-value"
        ]
    );
}

/// Spec: [MCP-14]
#[test]
fn debug_output_holds_no_value() {
    let entry = json!({
        "command": "uvx", "args": ["s3cret-arg"], "env": {"NAME": "s3cret-value"},
    });
    for text in [
        format!("{:?}", read(&entry)),
        format!("{:?}", expanded(&entry).unwrap()),
    ] {
        assert!(text.contains("NAME") && !text.contains("s3cret"), "{text}");
    }
}

/// Spec: [MCP-01]
#[test]
fn patterns_choose_the_tools() {
    let with = |enabled: &[&str], disabled: &[&str]| ServerEntry {
        enabled_tools: owned(enabled),
        disabled_tools: owned(disabled),
        ..minimal()
    };
    let none: &[&str] = &[];
    for (enabled, disabled, tool, expected) in [
        (none, none, "anything", true),
        (&["git_*"], &[], "git_log", true),
        (&["git_*"], &[], "git_", true),
        (&["git_*"], &[], "agit_log", false),
        (&["a", "b"], &[], "b", true),
        (&["a", "b"], &[], "ab", false),
        (&[], &["*_push"], "git_push", false),
        (&[], &["*_push"], "git_push_", true),
        (&["git_*"], &["git_push"], "git_push", false),
        (&["*"], &["*"], "a", false),
    ] {
        let entry = with(enabled, disabled);
        assert_eq!(
            entry.admits(tool),
            expected,
            "{enabled:?} {disabled:?} {tool}"
        );
    }
    for (pattern, name, expected) in [
        ("*", "", true),
        ("**", "a", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "aXbXbc", true),
        ("a*b*c", "abcd", false),
        ("a*b*c", "ac", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("*ab*ab", "ab", false),
        ("", "", true),
        ("", "a", false),
        ("ä*", "äb", true),
        ("A", "a", false),
        ("a?", "ab", false),
    ] {
        assert_eq!(
            covers_with_stars(pattern, name),
            expected,
            "{pattern} {name}"
        );
    }
}

/// Spec: [MCP-06]
#[test]
fn the_canonical_text_has_sorted_keys_and_no_filled_in_variable() {
    assert_eq!(
        read(&complete()).canonical(),
        r#"{"access":"read","args":["mcp-server-git",""],"command":"uvx","disabled":true,"#
            .to_owned()
            + r#""disabled_tools":["git_push"],"enabled_tools":["a","git_*"],"#
            + r#""env":{"X":"${X:-default}","_a1":""},"network":false,"timeout":60000}"#
    );
    assert_eq!(
        minimal().canonical(),
        r#"{"access":"write","args":[],"command":"uvx","env":{},"network":true}"#
    );
    // Entries that mean the same.
    let written = json!({
        "timeout": 1000, "network": true, "env": {"B": "", "A": ""}, "command": "uvx",
        "disabled_tools": ["b", "a", "b"],
    });
    let same = json!({
        "command": "uvx", "env": {"A": "", "B": ""}, "tool_timeout_sec": 1, "disabled_tools": ["a", "b"],
        "access": "write", "args": [], "description": "x", "disabled": false,
    });
    assert_eq!(read(&written).canonical(), read(&same).canonical());
}

/// Spec: [MCP-06]
#[test]
fn every_change_of_an_entry_changes_the_canonical_text() {
    let canonical = read(&complete()).canonical();
    for (key, value) in [
        ("command", json!("uv")),
        ("args", json!(["", "mcp-server-git"])),
        ("env", json!({"X": "${X:-default}", "_a1": " "})),
        ("timeout", json!(60001)),
        ("access", json!("full")),
        ("network", json!(true)),
        ("enabled_tools", json!(["git_*"])),
        ("disabled_tools", json!([])),
        ("disabled", json!(false)),
    ] {
        let mut changed = complete();
        changed[key] = value;
        assert_ne!(read(&changed).canonical(), canonical, "{key}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    "[a-z${}:. -]{1,12}".prop_filter("a program has a name", |text| !text.trim().is_empty())
}

fn any_entry() -> impl Strategy<Value = ServerEntry> {
    (
        (any_text(), prop::collection::vec(any_text(), 0..3)),
        prop::collection::btree_map("[A-Z_][A-Z0-9_]{0,4}", any_text(), 0..3),
        prop::option::of((1..=86_400_000_u64).prop_map(Duration::from_millis)),
        prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::Full)],
        any::<(bool, bool)>(),
        prop::collection::vec(any_text(), 0..3),
        prop::collection::vec(any_text(), 0..3),
    )
        .prop_map(
            |((command, args), env, timeout, access, switches, enabled_tools, disabled_tools)| {
                let (network, is_disabled) = switches;
                ServerEntry {
                    command,
                    args,
                    env,
                    timeout,
                    access,
                    network,
                    enabled_tools,
                    disabled_tools,
                    is_disabled,
                }
            },
        )
}

proptest! {
    /// Spec: [MCP-01]
    #[test]
    fn a_stored_entry_is_read_again(entry in any_entry()) {
        let stored = serde_json::to_string(&entry).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ServerEntry>(&stored).unwrap(), &entry);
        let canonical: Value = serde_json::from_str(&entry.canonical()).unwrap();
        prop_assert_eq!(read(&canonical).canonical(), entry.canonical());
    }

    /// Spec: [MCP-01]
    #[test]
    fn text_without_a_variable_stays(text in "[a-z$} :-]{1,20}") {
        prop_assume!(!text.trim().is_empty());
        let entry = ServerEntry { command: text.clone(), ..minimal() };
        let expanded = entry.expanded(&|_| None).unwrap();
        prop_assert_eq!(expanded.program, [text]);
    }

    /// Spec: [MCP-01]
    #[test]
    fn no_text_is_too_strange_to_be_filled_in(text in "[aA_1${}:-]{0,30}") {
        let entry = ServerEntry { args: vec![text.clone()], ..minimal() };
        // With every variable set there is no error.
        let all_set = entry.expanded(&|name| Some(format!("<{name}>")));
        prop_assert!(all_set.is_ok());
        match entry.expanded(&|_| None) {
            Ok(expanded) => prop_assert!(expanded.secrets.is_empty()),
            Err(reason) => prop_assert!(reason.starts_with("args[0] needs the variable "), "{reason}"),
        }
    }

    /// Spec: [MCP-01]
    #[test]
    fn a_pattern_covers_as_a_slow_search_says(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
        prop_assert_eq!(covers_with_stars(&pattern, &name), covers_slowly(pattern.as_bytes(), name.as_bytes()));
    }
}

fn covers_slowly(pattern: &[u8], name: &[u8]) -> bool {
    match pattern {
        [] => name.is_empty(),
        [b'*', rest @ ..] => (0..=name.len()).any(|at| covers_slowly(rest, &name[at..])),
        [first, rest @ ..] => name.first() == Some(first) && covers_slowly(rest, &name[1..]),
    }
}

/// Spec: [MCP-14]
#[test]
fn a_command_is_shown_without_what_is_named_like_a_secret() {
    let entry = ServerEntry::read(&json!({"command": "x", "args": [
        "--api-key", "abc", "--token=def", "--auth", "${KEPT}", "--secret", "-v",
        "postgres://u:pass@host/db", "--key=${ALSO}", "plain", "--author=me",
    ]}));
    let shown = entry.unwrap().shown_command();
    let expected = [
        "x",
        "--api-key",
        "***",
        "--token=***",
        "--auth",
        "${KEPT}",
        "--secret",
        "-v",
        "postgres://***host/db",
        "--key=${ALSO}",
        "plain",
        "--author=me",
    ];
    assert_eq!(shown, expected);
}

/// Spec: [MCP-14]
#[test]
fn an_address_under_a_secret_name_is_a_secret_and_a_plain_place_is_none() {
    let entry = json!({"command": "x", "env": {
        "HOOK_TOKEN": "https://hooks.example.com/services/T000/B000",
        "AUTH_URL": "https://example.com/",
        "PAGE": "https://example.com/a/long/path",
    }});
    let expanded = ServerEntry::read(&entry)
        .unwrap()
        .expanded(&|_| None)
        .unwrap();
    assert_eq!(
        expanded.secrets,
        ["https://hooks.example.com/services/T000/B000"]
    );
}
