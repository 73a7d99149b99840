use serde_json::json;

use super::*;

fn told(name: &str, input: Value) -> String {
    let Value::Object(input) = input else {
        panic!("{input}")
    };
    call(name, &input)
}

/// Spec: [VIEW-260]
#[test]
fn a_call_reads_as_a_person_would_say_it() {
    for (name, input, words) in [
        ("read", json!({"path": "src/main.rs"}), "read src/main.rs"),
        (
            "read",
            json!({"path": "a b", "start_line": 80, "end_line": 120}),
            "read a b lines 80 to 120",
        ),
        (
            "read",
            json!({"path": "a", "start_line": 80}),
            "read a from line 80",
        ),
        (
            "read",
            json!({"path": "a", "end_line": 9}),
            "read a to line 9",
        ),
        (
            "read",
            json!({"path": "a", "start_line": 8, "end_line": 8}),
            "read a line 8",
        ),
        (
            "grep",
            json!({"pattern": "sleep( ", "path": "src", "recursive": true}),
            "grep \"sleep( \" src",
        ),
        ("list_dir", json!({"path": "src"}), "list_dir src"),
        (
            "edit",
            json!({"path": "a.rs", "old_string": "x", "new_string": "y"}),
            "edit a.rs",
        ),
        (
            "write",
            json!({"path": "a.rs", "content": "x"}),
            "write a.rs",
        ),
        ("bash", json!({"command": "cargo test"}), "bash cargo test"),
        (
            "bash",
            json!({"command": "make", "background": true, "workdir": "b", "timeout_s": 5}),
            "bash make (in b, in the background)",
        ),
        ("job", json!({"id": 3}), "job 3 output"),
        ("job", json!({"id": 3, "action": "stop"}), "job 3 stop"),
    ] {
        assert_eq!(told(name, input), words);
    }
}

/// Spec: [VIEW-260]
#[test]
fn nothing_of_an_input_is_hidden_that_is_not_known() {
    for (name, input, words) in [
        ("search", json!({"q": "a\nb"}), r#"search {"q":"a\nb"}"#),
        ("search", json!({}), "search"),
        ("read", json!({}), "read"),
        ("read", json!({"path": 7}), r#"read {"path":7}"#),
        (
            "read",
            json!({"path": "a", "as": "root"}),
            r#"read {"as":"root","path":"a"}"#,
        ),
        ("bash", json!({"run": "x"}), r#"bash {"run":"x"}"#),
    ] {
        let said = told(name, input);
        // The order of the keys is that of the map.
        assert_eq!(said.len(), words.len(), "{said}");
        assert!(said.starts_with(name), "{said}");
    }
}

/// Spec: [VIEW-261]
#[test]
fn the_end_of_a_call_says_how_much_came_and_how_long_it_took() {
    let none = Extent::default;
    let lines = |lines, of_lines, more| Extent {
        lines: Some(lines),
        of_lines,
        more,
        ..none()
    };
    let hits = |hits, files, more| Extent {
        hits: Some(hits),
        files,
        more,
        ..none()
    };
    for (extent, words) in [
        (
            Some(lines(4_406, Some(10_000), false)),
            "4,406 of 10,000 lines",
        ),
        (Some(lines(4_406, None, true)), "4,406 of more lines"),
        (Some(lines(1, Some(1), false)), "1 line"),
        (Some(hits(212, Some(9), false)), "212 hits in 9 files"),
        (Some(hits(1, Some(1), true)), "1 hit in 1 file, and more"),
        (Some(hits(0, Some(0), false)), "0 hits"),
        (Some(hits(3, None, false)), "3 hits"),
        (
            Some(Extent {
                entries: Some(31),
                ..none()
            }),
            "31 entries",
        ),
        (
            Some(Extent {
                added: Some(3),
                removed: Some(1),
                ..none()
            }),
            "+3 −1",
        ),
        (Some(none()), "2 lines"),
        (None, "2 lines"),
    ] {
        let mut end = CallEnd {
            name: "read",
            result: "a\nb",
            lines: 2,
            is_error: false,
            extent: extent.as_ref(),
            duration_ms: None,
        };
        assert_eq!(call_end(&end), words);
        end.duration_ms = Some(12);
        assert_eq!(call_end(&end), format!("{words} · 12 ms"));
    }
}

/// Spec: [VIEW-261]
#[test]
fn errors_are_told_by_their_first_line_and_commands_by_how_they_ended() {
    for (name, result, is_error, duration_ms, words) in [
        (
            "read",
            "\nfile not found\nx",
            true,
            None,
            "error: file not found",
        ),
        ("read", "", true, None, "error: no reason was given"),
        ("read", r#"{"error":"no\nx"}"#, true, None, "error: no"),
        (
            "read",
            "cancelled by user",
            true,
            Some(40),
            "cancelled · 40 ms",
        ),
        ("bash", "cancelled by user", true, None, "cancelled"),
        (
            "edit",
            "not done: an operator denied it",
            true,
            None,
            "denied",
        ),
        (
            "edit",
            "not done: an operator denied it: not now",
            true,
            None,
            "denied: not now",
        ),
        (
            "bash",
            "out\n[exit 101 · 38.2 s]",
            true,
            Some(38_210),
            "exit 101 · 38 s",
        ),
        (
            "bash",
            "out\n[exit 0 · 1.2 s]",
            false,
            None,
            "exit 0 · 1.2 s",
        ),
        (
            "!",
            "[ended by SIGKILL · 1.2 s · now in src]\n",
            true,
            None,
            "ended by SIGKILL · 1.2 s",
        ),
        (
            "bash",
            "[job 1 started in the background]",
            false,
            Some(3),
            "job 1 started in the background · 3 ms",
        ),
        ("bash", "spawn failed", true, None, "error: spawn failed"),
        ("read", "[exit 0 · 1.2 s]", false, None, "1 line"),
    ] {
        let end = CallEnd {
            name,
            result,
            lines: result.lines().count(),
            is_error,
            extent: None,
            duration_ms,
        };
        assert_eq!(call_end(&end), words);
    }
}
