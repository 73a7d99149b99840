//! The answers of the tools to wrong input.

use std::path::PathBuf;

use serde_json::json;

use super::super::testing::{At, Folder, call};
use super::super::{Grep, ListDir, Read};
use super::*;

async fn error(tool: &str, input: Value) -> String {
    let workspace = PathBuf::from("/");
    let result = match tool {
        "read" => call(&At(Read, workspace), input).await,
        "list_dir" => call(&At(ListDir, workspace), input).await,
        "grep" => call(&At(Grep, workspace), input).await,
        other => panic!("no tool {other}"),
    };
    result.unwrap_err()
}

/// Spec: [TOOL-04]
#[tokio::test]
async fn wrong_input_is_refused_with_the_name_of_the_field() {
    let path_type = "path must be of the type string";
    let line_type = "start_line must be of the type integer";
    let read_fields = "expected one of `path`, `start_line`, `end_line`";
    for (tool, input, reason) in [
        ("read", json!({}), "missing field `path`"),
        ("read", json!({"start_line": 1}), "missing field `path`"),
        ("read", json!({"path": 5}), path_type),
        ("read", json!({"path": null}), path_type),
        ("read", json!({"path": ["a"]}), path_type),
        ("read", json!({"path": "a", "start_line": "1"}), line_type),
        ("read", json!({"path": "a", "start_line": 1.5}), line_type),
        ("read", json!({"path": "a", "start_line": true}), line_type),
        (
            "read",
            json!({"path": "a", "start_line": u64::MAX}),
            line_type,
        ),
        (
            "read",
            json!({"path": "a", "end_line": {}}),
            "end_line must be of the type integer",
        ),
        (
            "read",
            json!({"path": "a", "lines": 1}),
            &format!("unknown field `lines`, {read_fields}"),
        ),
        ("list_dir", json!({}), "missing field `path`"),
        ("list_dir", json!({"path": false}), path_type),
        (
            "list_dir",
            json!({"path": "a", "all": true}),
            "unknown field `all`, expected `path`",
        ),
        ("grep", json!({"path": "a"}), "missing field `pattern`"),
        ("grep", json!({"pattern": "a"}), "missing field `path`"),
        (
            "grep",
            json!({"pattern": 1, "path": "a"}),
            "pattern must be of the type string",
        ),
        (
            "grep",
            json!({"pattern": "a", "path": "a", "recursive": "yes"}),
            "recursive must be of the type boolean",
        ),
        (
            "grep",
            json!({"pattern": "a", "path": "a", "glob": "*"}),
            "unknown field `glob`, expected one of `pattern`, `path`, `recursive`",
        ),
    ] {
        let expected = format!("invalid input: {reason}");
        assert_eq!(error(tool, input.clone()).await, expected, "{tool} {input}");
    }
}

/// Spec: [TOOL-04]
#[tokio::test]
async fn an_optional_field_may_be_null() {
    let folder = Folder::new();
    folder.file("a", "x\n");
    let read = At(Read, folder.path().into());
    let input = json!({"path": "a", "start_line": null, "end_line": null});
    assert_eq!(call(&read, input).await, Ok(json!({"content": "x\n"})));
    let grep = At(Grep, folder.path().into());
    let input = json!({"pattern": "x", "path": "a", "recursive": null});
    assert_eq!(call(&grep, input).await, Ok(json!({"matches": "1:x"})));
}

/// Spec: [TOOL-04]
#[tokio::test]
async fn a_large_value_is_not_repeated() {
    let mut deep = json!([]);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    for value in [json!(vec![1; 500_000]), deep] {
        let said = error("read", json!({"path": value})).await;
        assert_eq!(said, "invalid input: path must be of the type string");
    }
}

/// Spec: [TOOL-05]
#[tokio::test]
async fn nothing_and_nul_are_no_path_and_no_pattern() {
    let nul = |field| format!("invalid input: {field} holds a NUL character");
    for (tool, input, expected) in [
        ("read", json!({"path": ""}), "path is required"),
        ("list_dir", json!({"path": ""}), "path is required"),
        (
            "grep",
            json!({"pattern": "a", "path": ""}),
            "path is required",
        ),
        (
            "grep",
            json!({"pattern": "", "path": ""}),
            "pattern is required",
        ),
        ("read", json!({"path": "a\0b"}), &nul("path")),
        ("list_dir", json!({"path": "\0"}), &nul("path")),
        ("grep", json!({"pattern": "a", "path": "\0"}), &nul("path")),
        (
            "grep",
            json!({"pattern": "a\0", "path": "a"}),
            &nul("pattern"),
        ),
    ] {
        assert_eq!(error(tool, input.clone()).await, expected, "{tool} {input}");
    }
}
