//! `harness workflow check` and `schema`: the file of a workflow, without a service.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::output;

/// The command in a folder that has neither a home nor a service.
fn workflow(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.current_dir(folder).env_clear().env("HOME", folder);
    output(command.arg("workflow").args(arguments))
}

fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/examples/workflow.toml");
    fs::read_to_string(path).unwrap()
}

/// Spec: [CLI-130] [FLOW-224]
#[test]
fn a_file_in_order_is_told_by_what_it_would_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.toml"), example()).unwrap();
    let (code, out, err) = workflow(folder.path(), &["check", "good.toml"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let (hash, said) = lines.split_last().unwrap();
    assert_eq!(
        said,
        [
            "good.toml is in order",
            "  objective    Entries of the calendar can repeat, and every view shows them",
            "  features     3, 2 required, at most 2 a run",
            "  checks       1 of the base, 2 of every candidate, 3 of features, 1 made by a person, \
             1 hidden from the model, 1 feature accepted by a person alone",
            "  workspace    git = \"worktree\", on the branch work/{name}",
            "  verify       where = \"fresh\"",
            "  network      prepare `npm ci`",
            "  protected    test/**, .harness/**, package.json",
            "  budget       4000000 tokens, 12.5 US dollars, 6h time of work, 45m an attempt, any iterations",
            "  permissions  mode sandbox, asks: deny, allowed: bash(npx node --test), edit(src/**)",
        ]
    );
    let (what, digits) = hash.trim().split_once("  ").unwrap();
    assert_eq!((what, digits.trim().len()), ("hash", 64));
    // Nothing was made.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let (code, out, _) = workflow(folder.path(), &["check", "good.toml", "--json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, out.lines().count()), (0, 1));
    assert_eq!(told["hash"], digits.trim());
    assert_eq!(told["problems"], Value::Array(vec![]));
    assert_eq!(told["manifest"]["features"][0]["id"], "weekly");
}

/// Spec: [CLI-130]
#[test]
fn all_that_is_wrong_with_a_file_is_told_each_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let bad = example()
        .replace(
            "objective = \"Entries of the calendar can repeat, and every view shows them\"",
            "objective = \"\"",
        )
        .replace("after = [\"weekly\"]", "after = [\"weekl\"]")
        .replace("mode = \"sandbox\"", "mode = \"fu\u{202e}ll\"");
    fs::write(folder.path().join("bad.toml"), &bad).unwrap();
    let line_of = |part: &str| 1 + bad.lines().position(|line| line.contains(part)).unwrap();
    let (code, out, err) = workflow(folder.path(), &["check", "bad.toml"]);
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        [
            format!(
                "bad.toml:{}: workflow.objective: is blank; write something",
                line_of("objective")
            ),
            format!(
                "bad.toml:{}: feature[1].after[0]: there is no feature \"weekl\"; did you mean \"weekly\"?",
                line_of("after")
            ),
            format!(
                "bad.toml:{}: permissions.mode: \"fu\\u{{202e}}ll\" is none of plan, ask, edits, sandbox, \
                 locked; a workflow never has full access",
                line_of("mode = \"fu")
            ),
        ]
    );
    assert_eq!((code, &*err), (1, "harness: bad.toml has 3 problems\n"));

    let (code, out, _) = workflow(folder.path(), &["check", "--json", "bad.toml"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["manifest"]), (1, &Value::Null));
    assert_eq!(told["problems"].as_array().unwrap().len(), 3);
    assert_eq!(told["problems"][0]["place"], "workflow.objective");
    assert_eq!(told["problems"][0]["line"], line_of("objective"));

    fs::write(
        folder.path().join("bad.json"),
        "{\"workflow\": {\"objective\": 1}}",
    )
    .unwrap();
    let (code, out, _) = workflow(folder.path(), &["check", "bad.json"]);
    assert_eq!(
        (code, &*out),
        (
            1,
            "bad.json: workflow.objective: has to be a text, and is a number\n\
             bad.json: feature: there is no feature; list at least one as [[feature]]\n"
        )
    );
}

/// Spec: [CLI-130]
#[test]
fn a_file_that_is_not_there_is_a_failure_and_none_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = workflow(folder.path(), &["check", "none.toml"]);
    assert_eq!((code, &*out, err.lines().count()), (1, "", 1));
    assert!(err.starts_with("harness: cannot read none.toml: "), "{err}");
    for wrong in [
        &["check"][..],
        &[],
        &["check", "a", "b"],
        &["chek", "a"],
        &["schema", "a"],
    ] {
        let (code, out, _) = workflow(folder.path(), wrong);
        assert_eq!((code, &*out), (2, ""), "{wrong:?}");
    }
}

/// Spec: [CLI-131]
#[test]
fn the_schema_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = workflow(folder.path(), &["schema"]);
    let schema: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(schema["required"], serde_json::json!(["workflow"]));
    assert!(schema["properties"]["feature"]["items"]["properties"]["steps"].is_object());
}
