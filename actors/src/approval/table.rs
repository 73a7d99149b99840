//! Reads the table of commands and of what is decided about them, `specs/examples/commands.tsv`.

use harness_protocol::{Access, Backend, CommandPlan, HeldRule, RuleAction, Scope};

const TABLE: &str = include_str!("../../../specs/examples/commands.tsv");

/// A command of the table, how it runs, and what is expected of it.
#[derive(Debug, Clone)]
pub(super) struct CommandCase {
    /// The text in the table.
    pub(super) line: &'static str,
    pub(super) command: String,
    pub(super) access: Access,
    pub(super) network: bool,
    pub(super) contained: bool,
    pub(super) answers_itself: bool,
    pub(super) rules: Vec<HeldRule>,
    /// In the modes plan, ask, edits, sandbox and locked.
    pub(super) decided: [&'static str; 5],
    pub(super) complex: &'static str,
    pub(super) offers: String,
}

impl CommandCase {
    /// The command as it will run.
    pub(super) fn plan(&self) -> CommandPlan {
        CommandPlan {
            command: self.command.clone(),
            folder: "/home/ana/proj".to_owned(),
            access: self.access,
            network: self.network,
            background: false,
            timeout_s: 120,
            backend: Backend::Namespaces,
            contained: self.contained,
            gaps: vec![],
            answers_itself: self.answers_itself,
            changeable_program: None,
            why: None,
        }
    }
}

/// All rows.
pub(super) fn rows() -> Vec<CommandCase> {
    let sets: Vec<(&str, HeldRule)> = TABLE.lines().filter_map(rule).collect();
    let rows = TABLE.lines().filter(|line| !line.starts_with(['#', '@']));
    rows.map(|line| row(line, &sets)).collect()
}

/// A rule of a set, with the name of the set.
fn rule(line: &'static str) -> Option<(&'static str, HeldRule)> {
    let fields: Vec<&str> = line.strip_prefix('@')?.split('\t').collect();
    let [set, action, rule] = fields[..] else {
        panic!("{line:?} is no rule of a set");
    };
    let action = match action {
        "allow" => RuleAction::Allow,
        "ask" => RuleAction::Ask,
        "deny" => RuleAction::Deny,
        _ => panic!("{line:?} has no action"),
    };
    let held = HeldRule {
        action,
        rule: rule.to_owned(),
        scope: Scope::Conversation,
        workspace: None,
        by: None,
    };
    Some((set, held))
}

fn row(line: &'static str, sets: &[(&str, HeldRule)]) -> CommandCase {
    let fields: Vec<&str> = line.split('\t').collect();
    let [
        command,
        access,
        network,
        contained,
        set,
        plan,
        ask,
        edits,
        sandbox,
        locked,
        complex,
        offers,
    ] = fields[..]
    else {
        panic!("{line:?} has {} fields", fields.len());
    };
    let of_set = sets.iter().filter(|(name, _)| *name == set);
    let rules: Vec<HeldRule> = of_set.map(|(_, rule)| rule.clone()).collect();
    assert_eq!(rules.is_empty(), set == "none", "{line:?}");
    CommandCase {
        line,
        command: unescape(command),
        access: match access {
            "read" => Access::Read,
            "write" => Access::Write,
            "full" => Access::Full,
            _ => panic!("{line:?} has no access"),
        },
        network: match network {
            "yes" => true,
            "no" => false,
            _ => panic!("{line:?} says nothing of the network"),
        },
        contained: contained == "yes",
        answers_itself: match contained {
            "itself" => true,
            "yes" | "no" => false,
            _ => panic!("{line:?} says nothing of its containment"),
        },
        rules,
        decided: [plan, ask, edits, sandbox, locked],
        complex,
        offers: unescape(offers),
    }
}

/// A text with escapes for characters that the table cannot hold.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let kind = rest.next().unwrap();
        let mut in_braces = || {
            let (inside, behind) = rest.as_str().split_once('}').unwrap();
            rest = behind.chars();
            inside.strip_prefix('{').unwrap()
        };
        match kind {
            't' => plain.push('\t'),
            'n' => plain.push('\n'),
            'r' => plain.push('\r'),
            '\\' => plain.push('\\'),
            'u' => {
                let number = u32::from_str_radix(in_braces(), 16).unwrap();
                plain.push(char::from_u32(number).unwrap());
            }
            '*' => {
                let times: usize = in_braces().parse().unwrap();
                let repeated = plain.pop().unwrap();
                plain.extend(std::iter::repeat_n(repeated, times));
            }
            _ => panic!("{text:?} has an escape that is none"),
        }
    }
    plain
}
