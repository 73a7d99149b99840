//! Files of settings, right and wrong, and how one is changed.

use super::*;

/// Spec: [TUI-175] [TUI-260]
#[test]
fn a_wrong_line_is_named_and_the_rest_holds() {
    let text = "theme = \"light\" # by day\ntool_results = \"head\"\nhead_lines = 16\nbell = false\nmouse = 7\ncolour = 1\n";
    let (settings, problems) = ClientSettings::parse(text);
    let expected = ClientSettings {
        theme: Some(Scheme::Light),
        tool_results: FoldAmount::Head(16),
        head_lines: 16,
        bell: false,
        ..ClientSettings::default()
    };
    assert_eq!(settings, expected);
    let mut problems = problems;
    problems.sort_unstable();
    assert_eq!(
        problems,
        [
            "mouse cannot be \"7\"; it is one of: true, false",
            "there is no setting \"colour\"; there are: theme, tool_results, head_lines, bell, mouse, highlight, links, terminal_title, notify, editing_mode",
        ]
    );
    let (settings, problems) = ClientSettings::parse("theme = ");
    assert_eq!((settings, problems.len()), (ClientSettings::default(), 1));
    assert_eq!(
        ClientSettings::parse(""),
        (ClientSettings::default(), vec![])
    );
}

/// Spec: [TUI-176]
#[test]
fn one_setting_is_changed_and_comments_stay() {
    let text = "# mine\ntheme = \"dark\" # by night\n\n[later]\ntheme = \"x\"\n";
    let light = "# mine\ntheme = \"light\" # by night\n\n[later]\ntheme = \"x\"\n";
    assert_eq!(edited(text, "theme", "light"), light);
    let bell = "# mine\ntheme = \"dark\" # by night\n\nbell = false\n[later]\ntheme = \"x\"\n";
    assert_eq!(edited(text, "bell", "false"), bell);
    assert_eq!(edited("", "mouse", "true"), "mouse = true\n");
    assert_eq!(edited("", "head_lines", "16"), "head_lines = 16\n");
    // Each value is read as it was written.
    for row in ROWS {
        for value in row.values {
            let (settings, problems) = ClientSettings::parse(&edited("", row.name, value));
            assert_eq!((settings.value(row.name), problems.len()), (*value, 0));
        }
    }
}

/// Spec: [TUI-176]
#[test]
fn the_file_is_the_owners_and_another_clients_change_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = SettingsFile::in_folder(folder.path());
    assert_eq!(file.load(), (ClientSettings::default(), vec![]));
    file.keep("theme", "light").unwrap();
    SettingsFile::in_folder(folder.path())
        .keep("bell", "false")
        .unwrap();
    let (settings, problems) = file.load();
    assert_eq!(
        (settings.theme, settings.bell),
        (Some(Scheme::Light), false)
    );
    assert_eq!(problems, [""; 0]);
    let path = folder.path().join("client.toml");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&path, "theme = \"pink\"\n").unwrap();
    let problem =
        "client.toml: theme cannot be \"pink\"; it is one of: auto, dark, light, terminal";
    assert_eq!(file.load().1, [problem]);
}
