//! The approvals of a day of work, at a terminal of the usual size.

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::changing::Changing;
use crate::screen::Screen;

/// Presses keys as soon as an approval of these words has the keys. Returns how many were pressed.
async fn answer(screen: &mut Screen, words: &str, keys: &str) -> usize {
    let what = format!("the approval of {words}");
    let has_keys = |text: &str| text.contains(words) && text.contains("[a allow]");
    screen.sees(&what, has_keys).await;
    for key in keys.chars() {
        screen.keys(key.to_string());
        if key == 'A' {
            screen.shows("c this conversation").await;
        }
    }
    keys.len()
}

/// Spec: [TUI-791] [APPR-23]
#[tokio::test]
async fn the_six_approvals_of_a_day_take_at_most_seven_keys() {
    let here = Changing::in_mode("ask").await;
    here.file("src/lib.rs", "pub fn one() -> u32 {\n    2\n}\n");
    let bash = |command: &str| ("bash", json!({"command": command}));
    let edit = json!({"path": "src/lib.rs", "old_string": "    2", "new_string": "    1"});
    let content =
        "#[test]\nfn one() {\n    let one = day::one();\n    assert_eq!(one, 1);\n}\n// end\n";
    let write = json!({"path": "tests/one.rs", "content": content});
    let calls: [(&str, Value); 6] = [
        bash("grep -c fn src/lib.rs 2>&1 | tail -3"),
        bash("ls src && head -1 src/lib.rs"),
        ("edit", edit),
        ("write", write),
        bash("grep -c fn src/lib.rs tests/one.rs | tail -1"),
        bash("cp src/lib.rs released"),
    ];
    for (number, (tool, input)) in calls.into_iter().enumerate() {
        let id = format!("day_{number}");
        here.script
            .push(Reply::tool_calls([(id.as_str(), tool, input)]));
    }
    here.script.push(Reply::text("all of it is done"));
    let home = here.service.home.path();
    let mut screen = Screen::start(home, &["attach", "-c", &here.id, "--name", "ben"], &[]);
    screen.shows("mode: ask").await;
    screen.resize(80, 24);
    screen.shows("? help · mode ask").await;
    screen.keys("work\r");
    let mut keys = answer(&mut screen, "bash(grep *; tail *)", "Ac").await;
    keys += answer(&mut screen, "ls src && head -1", "a").await;
    keys += answer(&mut screen, "src/lib.rs +1 -1", "a").await;
    keys += answer(&mut screen, "tests/one.rs +6", "a").await;
    // The rule of the first one covers the next tests.
    keys += answer(&mut screen, "cp src/lib.rs released", "a").await;
    super::ended(&screen, "all of it is done").await;
    assert!(keys <= 7, "{keys}");
    assert_eq!(here.read("released"), b"pub fn one() -> u32 {\n    1\n}\n");
    assert_eq!(here.read("tests/one.rs"), content.as_bytes());
    assert_eq!(here.standin.violations(), [""; 0]);
}
