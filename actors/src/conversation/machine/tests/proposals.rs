//! Changes that a command made at protected places: each is kept or taken back, and the call has one result.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use harness_protocol::{
    AnswerOrder, ChangeAction, FileChange, FilePlace, HeldRule, PathKind, RuleAction, Scope,
    Subject, Verdict, Withdrawal,
};
use serde_json::json;

use super::talk::Talk;
use super::*;
use crate::conversation::messages::{AnswerApproval, AnswerError, ChangeConversationRules};
use crate::tool::{digest, tools};

const AGENTS: &str = "/work/AGENTS.md";
const SETTINGS: &str = "/work/.vscode/settings.json";

fn change(path: &str) -> FileChange {
    FileChange {
        asked: None,
        path: path.to_owned(),
        action: ChangeAction::Changed,
        before: Some("old".to_owned()),
        after: Some("new".to_owned()),
        by_command: true,
        mode: None,
        mode_after: None,
        kind: PathKind::Regular,
        kind_before: None,
        added: 1,
        removed: 1,
        diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        diff_cut: false,
        place: FilePlace::Protected,
        folders: vec![],
        notes: Vec::new(),
    }
}

fn planner() -> Planner {
    Planner {
        tools: tools(&[("read", false, false), ("bash", true, true)]).into(),
        folder: std::path::Path::new("/work").into(),
        ..super::testing::planner(10)
    }
}

/// The outcome of a command that changed these files, which were taken back.
fn returned(paths: &[&str]) -> ToolOutcome {
    ToolOutcome {
        proposals: paths.iter().map(|path| change(path)).collect(),
        ..ToolOutcome::from(Ok("[exit 0]".to_owned()))
    }
}

/// A talk whose command has changed both files, and another call behind it.
fn asked() -> Talk {
    let mut talk = Talk::of(planner());
    talk.prompt("hi");
    assert_eq!(talk.ask_for(&["a:bash", "b:read"]), ["replied", "run a"]);
    let next = talk.tool(0, returned(&[AGENTS, SETTINGS]));
    assert_eq!(next, ["returned a", "asked 1"]);
    talk
}

fn answer(talk: &mut Talk, id: u64, order: AnswerOrder) -> Result<Vec<String>, AnswerError> {
    talk.obey(AnswerApproval { id, order })
}

fn order(answer: Verdict, path: &str) -> AnswerOrder {
    AnswerOrder {
        answer,
        digest: Some(digest(&Subject::Change(change(path)))),
        scope: Scope::Once,
        message: None,
        stop: false,
        by: None,
        key: None,
    }
}

fn allow(talk: &mut Talk, id: u64, path: &str) -> Vec<String> {
    answer(talk, id, order(Verdict::Allow, path)).unwrap()
}

fn deny(talk: &mut Talk, id: u64, path: &str) -> Vec<String> {
    answer(talk, id, order(Verdict::Deny, path)).unwrap()
}

fn made(talk: &mut Talk, path: &str) -> Vec<String> {
    talk.changed(change(path))
}

/// The result of the call, line by line.
fn result(talk: &Talk) -> Vec<String> {
    let is_result = |record: &Record| match record {
        Record::ToolResult { id, result, .. } if id == "a" => Some(result.clone()),
        _ => None,
    };
    let result = talk.records.iter().find_map(is_result).unwrap();
    result.lines().map(str::to_owned).collect()
}

/// Spec: [APPR-600] [APPR-601]
#[test]
fn each_file_is_asked_about_and_the_result_says_what_was_decided() {
    let mut talk = asked();
    let open = talk.machine.ledger().open_approval().unwrap();
    assert_eq!((&*open.call, &*open.tool), ("a", "bash"));
    assert_eq!(open.subject, Subject::Change(change(AGENTS)));
    assert_eq!((&*open.scopes, open.rule), (&[Scope::Once][..], None));
    let kept = allow(&mut talk, 1, AGENTS);
    assert_eq!(
        kept,
        ["allowed 1", "began a", &format!("keep {AGENTS}")],
        "the tool does not run again"
    );
    let next = made(&mut talk, AGENTS);
    assert_eq!(
        next,
        ["changed by a", &format!("decided {AGENTS}"), "asked 2"]
    );
    let said = AnswerOrder {
        message: Some("not there".to_owned()),
        ..order(Verdict::Deny, SETTINGS)
    };
    let next = answer(&mut talk, 2, said).unwrap();
    let decided = format!("decided {SETTINGS}");
    assert_eq!(next, ["denied 2", &decided, "result of a", "run b"]);
    assert_eq!(
        result(&talk),
        [
            "[exit 0]".to_owned(),
            format!("[{AGENTS} is protected; an operator kept the command's version]"),
            format!(
                "[{SETTINGS} is protected; the command's version was taken back: an operator \
                 denied it: not there]"
            ),
        ]
    );
    assert_eq!(talk.ok(0, "x")[0], "result of b");
}

/// Spec: [APPR-601]
#[test]
fn a_file_that_changed_meanwhile_stays_and_the_next_is_asked_about() {
    let mut talk = asked();
    allow(&mut talk, 1, AGENTS);
    let next = talk.tool(0, ToolOutcome::failed("the file was changed meanwhile"));
    assert_eq!(next, [&*format!("decided {AGENTS}"), "asked 2"]);
    deny(&mut talk, 2, SETTINGS);
    assert!(result(&talk)[1].ends_with("taken back: the file was changed meanwhile]"));
}

/// Spec: [APPR-601]
#[test]
fn a_cancel_and_a_missing_answer_leave_all_taken_back() {
    let mut talk = asked();
    let next = talk.handle(Input::ApprovalExpired(1));
    let decided = |path: &str| format!("decided {path}");
    assert_eq!(next, ["withdrawn approval 1", &decided(AGENTS), "asked 2"]);
    assert_eq!(
        talk.cancel(),
        [
            "withdrawn approval 2",
            &decided(SETTINGS),
            "result of a",
            "skipped",
            "turn ended",
            "run ended",
            "idle cancelled",
            "end 1",
        ]
    );
    assert!(result(&talk)[1].ends_with("taken back: no operator answered in time]"));
    assert!(result(&talk)[2].ends_with("taken back: cancelled by user]"));
    // A cancel while a change is made: the result names the change, and nothing more is asked.
    let mut talk = asked();
    allow(&mut talk, 1, AGENTS);
    assert_eq!(talk.cancel(), ["cancel tool"]);
    let end = made(&mut talk, AGENTS);
    assert_eq!(
        end[..4],
        [
            "changed by a".to_owned(),
            decided(AGENTS),
            decided(SETTINGS),
            "result of a".to_owned()
        ]
    );
    assert!(result(&talk)[1].ends_with("kept the command's version]"));
    let gone = answer(&mut talk, 2, order(Verdict::Deny, SETTINGS)).unwrap_err();
    assert_eq!(gone, AnswerError::Unknown { id: 2 });
}

/// Spec: [APPR-602]
#[test]
fn rules_and_modes_that_deny_a_change_by_tools_deny_one_by_a_command() {
    let mut talk = asked();
    let denied = |rule: &str| HeldRule {
        action: RuleAction::Deny,
        rule: rule.to_owned(),
        scope: Scope::Conversation,
        workspace: None,
        by: None,
    };
    let rules = ChangeConversationRules {
        add: vec![denied("edit(AGENTS.md)"), denied("write(.vscode/**)")],
        remove: Vec::new(),
        by: None,
    };
    let next = talk.obey(rules).unwrap();
    assert_eq!(
        next[..4],
        [
            "rules +2 -0",
            "withdrawn approval 1",
            &format!("decided {AGENTS}"),
            &format!("decided {SETTINGS}")
        ]
    );
    let withdrawn = talk.machine.ledger().approvals().end_of(1);
    assert_eq!(
        withdrawn,
        Some(&crate::conversation::past::ApprovalEnd::Withdrawn(
            Withdrawal::Decided
        ))
    );
    for (mode, asks) in [
        ("ask", true),
        ("edits", true),
        ("sandbox", true),
        ("locked", false),
        ("plan", false),
    ] {
        let mut talk = Talk::of(planner());
        talk.change(&json!({"mode": mode})).unwrap();
        talk.prompt("hi");
        talk.ask_for(&["a:bash"]);
        let next = talk.tool(0, returned(&[AGENTS]));
        assert_eq!(next[1] == "asked 1", asks, "{mode} {next:?}");
        if !asks {
            assert!(
                result(&talk)[1].contains(&format!("the mode is {mode}")),
                "{mode}"
            );
        }
    }
}

/// Spec: [APPR-603]
#[test]
fn a_crash_behind_every_record_applies_nothing_twice_and_loses_no_decision() {
    let mut talk = asked();
    allow(&mut talk, 1, AGENTS);
    made(&mut talk, AGENTS);
    deny(&mut talk, 2, SETTINGS);
    let records = talk.records.clone();
    let is_first = |record: &Record| matches!(record, Record::ToolReturned { .. });
    let is_last = |record: &Record| matches!(record, Record::ToolResult { .. });
    let first = records.iter().position(is_first).unwrap();
    let last = records.iter().position(is_last).unwrap();
    let mut found = Vec::new();
    for end in first..=last {
        let mut talk = Talk::revived(planner(), records[..=end].to_vec());
        let goes_on = talk.revive();
        if let Some(open) = talk.machine.ledger().open_approval() {
            assert!(talk.machine.waits_for_approval());
            found.push(format!("waits {}", open.id));
            let path = [AGENTS, SETTINGS][usize::try_from(open.id).unwrap() - 1];
            deny(&mut talk, open.id, path);
        } else if goes_on.is_empty() {
            // Interrupted: the next prompt ends it.
            talk.prompt("next");
            found.push("interrupted".to_owned());
        } else {
            assert_eq!(goes_on, ["began a", &format!("keep {AGENTS}")]);
            found.push("goes on".to_owned());
            made(&mut talk, AGENTS);
        }
        while let Some(open) = talk.machine.ledger().open_approval() {
            deny(&mut talk, open.id, SETTINGS);
        }
        let text = result(&talk).join("\n");
        let is_made = |record: &&Record| matches!(record, Record::FilesChanged { .. });
        let times = talk.records.iter().filter(is_made).count();
        assert_eq!(text.matches(AGENTS).count(), 1, "{text}");
        assert_eq!(text.matches(SETTINGS).count(), 1, "{text}");
        assert_eq!(text.contains("an operator kept"), times == 1, "{text}");
        assert!(times <= 1, "{text}");
    }
    assert_eq!(
        found,
        [
            "interrupted", // Behind the return.
            "interrupted", // The status of the first question.
            "waits 1",
            "goes on",     // It was allowed.
            "goes on",     // The status of the change.
            "interrupted", // It had begun: the file tells.
            "interrupted", // It was made.
            "interrupted", // It was decided.
            "interrupted", // The status of the second question.
            "waits 2",
            "interrupted", // It was denied.
            "interrupted", // It was decided.
            "interrupted", // The result.
        ]
    );
}

/// Spec: [APPR-603]
#[test]
fn a_change_that_was_begun_is_told_by_its_file() {
    let mut talk = asked();
    allow(&mut talk, 1, AGENTS);
    for (happened, told, changes) in [
        (Some(true), "an operator kept the command's version", 1),
        (
            Some(false),
            "taken back: interrupted: /work/AGENTS.md was not changed",
            0,
        ),
        (None, "taken back: interrupted, effect unknown", 0),
    ] {
        let mut ledger = Ledger::default();
        talk.records.iter().for_each(|record| ledger.apply(record));
        ledger.note_happened(happened);
        let closing = ledger.closing();
        let made = |record: &&Record| matches!(record, Record::FilesChanged { .. });
        assert_eq!(closing.iter().filter(made).count(), changes, "{told}");
        let result = closing.iter().find_map(|record| match record {
            Record::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        });
        let result = result.unwrap();
        assert!(result.contains(told), "{result}");
        assert!(
            result.ends_with("taken back: interrupted before an operator decided]"),
            "{result}"
        );
    }
}
