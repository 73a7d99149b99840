//! The board of workflows: what its keys order, and what is made of what the link tells.

use std::time::Duration;

use harness_protocol::WorkflowSnapshot;
use serde_json::json;

use super::testing::*;
use super::*;
use crate::board::testing::*;
use crate::board::{BoardNews, BoardOrder, PauseAt, Shows, WorkflowOrder};
use crate::link::News;
use crate::terminal::{Key, KeyPress};

fn of_board(app: &mut App, news: BoardNews) -> Vec<AppEffect> {
    tell(app, News::Board(news))
}

fn order(order: BoardOrder) -> AppEffect {
    AppEffect::Order(ClientOrder::Board(order))
}

fn follow(workflow: &str) -> AppEffect {
    let workflow = workflow.to_owned();
    order(BoardOrder::Follow { workflow })
}

fn gives(effects: &[AppEffect], expected: WorkflowOrder) {
    let workflow = "w1".to_owned();
    let expected = BoardOrder::Give {
        workflow,
        order: expected,
    };
    assert_eq!(effects, [order(expected)]);
}

fn followed(snapshot: WorkflowSnapshot) -> BoardNews {
    BoardNews::Followed {
        snapshot: Box::new(snapshot),
        recent: Vec::new(),
    }
}

fn letter(app: &mut App, letter: char) -> Vec<AppEffect> {
    key(app, Key::Char(letter))
}

/// A board on which the workflow `w1` is followed.
fn board(snapshot: WorkflowSnapshot) -> App {
    let mut app = attached_in(Some(FOLDER), &[]);
    let opened = press(&mut app, KeyPress::plain(Key::Char('w')).alt());
    assert_eq!(opened, [order(BoardOrder::List)]);
    let listed = BoardNews::Listed(vec![snapshot.clone()]);
    assert_eq!(of_board(&mut app, listed), [follow("w1")]);
    assert_eq!(of_board(&mut app, followed(snapshot)), []);
    app
}

fn state(app: &App) -> &str {
    &app.board().unwrap().workflow().unwrap().state
}

fn refused(reason: &str, order: WorkflowOrder) -> BoardNews {
    BoardNews::NotGiven {
        workflow: "w1".to_owned(),
        order,
        reason: reason.to_owned(),
    }
}

fn given(snapshot: WorkflowSnapshot, order: WorkflowOrder) -> BoardNews {
    BoardNews::Given {
        snapshot: Box::new(snapshot),
        order,
    }
}

/// Spec: [TUI-240]
#[test]
fn the_workflows_of_this_folder_are_listed_first_and_one_is_followed_at_a_time() {
    let mut app = attached_in(Some(FOLDER), &[]);
    write(&mut app, "/workflows");
    let opened = key(&mut app, Key::Enter);
    assert!(opened.contains(&order(BoardOrder::List)), "{opened:?}");
    let mut other = workflow("w2", "paused");
    other.folder = "/srv/other".to_owned();
    let listed = BoardNews::Listed(vec![
        other,
        workflow("w1", "running"),
        workflow("w0", "ready"),
    ]);
    assert_eq!(of_board(&mut app, listed), [follow("w1")]);
    let ids = |app: &App| -> Vec<String> {
        let list = app.board().unwrap().list().unwrap();
        list.iter().map(|it| it.id.clone()).collect()
    };
    assert_eq!(ids(&app), ["w1", "w0", "w2"]);
    assert_eq!(key(&mut app, Key::Up), []);
    assert_eq!(key(&mut app, Key::Down), [follow("w0")]);
    // What was on its way of the one before is of no use any more.
    of_board(&mut app, followed(workflow("w1", "running")));
    assert!(app.board().unwrap().detail.is_none());
    of_board(&mut app, followed(workflow("w0", "ready")));
    assert!(app.board().unwrap().detail.is_some());
    // The list says the same as what is below it.
    of_board(
        &mut app,
        BoardNews::Looked(Box::new(workflow("w0", "running"))),
    );
    assert_eq!(app.board().unwrap().list().unwrap()[1].state, "running");
    assert_eq!(key(&mut app, Key::Escape), [order(BoardOrder::Leave)]);
    assert!(app.overlay.is_none());
}

/// Spec: [TUI-240]
#[test]
fn what_is_typed_on_the_board_is_for_no_prompt() {
    let mut app = attached_in(Some(FOLDER), &[]);
    write(&mut app, "draft");
    press(&mut app, KeyPress::plain(Key::Char('w')).alt());
    for letter in ['x', 'q', '/', 'y'] {
        assert_eq!(key(&mut app, Key::Char(letter)), []);
    }
    app.update(Msg::Paste("words".to_owned()), app.now);
    assert!(app.board().is_some());
    press(&mut app, KeyPress::plain(Key::Char('w')).alt());
    assert!(app.board().is_none());
    assert_eq!(app.composer.text(), "draft");
}

/// Spec: [TUI-243]
#[test]
fn keys_pause_and_resume_and_no_order_is_given_twice() {
    let mut app = board(working("w1"));
    gives(
        &letter(&mut app, 'p'),
        WorkflowOrder::Pause(PauseAt::IterationEnd),
    );
    assert_eq!(letter(&mut app, 'p'), []);
    gives(&letter(&mut app, 'P'), WorkflowOrder::Pause(PauseAt::Once));
    // It was taken, and is still to come.
    let pause = WorkflowOrder::Pause(PauseAt::IterationEnd);
    of_board(&mut app, given(working("w1"), pause.clone()));
    assert_eq!(toast(&app), "it pauses when the iteration has ended");
    gives(&letter(&mut app, 'p'), pause);
    let paused = with(
        "w1",
        "paused",
        json!({"reason": "operator", "position": "e-41-0"}),
    );
    of_board(&mut app, BoardNews::Looked(Box::new(paused)));
    assert_eq!(letter(&mut app, 'p'), []);
    assert!(toast(&app).contains("nothing to pause"));
    gives(
        &letter(&mut app, 'r'),
        WorkflowOrder::Resume {
            retries_stuck: false,
        },
    );
    gives(
        &letter(&mut app, 'R'),
        WorkflowOrder::Resume {
            retries_stuck: true,
        },
    );
    let mut app = board(workflow("w1", "ready"));
    gives(&letter(&mut app, 'r'), WorkflowOrder::Run);
    let mut app = board(workflow("w1", "completed"));
    assert_eq!(letter(&mut app, 'r'), []);
}

/// Spec: [TUI-243]
#[test]
fn an_order_that_is_refused_says_why_in_one_line() {
    let mut app = board(working("w1"));
    letter(&mut app, 'p');
    let pause = WorkflowOrder::Pause(PauseAt::IterationEnd);
    let reason = "to pause a workflow needs the token, also from this machine";
    of_board(&mut app, refused(reason, pause.clone()));
    assert_eq!(toast(&app), reason);
    assert!(app.toast.as_ref().unwrap().is_error);
    // It may be given again, and is told also when the board is closed.
    gives(&letter(&mut app, 'p'), pause.clone());
    key(&mut app, Key::Escape);
    of_board(&mut app, refused("too late", pause));
    assert_eq!(toast(&app), "too late");
}

/// Spec: [TUI-244]
#[test]
fn ctrl_c_asks_and_only_the_second_one_cancels() {
    let mut app = board(working("w1"));
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(
        app.board().unwrap().asks,
        crate::board::BoardQuestion::Cancel
    );
    assert_eq!(key(&mut app, Key::Escape), []);
    assert_eq!(control(&mut app, 'c'), []);
    gives(&control(&mut app, 'c'), WorkflowOrder::Cancel);
    assert_eq!(control(&mut app, 'c'), []);
    assert_eq!(control(&mut app, 'c'), [], "it is on its way");
    let over = with("w1", "cancelled", json!({"position": "e-50-0"}));
    of_board(&mut app, given(over, WorkflowOrder::Cancel));
    assert_eq!(state(&app), "cancelled");
    // Nothing is left to cancel.
    assert_eq!(control(&mut app, 'c'), [order(BoardOrder::Leave)]);
    assert!(app.board().is_none());
}

/// Spec: [TUI-245]
#[test]
fn a_gate_is_answered_with_yes_or_no_and_no_other_one_by_mistake() {
    let gate = |name: &str, position: &str| {
        let gate = json!({"gate": name, "asks": "approve the manifest?"});
        with(
            "w1",
            "waiting_for_approval",
            json!({"gate": gate, "position": position}),
        )
    };
    let mut app = board(gate("plan-1", "e-41-0"));
    assert_eq!(letter(&mut app, 'y'), []);
    assert_eq!(letter(&mut app, 'a'), []);
    // Another gate is open when the answer is typed.
    of_board(
        &mut app,
        BoardNews::Looked(Box::new(gate("plan-2", "e-42-0"))),
    );
    assert_eq!(letter(&mut app, 'y'), []);
    for (typed, is_approved) in [('y', true), ('n', false)] {
        letter(&mut app, 'a');
        let gate = "plan-2".to_owned();
        gives(
            &letter(&mut app, typed),
            WorkflowOrder::Answer { gate, is_approved },
        );
    }
    let mut app = board(working("w1"));
    letter(&mut app, 'a');
    assert_eq!(toast(&app), "nothing waits for an answer");
}

/// Spec: [TUI-246]
#[test]
fn enter_opens_the_conversation_of_the_iteration_and_escape_goes_back() {
    let mut app = board(working("w1"));
    let conversation = "wf-w1-2".to_owned();
    let open = AppEffect::Order(ClientOrder::Open { conversation });
    assert_eq!(
        key(&mut app, Key::Enter),
        [order(BoardOrder::Leave), open.clone()]
    );
    open_in(&mut app, "wf-w1-2", Some("/worktree"));
    // Escape is for what is nearer first.
    write(&mut app, "/wo");
    key(&mut app, Key::Escape);
    assert!(app.board().is_none());
    control(&mut app, 'u');
    let back = [order(BoardOrder::List), follow("w1")];
    assert_eq!(key(&mut app, Key::Escape), back);
    assert!(app.board().is_some());
    of_board(&mut app, followed(working("w1")));
    // It is open already.
    assert_eq!(key(&mut app, Key::Enter), [order(BoardOrder::Leave)]);
    // In another conversation the key is what it always was.
    app.open("c".to_owned());
    open_in(&mut app, "c", None);
    assert_eq!(key(&mut app, Key::Escape), []);
    assert!(app.board().is_none());
    // What a tool asks is answered in the conversation.
    let mut asking = working("w1");
    asking.state = "paused".to_owned();
    asking.reason = Some("ask".to_owned());
    let mut app = board(asking);
    assert_eq!(letter(&mut app, 'a'), [order(BoardOrder::Leave), open]);
    assert!(toast(&app).contains("Ctrl+T"));
    let mut app = board(workflow("w1", "draft"));
    assert_eq!(key(&mut app, Key::Enter), []);
    let linked = json!({"n": 1, "attempt": 1, "conversation": "wf-w1-1", "run": 1});
    of_board(
        &mut app,
        happened("w1", record("conversation_linked", linked)),
    );
    assert_eq!(key(&mut app, Key::Enter).len(), 2);
}

/// Spec: [TUI-247]
#[test]
fn the_output_of_the_running_check_is_shown_and_then_that_of_the_one_that_ended() {
    let mut app = board(working("w1"));
    assert_eq!(letter(&mut app, 'o'), []);
    assert_eq!(toast(&app), "no check has run yet");
    of_board(&mut app, happened("w1", shows(0, "one\ntwo\n")));
    assert_eq!(letter(&mut app, 'o'), []);
    assert!(matches!(app.board().unwrap().shows, Shows::Running));
    let output = BoardOrder::Output {
        workflow: "w1".to_owned(),
        sha256: "sha-2-suite".to_owned(),
    };
    let ended = of_board(&mut app, happened("w1", check(2, "suite", "failed")));
    assert_eq!(ended, [order(output)]);
    let lines = |app: &App| match &app.board().unwrap().shows {
        Shows::Ended { output, .. } => {
            let lines = output.last(9);
            lines.iter().map(crate::output::OutputLine::words).collect()
        }
        other => panic!("{other:?}"),
    };
    let tail: Vec<String> = lines(&app);
    assert_eq!(tail, ["", "assertion failed: 12 is not 13", "more"]);
    let whole = |sha256: &str| BoardNews::Output {
        workflow: "w1".to_owned(),
        sha256: sha256.to_owned(),
        offset: 7,
        text: "all of it\n".to_owned(),
    };
    of_board(&mut app, whole("sha-of-another"));
    assert_eq!(lines(&app), tail);
    of_board(&mut app, whole("sha-2-suite"));
    assert_eq!(lines(&app), ["… 7 bytes not shown", "all of it"]);
    assert_eq!(key(&mut app, Key::Escape), []);
    assert!(matches!(app.board().unwrap().shows, Shows::Workflow));
}

/// Spec: [TUI-248]
#[test]
fn what_is_kept_of_a_workflow_is_bounded_however_much_happens() {
    let mut app = board(working("w1"));
    for n in 1..=5_000 {
        of_board(&mut app, happened("w1", check(n, "suite", "passed")));
        of_board(&mut app, happened("w1", accepted(n, "strings")));
        let line = "x".repeat(100) + "\n";
        of_board(&mut app, happened("w1", shows(u64::from(n) * 101, &line)));
    }
    let detail = app.board().unwrap().detail.as_ref().unwrap();
    assert_eq!((detail.checks.len(), detail.commits.len()), (20, 20));
    assert_eq!(detail.checks.back().unwrap().place, "5000.1");
    assert_eq!(detail.commits.back().unwrap().commit, "5000abcd");
    let running = detail.running.as_ref().unwrap();
    assert!(running.output.last(usize::MAX).len() <= 200);
}

/// Spec: [TUI-248]
#[test]
fn an_answer_from_before_changes_nothing_and_a_lost_stream_is_told() {
    let mut app = board(working("w1"));
    let at = |state: &str, position: &str| {
        let snapshot = with("w1", state, json!({"position": position}));
        BoardNews::Looked(Box::new(snapshot))
    };
    of_board(&mut app, at("paused", "e-42-0"));
    of_board(&mut app, at("running", "e-41-0"));
    assert_eq!(state(&app), "paused");
    // Another life of the journal.
    of_board(&mut app, at("ready", "f-3-0"));
    assert_eq!(state(&app), "ready");
    let workflow = "w1".to_owned();
    let reason = "connection refused".to_owned();
    of_board(&mut app, BoardNews::Down { workflow, reason });
    let lost = |app: &App| app.board().unwrap().detail.as_ref().unwrap().lost.clone();
    assert_eq!(lost(&app).as_deref(), Some("connection refused"));
    let workflow = "w1".to_owned();
    of_board(&mut app, BoardNews::Up { workflow });
    assert_eq!(lost(&app), None);
}

/// Spec: [TUI-248]
#[test]
fn the_age_of_a_step_is_drawn_each_second_and_nothing_without_one() {
    let mut app = board(working("w1"));
    assert_eq!(app.wakes_at(), Some(app.now + Duration::from_secs(1)));
    let idle = with("w1", "paused", json!({"position": "e-41-0"}));
    of_board(&mut app, BoardNews::Looked(Box::new(idle)));
    assert_eq!(app.wakes_at(), None);
}
