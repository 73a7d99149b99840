//! The meaning of each end of a command for its check.

use std::collections::BTreeMap;

use super::*;
use crate::workflow::manifest::{CheckTime, Program, ServiceCommand};

fn check() -> Check {
    Check {
        id: "suite".to_owned(),
        command: Some(ServiceCommand {
            program: Program::Cmd(vec!["run".to_owned()]),
            cwd: None,
            env: BTreeMap::new(),
            time_limit_s: 5,
            network: false,
        }),
        exit: Exit::Code(0),
        must_match: None,
        must_not_match: None,
        keep: None,
        when: CheckTime::Always,
        red: true,
        flaky: 0,
        hidden: false,
        files: BTreeMap::new(),
    }
}

fn run(end: CommandEnd, output: &str) -> CommandRun {
    CommandRun {
        end,
        output: output.to_owned(),
        output_hash: String::new(),
        ms: 1,
        tree_changed: false,
    }
}

fn verdict_of(check: &Check, end: CommandEnd, output: &str) -> CheckVerdict {
    judge(check, &run(end, output), &TestNames::new()).verdict
}

/// Spec: [FLOW-25]
#[test]
fn each_end_of_a_command_has_its_verdict() {
    let check = check();
    for (end, verdict) in [
        (CommandEnd::Exited(0), CheckVerdict::Passed),
        (CommandEnd::Exited(3), CheckVerdict::Failed),
        (CommandEnd::Signalled(9), CheckVerdict::Failed),
        (CommandEnd::TimedOut, CheckVerdict::TimedOut),
        (
            CommandEnd::NotStarted("no such file".to_owned()),
            CheckVerdict::NotStarted,
        ),
    ] {
        assert_eq!(verdict_of(&check, end, ""), verdict);
    }
}

/// Spec: [FLOW-26]
#[test]
fn case_15_a_check_that_shows_nothing_is_vacuous() {
    let check = Check {
        must_match: Some("Ran [1-9]".to_owned()),
        ..check()
    };
    let ok = CommandEnd::Exited(0);
    assert_eq!(
        verdict_of(&check, ok.clone(), "Ran 0 tests"),
        CheckVerdict::Vacuous
    );
    assert_eq!(
        verdict_of(&check, ok, "x\nRan 3 tests"),
        CheckVerdict::Passed
    );
    let failed = verdict_of(&check, CommandEnd::Exited(1), "Ran 0 tests");
    assert_eq!(failed, CheckVerdict::Failed);
}

/// Spec: [FLOW-26]
#[test]
fn a_check_that_changed_tracked_files_judges_nothing() {
    let mut run = run(CommandEnd::Exited(0), "");
    run.tree_changed = true;
    let judgement = judge(&check(), &run, &TestNames::new());
    assert_eq!(judgement.verdict, CheckVerdict::Vacuous);
}

/// Spec: [FLOW-25]
#[test]
fn any_exit_passes_where_the_file_says_so_and_forbidden_lines_fail() {
    let any = Check {
        exit: Exit::Any,
        must_not_match: Some("panicked".to_owned()),
        ..check()
    };
    let end = CommandEnd::Exited(7);
    assert_eq!(verdict_of(&any, end.clone(), "fine"), CheckVerdict::Passed);
    assert_eq!(
        verdict_of(&any, end, "a\nit panicked"),
        CheckVerdict::Failed
    );
}

/// Spec: [FLOW-24]
#[test]
fn names_that_the_head_showed_and_this_did_not_are_lost() {
    let keep = Check {
        exit: Exit::Any,
        keep: Some("^ok (.*)$".to_owned()),
        ..check()
    };
    let before = ["a", "b"].map(str::to_owned).into();
    let judgement = judge(&keep, &run(CommandEnd::Exited(1), "ok a\nok c"), &before);
    assert_eq!(judgement.lost, ["b".to_owned()].into());
    assert_eq!(judgement.kept, ["a".to_owned(), "c".to_owned()].into());
}
