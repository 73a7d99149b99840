//! Files as they are read, in TOML and in JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::workflow::manifest::{
    Budget, CheckTime, Exit, FailFast, Gates, GitMode, OnChange, Permissions, Program, Protect,
    QuestionPolicy, Regression, RunMode, VerifyWhere, WorkflowPolicy, WorkspaceSettings,
};

/// The example of the specification.
const EXAMPLE: &str = include_str!("../../../../specs/examples/workflow.toml");

/// The least that a file says.
const LEAST: &str = r#"
[workflow]
objective = "x"
[[feature]]
id = "a"
description = "y"
[[feature.check]]
cmd = ["t"]
"#;

fn toml(text: &str) -> Manifest {
    read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap()
}

/// The same file in JSON.
fn as_json(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

/// Spec: [FLOW-01]
#[test]
fn a_file_says_the_same_in_toml_and_in_json() {
    for text in [EXAMPLE, LEAST] {
        let in_json = as_json(text).to_string();
        let manifest = read(in_json.as_bytes(), FileFormat::Json, FeatureList::Needed);
        assert_eq!(manifest.unwrap(), toml(text));
    }
    assert_eq!(FileFormat::of_name("a/b.JSON"), FileFormat::Json);
    for name in ["a.toml", "a", "json", "a.json5"] {
        assert_eq!(FileFormat::of_name(name), FileFormat::Toml, "{name}");
    }
}

/// Spec: [FLOW-01]
#[test]
fn a_manifest_is_read_back_from_its_own_json() {
    for text in [EXAMPLE, LEAST] {
        let manifest = toml(text);
        let written = serde_json::to_string(&manifest).unwrap();
        let read: Manifest = serde_json::from_str(&written).unwrap();
        assert_eq!(read, manifest);
    }
}

/// Spec: [FLOW-02]
#[test]
fn what_a_file_leaves_out_has_its_default() {
    let mut manifest = toml(LEAST);
    let feature = manifest.features.remove(0);
    assert_eq!(
        (
            feature.required,
            feature.priority,
            feature.after.len(),
            feature.steps.len()
        ),
        (true, 0, 0, 0)
    );
    let check = &feature.checks[0];
    assert_eq!(
        (&*check.id, check.exit, check.when),
        ("a.1", Exit::Code(0), CheckTime::Always)
    );
    assert_eq!((check.red, check.flaky, check.hidden), (true, 0, false));
    let command = check.command.as_ref().unwrap();
    assert_eq!((command.time_limit_s, command.network), (300, false));
    assert_eq!(command.program, Program::Cmd(vec!["t".to_owned()]));
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(
        manifest,
        Manifest {
            objective: "x".to_owned(),
            mode: RunMode::Strict,
            workspace: WorkspaceSettings {
                git: GitMode::Worktree,
                branch: "harness/{name}".to_owned(),
                prepare: vec![],
                copy: vec![],
            },
            health: vec![],
            checks: vec![],
            features: vec![],
            protect: Protect {
                paths: texts(&["tests/**", ".harness/**", ".github/**"]),
                scripts: true,
                on_change: OnChange::Reject,
            },
            policy: WorkflowPolicy {
                max_turns_per_run: 3,
                max_features_per_run: 1,
                retry_budget: 2,
                fail_fast: FailFast {
                    health: true,
                    chat: false,
                    validation: false,
                },
                max_iterations: Some(50),
                regression: Regression::All,
            },
            budget: Budget {
                tokens: Some(10_000_000),
                cost_usd: None,
                active_s: Some(8 * 3600),
                attempt_s: 30 * 60,
            },
            permissions: Permissions {
                mode: "sandbox".to_owned(),
                asks: QuestionPolicy::Pause,
                allow: vec![],
                model: None,
            },
            verify: VerifyWhere::Fresh,
            gates: Gates {
                plan: true,
                accept: false,
            },
            schedule: None,
            notify: None,
        }
    );
}

/// Spec: [FLOW-02]
#[test]
fn the_example_says_what_it_says() {
    let manifest = toml(EXAMPLE);
    assert_eq!(manifest.mode, RunMode::Bounded);
    assert_eq!(manifest.policy.max_iterations, None);
    let [first, second] = &manifest.workspace.prepare[..] else {
        panic!("{manifest:?}");
    };
    assert_eq!((first.network, first.time_limit_s), (true, 600));
    assert!(matches!(&second.program, Program::Shell(line) if line.starts_with("cp ")));
    let suite = &manifest.checks[0];
    assert_eq!(
        (suite.exit, suite.keep.as_deref()),
        (Exit::Any, Some(r"^ok \d+ - (.+)$"))
    );
    let command = suite.command.as_ref().unwrap();
    assert_eq!(
        command.env,
        BTreeMap::from([("TZ".to_owned(), "UTC".to_owned())])
    );
    assert_eq!(command.time_limit_s, 270);
    assert_eq!(
        (manifest.checks[1].when, manifest.checks[1].red),
        (CheckTime::Final, false)
    );
    let ids = |checks: &[crate::workflow::manifest::Check]| -> Vec<String> {
        checks.iter().map(|check| check.id.clone()).collect()
    };
    let by_feature: Vec<Vec<String>> = manifest
        .features
        .iter()
        .map(|one| ids(&one.checks))
        .collect();
    assert_eq!(
        json!(by_feature),
        json!([["weekly.1"], ["exceptions-hidden", "looks-right"], []])
    );
    let [hidden, by_hand] = &manifest.features[1].checks[..] else {
        panic!("{manifest:?}");
    };
    assert_eq!(
        (hidden.hidden, hidden.flaky, hidden.files.len()),
        (true, 2, 1)
    );
    assert_eq!((&by_hand.command, by_hand.red), (&None, false));
    assert_eq!(manifest.budget.cost_usd, Some(12.5));
    assert!(manifest.gates.accept);
}

/// Spec: [FLOW-02]
#[test]
fn what_may_be_without_a_bound_says_so() {
    let text = format!(
        "{LEAST}\n[budget]\ntokens = \"unlimited\"\nactive = \"unlimited\"\ncost_usd = 3\n\
         [policy]\nmax_iterations = \"unlimited\"\n"
    );
    let manifest = toml(&text);
    assert_eq!(
        (
            manifest.budget.tokens,
            manifest.budget.active_s,
            manifest.policy.max_iterations
        ),
        (None, None, None)
    );
    assert_eq!(manifest.budget.cost_usd, Some(3.0));
}

/// Spec: [FLOW-06]
#[test]
fn a_list_of_features_may_be_left_out_where_somebody_makes_it_later() {
    let none = "[workflow]\nobjective = \"x\"\n";
    let read = |text: &str, list| read(text.as_bytes(), FileFormat::Toml, list);
    assert!(
        read(none, FeatureList::MayBeLeftOut)
            .unwrap()
            .features
            .is_empty()
    );
    let needed = read(none, FeatureList::Needed).unwrap_err();
    assert_eq!((&*needed[0].place, needed.len()), ("feature", 1));
    let empty = format!("feature = []\n{none}");
    let refused = read(&empty, FeatureList::MayBeLeftOut).unwrap_err();
    assert_eq!(
        (&*refused[0].place, refused[0].line, refused.len()),
        ("feature", Some(1), 1)
    );
}

/// Spec: [FLOW-08]
#[test]
fn a_file_is_named_by_its_bytes() {
    assert_eq!(
        hash(b"abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_ne!(
        hash(LEAST.as_bytes()),
        hash(format!("{LEAST}\n").as_bytes())
    );
}

/// Spec: [FLOW-07]
#[test]
fn the_modes_are_those_of_a_conversation() {
    use harness_protocol::ApprovalMode::{Ask, Edits, Locked, Plan, Sandbox};
    for mode in [Plan, Ask, Edits, Sandbox, Locked] {
        let text = format!("{LEAST}\n[permissions]\nmode = {}\n", json!(mode));
        assert_eq!(json!(toml(&text).permissions.mode), json!(mode));
    }
}
