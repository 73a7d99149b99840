//! Approvals: asked once, answered once, and gone on with after the service.

use harness_protocol::{
    Access, AnswerOrder, Answered, Backend, ChangeAction, FileChange, FilePlace, McpCall, PathKind,
    Scope, Subject, Verdict, Withdrawal,
};
use serde_json::json;

use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::conversation::messages::{AnswerApproval, AnswerError, SubmitError};
use crate::tool::{digest, tools};

fn change(path: &str, after: &str) -> FileChange {
    FileChange {
        asked: None,
        path: path.to_owned(),
        action: ChangeAction::Changed,
        before: Some("old".to_owned()),
        after: Some(after.to_owned()),
        by_command: false,
        mode: None,
        mode_after: None,
        kind: PathKind::Regular,
        kind_before: None,
        added: 1,
        removed: 1,
        diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        diff_cut: false,
        place: FilePlace::Workspace,
        folders: vec![],
        notes: Vec::new(),
    }
}

fn planner() -> Planner {
    Planner {
        tools: tools(&[("read", false, false), ("edit", true, true)]).into(),
        folder: std::path::Path::new("/work").into(),
        ..super::testing::planner(10)
    }
}

/// A talk whose model asked for an edit that has been planned.
fn asked() -> Talk {
    let mut talk = Talk::of(planner());
    talk.prompt("hi");
    assert_eq!(talk.ask_for(&["a:edit", "b:edit"]), ["replied", "run a"]);
    assert_eq!(talk.planned(change("/work/f", "new")), ["asked 1"]);
    talk
}

fn order(answer: Verdict, change: &FileChange) -> AnswerOrder {
    AnswerOrder {
        answer,
        digest: Some(digest(&Subject::Change(change.clone()))),
        scope: Scope::Once,
        message: None,
        stop: false,
        by: Some("ann".to_owned()),
        key: None,
    }
}

fn answer(talk: &mut Talk, id: u64, order: AnswerOrder) -> Result<Vec<String>, AnswerError> {
    talk.obey(AnswerApproval { id, order })
}

fn allow(talk: &mut Talk, id: u64, after: &str) -> Result<Vec<String>, AnswerError> {
    answer(talk, id, order(Verdict::Allow, &change("/work/f", after)))
}

fn deny() -> AnswerOrder {
    order(Verdict::Deny, &change("/work/f", "new"))
}

/// Spec: [APPR-01] [APPR-02]
#[test]
fn what_is_allowed_begins_on_record_and_what_was_changed_is_told() {
    let mut talk = asked();
    let open = talk.machine.ledger().open_approval().unwrap();
    assert_eq!(
        (open.id, open.run_id, &*open.call, &*open.tool),
        (1, 1, "a", "edit")
    );
    assert_eq!(open.rule.as_deref(), Some("edit(f)"));
    assert_eq!(
        allow(&mut talk, 1, "new").unwrap(),
        ["allowed 1", "began a", "run a"]
    );
    let Some(Effect::RunTool(_, _, allowed)) = talk.last.last() else {
        panic!("{:?}", talk.last);
    };
    assert_eq!(
        *allowed,
        Some(digest(&Subject::Change(change("/work/f", "new"))))
    );
    let done = talk.changed(change("/work/f", "new"));
    assert_eq!(done, ["changed by a", "result of a", "run b"]);
    assert_eq!(talk.machine.ledger().open_approval(), None);
}

/// Spec: [APPR-03]
#[test]
fn the_first_answer_counts() {
    let mut talk = asked();
    let other = answer(&mut talk, 2, deny()).unwrap_err();
    assert_eq!(other, AnswerError::Unknown { id: 2 });
    let old = order(Verdict::Allow, &change("/work/f", "other"));
    assert_eq!(
        answer(&mut talk, 1, old).unwrap_err(),
        AnswerError::OtherDigest { id: 1 }
    );
    let none = AnswerOrder {
        digest: None,
        ..order(Verdict::Allow, &change("/work/f", "new"))
    };
    assert_eq!(
        answer(&mut talk, 1, none).unwrap_err(),
        AnswerError::OtherDigest { id: 1 }
    );
    allow(&mut talk, 1, "new").unwrap();
    assert_eq!(
        allow(&mut talk, 1, "new").unwrap(),
        [""; 0],
        "the same again"
    );
    let (answered, _) = talk
        .machine
        .obey(AnswerApproval {
            id: 1,
            order: order(Verdict::Allow, &change("/work/f", "new")),
        })
        .unwrap();
    let by = Some("ann".to_owned());
    assert_eq!(
        answered,
        Answered {
            scope: Scope::Once,
            rule: None,
            id: 1,
            answer: Verdict::Allow,
            by: by.clone()
        }
    );
    let late = answer(&mut talk, 1, deny()).unwrap_err();
    assert_eq!(
        late,
        AnswerError::Answered {
            id: 1,
            answer: Verdict::Allow,
            by
        }
    );
}

/// Spec: [APPR-04]
#[test]
fn what_is_denied_is_an_error_with_the_operators_words() {
    let mut talk = asked();
    let said = AnswerOrder {
        message: Some("not there".to_owned()),
        ..deny()
    };
    let next = answer(&mut talk, 1, said).unwrap();
    assert_eq!(
        next,
        [
            "denied 1",
            "error of a",
            "skipped",
            "turn ended",
            "turn 2",
            "ask"
        ]
    );
    assert!(talk.last_message()[0].contains("an operator denied it: not there"));
    let mut talk = asked();
    let stop = AnswerOrder {
        stop: true,
        ..deny()
    };
    let end = answer(&mut talk, 1, stop).unwrap();
    assert_eq!(end.first().map(String::as_str), Some("denied 1"));
    assert!(
        end.contains(&"run ended".to_owned()) || talk.call.is_some(),
        "{end:?}"
    );
}

/// Spec: [APPR-05]
#[test]
fn a_cancel_withdraws_and_everything_else_waits() {
    let mut talk = asked();
    assert_eq!(talk.try_prompt(prompt("x")), Err(SubmitError::Busy));
    talk.steer("s");
    let end = talk.cancel();
    let expected = [
        "withdrawn approval 1",
        "error of a",
        "skipped",
        "turn ended",
        "run ended",
        "idle cancelled",
        "end 1",
    ];
    assert_eq!(end, expected);
    let gone = allow(&mut talk, 1, "new").unwrap_err();
    assert_eq!(
        gone,
        AnswerError::Withdrawn {
            id: 1,
            reason: Withdrawal::Cancelled
        }
    );
    assert_eq!(talk.waiting(), ["s"]);
}

/// Spec: [APPR-05] [APPR-08]
#[test]
fn a_stop_ends_nothing_that_waits_and_the_run_goes_on_after_it() {
    let mut talk = asked();
    assert_eq!(talk.handle(Input::StopRequested), [""; 0]);
    assert_eq!(
        allow(&mut talk, 1, "new").unwrap_err(),
        SubmitError::Stopping.into()
    );
    let mut talk = Talk::revived(planner(), talk.records.clone());
    assert_eq!(talk.revive(), [""; 0]);
    assert!(talk.machine.waits_for_approval());
    assert_eq!(talk.try_prompt(prompt("x")), Err(SubmitError::Busy));
    assert_eq!(
        allow(&mut talk, 1, "new").unwrap(),
        ["allowed 1", "began a", "run a"]
    );
    assert_eq!(
        talk.changed(change("/work/f", "new"))[..2],
        ["changed by a", "result of a"]
    );
}

/// Spec: [APPR-08]
#[test]
fn what_was_allowed_and_not_begun_begins_after_a_crash() {
    let mut talk = asked();
    allow(&mut talk, 1, "new").unwrap();
    let answered = |record: &Record| matches!(record, Record::ApprovalAnswered { .. });
    let at = talk.records.iter().position(answered).unwrap();
    let mut talk = Talk::revived(planner(), talk.records[..=at].to_vec());
    assert_eq!(talk.revive(), ["began a", "run a"]);
    // It was begun: what has happened is looked at, and the run is interrupted.
    let mut talk = Talk::revived(planner(), talk.records.clone());
    assert_eq!(talk.revive(), [""; 0]);
    assert!(!talk.machine.waits_for_approval());
}

/// Spec: [APPR-01]
#[test]
fn a_file_that_changed_meanwhile_is_asked_about_anew() {
    let mut talk = asked();
    allow(&mut talk, 1, "new").unwrap();
    assert_eq!(talk.planned(change("/work/f", "newer")), ["asked 2"]);
    assert_eq!(
        allow(&mut talk, 2, "newer").unwrap(),
        ["allowed 2", "began a", "run a"]
    );
}

/// Spec: [APPR-01] [APPR-815]
#[test]
fn a_call_of_a_server_is_allowed_by_its_digest_or_by_the_rule_of_an_answer() {
    let call = |tool: &str, input: &str| {
        Subject::McpCall(McpCall {
            server: "git".to_owned(),
            tool: tool.to_owned(),
            input: input.to_owned(),
            access: Access::Write,
            network: true,
            backend: Backend::Namespaces,
            contained: true,
            gaps: vec![],
        })
    };
    let mut talk = Talk::of(planner());
    talk.prompt("hi");
    talk.ask_for(&["a:edit", "b:edit", "c:edit"]);
    assert_eq!(talk.planned_action(call("log", "{}")), ["asked 1"]);
    let open = talk.machine.ledger().open_approval().unwrap();
    assert_eq!(open.rule.as_deref(), Some("mcp(git.log *)"));
    assert_eq!(open.digest, digest(&call("log", "{}")));
    let order = |subject: &Subject| AnswerOrder {
        digest: Some(digest(subject)),
        scope: Scope::Conversation,
        ..order(Verdict::Allow, &change("/work/f", "new"))
    };
    let other = answer(&mut talk, 1, order(&call("log", "{ }"))).unwrap_err();
    assert_eq!(other, AnswerError::OtherDigest { id: 1 });
    assert_eq!(
        answer(&mut talk, 1, order(&call("log", "{}"))).unwrap(),
        ["allowed 1", "began a", "run a"]
    );
    let Some(Effect::RunTool(_, _, allowed)) = talk.last.last() else {
        panic!("{:?}", talk.last);
    };
    assert_eq!(*allowed, Some(digest(&call("log", "{}"))));
    talk.ok(0, "done");
    // The rule covers any input of the tool, and no other tool.
    let next = talk.planned_action(call("log", "{\"n\": 1}"));
    assert_eq!(next, ["began b", "run b"]);
    talk.ok(0, "done");
    assert_eq!(talk.planned_action(call("push", "{}")), ["asked 2"]);
}

/// Spec: [APPR-06] [APPR-07]
#[test]
fn an_answer_that_reaches_further_is_a_rule_and_modes_decide_the_rest() {
    for (scope, lasts) in [(Scope::Run, false), (Scope::Conversation, true)] {
        let mut talk = asked();
        let further = AnswerOrder {
            scope,
            ..order(Verdict::Allow, &change("/work/f", "new"))
        };
        answer(&mut talk, 1, further).unwrap();
        talk.changed(change("/work/f", "new"));
        // The same file needs no answer any more, another does.
        assert_eq!(talk.planned(change("/work/f", "x")), ["began b", "run b"]);
        talk.changed(change("/work/f", "x"));
        talk.ask_for(&["c:edit"]);
        assert_eq!(talk.planned(change("/work/g", "x")), ["asked 2"]);
        talk.cancel();
        talk.prompt("again");
        talk.ask_for(&["d:edit"]);
        let next = talk.planned(change("/work/f", "y"));
        assert_eq!(next[0] == "began d", lasts, "{next:?}");
    }
    for (mode, place, decided) in [
        ("plan", FilePlace::Workspace, "error of a"),
        ("edits", FilePlace::Workspace, "began a"),
        ("edits", FilePlace::Protected, "asked 1"),
        ("edits", FilePlace::Outside, "asked 1"),
        ("sandbox", FilePlace::Workspace, "began a"),
        ("locked", FilePlace::Workspace, "error of a"),
        ("locked", FilePlace::Protected, "error of a"),
        ("ask", FilePlace::Outside, "asked 1"),
    ] {
        let mut talk = Talk::of(planner());
        talk.change(&json!({"mode": mode})).unwrap();
        talk.prompt("hi");
        talk.ask_for(&["a:edit"]);
        let planned = FileChange {
            place,
            ..change("/work/f", "new")
        };
        assert_eq!(talk.planned(planned)[0], decided, "{mode} {place:?}");
    }
}
