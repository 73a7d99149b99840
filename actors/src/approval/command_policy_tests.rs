//! Every row of the table of commands, and what the table as a whole shows.

use std::path::Path;

use harness_protocol::{Backend, HeldRule, Scope};

use super::*;
use crate::approval::table::{CommandCase, rows};

const MODES: [ApprovalMode; 5] = [
    ApprovalMode::Plan,
    ApprovalMode::Ask,
    ApprovalMode::Edits,
    ApprovalMode::Sandbox,
    ApprovalMode::Locked,
];

fn decide(mode: ApprovalMode, rules: &[HeldRule], plan: &CommandPlan) -> Decision {
    let policy = ApprovalPolicy {
        mode,
        rules,
        folder: Path::new("/home/ana/proj"),
        home: Some(Path::new("/home/ana")),
    };
    policy.decide_command("bash", plan)
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Refuse(_) => "refuse",
        Decision::Ask { .. } => "ask",
    }
}

/// The rule that is offered in the mode `ask`.
fn offered(row: &CommandCase) -> Option<Rule> {
    match decide(ApprovalMode::Ask, &row.rules, &row.plan()) {
        Decision::Ask { rule, .. } => rule,
        Decision::Allow | Decision::Refuse(_) => None,
    }
}

/// Spec: [APPR-19]
#[test]
fn a10_the_table_says_what_is_decided_about_each_command() {
    let rows = rows();
    assert!(rows.len() >= 300);
    let decided =
        |row: &CommandCase| MODES.map(|mode| word(&decide(mode, &row.rules, &row.plan())));
    let others: Vec<(&str, [&str; 5])> = rows
        .iter()
        .map(|row| (row.line, decided(row)))
        .zip(&rows)
        .filter_map(|(told, row)| (told.1 != row.decided).then_some(told))
        .collect();
    assert!(others.is_empty(), "decided otherwise: {others:#?}");
}

/// Spec: [APPR-20]
#[test]
fn a10_the_table_says_what_makes_each_command_complex() {
    for row in rows() {
        let complex = command_line::parse(&row.command).err();
        let complex = complex.map_or("-".to_owned(), |complex| complex.to_string());
        assert_eq!(complex, row.complex, "{}", row.line);
    }
}

/// Spec: [APPR-23]
#[test]
fn a10_the_table_says_which_rule_each_command_offers_and_that_rule_allows_it() {
    let mut others = Vec::new();
    for row in rows() {
        let rule = offered(&row);
        // A rule that is longer than a rule may be is not offered, nor shown in the table.
        let offers = rule.as_ref().map_or("-".to_owned(), Rule::to_string);
        if offers != row.offers {
            others.push(format!("{} offers {offers}", row.line));
        }
        let Some(rule) = rule.filter(|_| offers == row.offers) else {
            continue;
        };
        let made = Rule::made(&row.offers, RuleAction::Allow);
        assert_eq!(made.as_ref(), Ok(&rule), "{}", row.line);
        let mut rules = row.rules.clone();
        rules.push(held(RuleAction::Allow, &row.offers));
        for (mode, expected) in [
            (ApprovalMode::Ask, "allow"),
            (ApprovalMode::Locked, "allow"),
        ] {
            let decision = decide(mode, &rules, &row.plan());
            assert_eq!(word(&decision), expected, "{}", row.line);
        }
    }
    assert_eq!(others, [""; 0]);
}

/// Spec: [APPR-19] [APPR-26]
#[test]
fn a10_nothing_that_changes_or_sends_is_allowed_without_a_rule_or_the_mode_sandbox() {
    let mut harmful = 0;
    for row in rows() {
        let plan = row.plan();
        if plan.access == Access::Read && !plan.network {
            continue;
        }
        harmful += 1;
        let others: Vec<HeldRule> = row
            .rules
            .iter()
            .filter(|rule| rule.action != RuleAction::Allow)
            .cloned()
            .collect();
        let is_held = plan.contained && !plan.network && plan.access == Access::Write;
        for mode in MODES {
            let without = decide(mode, &others, &plan);
            let may_be = mode == ApprovalMode::Sandbox && is_held;
            assert!(
                without != Decision::Allow || may_be,
                "{mode:?} {}",
                row.line
            );
            let with = decide(mode, &row.rules, &plan);
            if with == Decision::Allow && !may_be {
                assert_eq!(row.complex, "-", "{mode:?} {}", row.line);
                assert!(!plan.answers_itself, "{mode:?} {}", row.line);
                assert_ne!(mode, ApprovalMode::Plan, "{}", row.line);
            }
        }
    }
    assert!(harmful > 300, "{harmful}");
}

/// Spec: [APPR-26]
#[test]
fn a09_the_order_of_rules_makes_no_difference() {
    // The order in the table is tried by another test.
    for row in rows().into_iter().filter(|row| row.rules.len() > 1) {
        let plan = row.plan();
        let mut reversed = row.rules.clone();
        reversed.reverse();
        let mut rotated = row.rules.clone();
        rotated.rotate_left(row.rules.len() / 2);
        for rules in [reversed, rotated] {
            let decided = MODES.map(|mode| word(&decide(mode, &rules, &plan)));
            assert_eq!(decided, row.decided, "{}", row.line);
        }
    }
}

fn held(action: RuleAction, rule: &str) -> HeldRule {
    HeldRule {
        action,
        rule: rule.to_owned(),
        scope: Scope::Conversation,
        workspace: None,
        by: None,
    }
}

/// A command that is contained and writes.
fn plan(command: &str) -> CommandPlan {
    CommandPlan {
        command: command.to_owned(),
        folder: "/home/ana/proj".to_owned(),
        access: Access::Write,
        network: false,
        background: false,
        timeout_s: 120,
        backend: Backend::Namespaces,
        contained: true,
        gaps: vec![],
        answers_itself: false,
        changeable_program: None,
        why: None,
    }
}

/// Spec: [APPR-27]
#[test]
fn an_approval_says_why_it_is_asked() {
    let because = |mode, rules: &[HeldRule], plan: &CommandPlan| match decide(mode, rules, plan) {
        Decision::Ask { because, .. } => because,
        other @ (Decision::Allow | Decision::Refuse(_)) => panic!("{other:?}"),
    };
    let none = [];
    let ask = [held(RuleAction::Ask, "bash(make *)")];
    for (mode, rules, plan, expected) in [
        (
            ApprovalMode::Ask,
            &none[..],
            plan("make"),
            "the mode asks before every command",
        ),
        (
            ApprovalMode::Edits,
            &none,
            plan("make > log"),
            "the mode asks before every command; no rule can cover it, for it has a redirection",
        ),
        (
            ApprovalMode::Sandbox,
            &ask,
            plan("make -k"),
            "the rule bash(make *) asks about it",
        ),
        (
            ApprovalMode::Sandbox,
            &ask,
            plan("base64 -d a | sh"),
            "a shell in it reads commands that no rule can look into",
        ),
        (
            ApprovalMode::Sandbox,
            &none,
            plan("rm -rf ~"),
            "it would remove the home folder, or all that is in it",
        ),
        (
            ApprovalMode::Sandbox,
            &none,
            CommandPlan {
                network: true,
                ..plan("make")
            },
            "it may reach the network",
        ),
        (
            ApprovalMode::Ask,
            &none,
            CommandPlan {
                access: Access::Full,
                contained: false,
                answers_itself: true,
                ..plan("make")
            },
            "it has full access, so nothing contains it; it could answer approvals itself",
        ),
        (
            ApprovalMode::Plan,
            &none,
            CommandPlan {
                access: Access::Read,
                contained: false,
                ..plan("ls *")
            },
            "nothing holds it to what it may reach; no rule can cover it, for it has a wildcard",
        ),
        (
            ApprovalMode::Ask,
            &none,
            CommandPlan {
                access: Access::Unknown,
                ..plan("ls")
            },
            "it has full access, so nothing contains it",
        ),
    ] {
        assert_eq!(because(mode, rules, &plan), expected);
    }
}

/// Spec: [APPR-422]
#[test]
fn no_rule_allows_or_is_offered_for_a_program_that_commands_can_change() {
    let rules = [held(RuleAction::Allow, "bash+network(./fetch *)")];
    let fixed = CommandPlan {
        network: true,
        ..plan("./fetch x")
    };
    let decision = decide(ApprovalMode::Ask, &rules, &fixed);
    assert_eq!(decision, Decision::Allow);
    let changeable = CommandPlan {
        changeable_program: Some("/home/ana/proj/fetch".to_owned()),
        ..fixed
    };
    let expected = Decision::Ask {
        because: "it may reach the network; \
                  no rule can cover it, for commands can change the program /home/ana/proj/fetch"
            .to_owned(),
        rule: None,
    };
    for rules in [&rules[..], &[]] {
        assert_eq!(decide(ApprovalMode::Ask, rules, &changeable), expected);
    }
    let decision = decide(ApprovalMode::Locked, &rules, &changeable);
    assert!(matches!(decision, Decision::Refuse(_)), "{decision:?}");
}

/// Spec: [APPR-23]
#[test]
fn in_plan_no_rule_is_offered() {
    let reads = CommandPlan {
        access: Access::Read,
        contained: false,
        ..plan("ls")
    };
    let decision = decide(ApprovalMode::Plan, &[], &reads);
    assert!(
        matches!(decision, Decision::Ask { rule: None, .. }),
        "{decision:?}"
    );
}

/// Spec: [APPR-19]
#[test]
fn a_refusal_tells_the_model_what_it_may_do() {
    let Decision::Refuse(said) = decide(ApprovalMode::Plan, &[], &plan("make")) else {
        panic!("it is not refused");
    };
    assert_eq!(
        said,
        "not done: the mode is plan, in which a command only reads: access \"read\", and no network"
    );
    let rules = [held(RuleAction::Deny, "bash(make *)")];
    let Decision::Refuse(said) = decide(ApprovalMode::Ask, &rules, &plan("make")) else {
        panic!("it is not refused");
    };
    assert_eq!(said, "not done: the rule bash(make *) denies it");
}
