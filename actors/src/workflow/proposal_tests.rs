//! The changes that changed files make.

use super::*;
use crate::workflow::file::{FeatureList, FileFormat, read};

const OLD: &str = r#"
[workflow]
objective = "o"
[[check]]
id = "suite"
cmd = ["t"]
[[feature]]
id = "a"
description = "d"
steps = ["s"]
[[feature.check]]
cmd = ["t", "a"]
must_match = "x"
[[feature]]
id = "b"
description = "e"
steps = ["s"]
"#;

fn manifest(text: &str) -> Manifest {
    read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap()
}

fn changes(edit: &[(&str, &str)]) -> Vec<ProposedChange> {
    let new = edit.iter().fold(OLD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    manifest_diff(&manifest(OLD), &manifest(&new))
}

fn lines(edit: &[(&str, &str)]) -> Vec<String> {
    changes(edit).iter().map(ToString::to_string).collect()
}

/// Spec: [FLOW-10]
#[test]
fn the_same_file_changes_nothing_and_neither_does_its_layout() {
    assert_eq!(lines(&[]), [""; 0]);
    assert_eq!(
        lines(&[("objective", "# more\n\nmode = 'strict'\nobjective")]),
        [""; 0]
    );
}

/// Spec: [FLOW-10]
#[test]
fn each_change_is_told_on_one_line() {
    for (from, to, line) in [
        (
            "\"e\"",
            "\"f\\ng\"",
            r#"feature b: description "e" -> "f\ng""#,
        ),
        (
            "\"e\"",
            "\"e\"\nafter = [\"a\"]",
            r#"feature b: after [] -> ["a"]"#,
        ),
        (
            "\"e\"",
            "\"e\"\nrequired = false",
            "feature b: required true -> false",
        ),
        ("\"o\"", "\"p\"", r#"workflow: objective "o" -> "p""#),
        (
            "\"o\"",
            "\"o\"\nmode = \"bounded\"",
            r#"workflow: mode "strict" -> "bounded""#,
        ),
        (
            "[[check]]",
            "[budget]\ncost_usd = 2.5\n[[check]]",
            "budget: cost_usd none -> 2.5",
        ),
        (
            "[[check]]",
            "[budget]\ntokens = \"unlimited\"\n[[check]]",
            "budget: tokens 10000000 -> none",
        ),
        (
            "[[check]]",
            "[gates]\nplan = false\n[[check]]",
            "gates: plan true -> false",
        ),
        (
            "[[check]]",
            "[verify]\nwhere = \"in_place\"\n[[check]]",
            r#"verify: where "fresh" -> "in_place""#,
        ),
        (
            "[[check]]",
            "[workspace]\ncopy = [\"c\"]\n[[check]]",
            r#"workspace: copy [] -> ["c"]"#,
        ),
        (
            "[\"t\"]",
            "[\"true\"]",
            r#"check: check suite: cmd ["t"] -> ["true"]"#,
        ),
        (
            "[\"t\"]",
            "[\"t\"]\nnetwork = true",
            "check: check suite: network none -> true",
        ),
        (
            "[[check]]",
            "[[health]]\nid = \"h\"\nshell = \"x\"\n[[check]]",
            r#"health: check h is new: shell "x""#,
        ),
        (
            "[[check]]\nid = \"suite\"\ncmd = [\"t\"]",
            "",
            "check: check suite is removed",
        ),
        (
            "[[feature]]\nid = \"b\"",
            "[[feature]]\nid = \"c\"\ndescription = \"new\"\nsteps = [\"s\"]\n[[feature]]\nid = \"b\"",
            r#"feature c is new: "new""#,
        ),
    ] {
        assert_eq!(lines(&[(from, to)]), [line], "{to}");
    }
}

/// Spec: [FLOW-10]
#[test]
fn a_changed_check_sets_its_feature_back_and_nothing_else_does() {
    for (from, to, line) in [
        (
            "[\"t\", \"a\"]",
            "[\"true\"]",
            r#"check a.1: cmd ["t","a"] -> ["true"]"#,
        ),
        ("\"x\"", "\"y\"", r#"check a.1: must_match "x" -> "y""#),
        (
            "must_match = \"x\"",
            "must_match = \"x\"\nhidden = true",
            "check a.1: hidden false -> true",
        ),
        (
            "must_match = \"x\"",
            "must_match = \"x\"\n[[feature.check]]\nmanual = true",
            "check a.2 is new: a person makes it",
        ),
        (
            "[[feature.check]]\ncmd = [\"t\", \"a\"]\nmust_match = \"x\"",
            "",
            "check a.1 is removed",
        ),
    ] {
        let found = changes(&[(from, to)]);
        assert_eq!(
            (found.len(), found[0].fails_again(), &*found[0].line),
            (
                1,
                Some("a"),
                &*format!("feature a: {line}; it fails until it is accepted again")
            )
        );
    }
    for edit in [
        ("\"d\"", "\"D\""),
        ("\"o\"", "\"p\""),
        ("[\"t\"]", "[\"u\"]"),
    ] {
        let found = changes(&[edit]);
        assert_eq!((found.len(), found[0].fails_again()), (1, None));
    }
}

/// Spec: [FLOW-10]
#[test]
fn a_removal_and_another_order_are_told() {
    let found = changes(&[("id = \"b\"", "id = \"c\"")]);
    let told: Vec<(&str, bool)> = found
        .iter()
        .map(|change| (&*change.line, change.removes()))
        .collect();
    assert_eq!(
        told,
        [
            ("feature c is new: \"e\"", false),
            ("feature b is removed", true)
        ]
    );
    let (head, features) = OLD.split_once("[[feature]]\nid = \"a\"").unwrap();
    let (first, second) = features.split_once("[[feature]]\nid = \"b\"").unwrap();
    let turned = format!("{head}[[feature]]\nid = \"b\"{second}[[feature]]\nid = \"a\"{first}");
    let found = manifest_diff(&manifest(OLD), &manifest(&turned));
    assert_eq!(
        (&*found[0].line, found.len()),
        ("feature: the order is b, a", 1)
    );
}
