//! The decision about a call of a tool of an MCP server.

use harness_protocol::{Access, ApprovalMode, McpCall, RuleAction, hidden};

use super::command_pattern::CommandReach;
use super::policy::{ApprovalPolicy, Decision, NOT_HELD, refuse};
use super::rule::Rule;

impl ApprovalPolicy<'_> {
    /// Decides about a call of a tool of an MCP server: rules that deny come first, then those that ask, then those
    /// that allow, then the mode.
    ///
    /// Claims of the server about its tools, such as that one only reads, do not count. In the mode `plan` no rule
    /// allows anything.
    pub(super) fn decide_mcp_call(&self, call: &McpCall) -> Decision {
        if self.mode == ApprovalMode::Plan {
            return refuse(
                "the mode is plan, in which no MCP server is called; say what you would call",
            );
        }
        if let Some(rule) = self.covering_call(RuleAction::Deny, call) {
            return refuse(&format!("the rule {rule} denies it"));
        }
        if let Some(rule) = self.covering_call(RuleAction::Ask, call) {
            let because = format!("the rule {rule} asks about it");
            if self.mode == ApprovalMode::Locked {
                return refuse(&format!("the mode is locked, and {because}"));
            }
            return Decision::Ask {
                because: with_hidden(because, call),
                rule: None,
            };
        }
        if self.covering_call(RuleAction::Allow, call).is_some() {
            return Decision::Allow;
        }
        let because = match self.mode {
            ApprovalMode::Plan | ApprovalMode::Locked => {
                return refuse("the mode is locked, and no rule allows it");
            }
            ApprovalMode::Ask | ApprovalMode::Edits => {
                "the mode asks before every call of an MCP server".to_owned()
            }
            ApprovalMode::Sandbox => {
                let reasons = reasons_not_held(call);
                if reasons.is_empty() {
                    return Decision::Allow;
                }
                reasons.join("; ")
            }
        };
        Decision::Ask {
            because: with_hidden(because, call),
            rule: Rule::for_mcp_call(&call.server, &call.tool),
        }
    }

    /// The first rule of an action that covers a call.
    fn covering_call(&self, action: RuleAction, call: &McpCall) -> Option<Rule> {
        let covers = |rule: &Rule| rule.covers_mcp_call(&call.server, &call.tool);
        self.parsed(action).find(covers)
    }
}

/// The reason to ask about a server that writes: nothing looks at what it made while it runs.
const MAKES_FILES: &str = "it may make files that tell other programs what to do";

/// The reasons why the containment of a server is not enough to let a call run unasked. Empty if it is.
fn reasons_not_held(call: &McpCall) -> Vec<&'static str> {
    let reach = CommandReach::new(call.access, call.network);
    let is_loose = !call.contained && reach != CommandReach::Full;
    let not_held = is_loose.then_some(NOT_HELD);
    let makes_files =
        (call.access != Access::Read && reach != CommandReach::Full).then_some(MAKES_FILES);
    let reasons = reach.reason().into_iter().chain(not_held);
    reasons.chain(makes_files).collect()
}

/// The reason of an approval, with the first hidden character of the names or else of the input.
fn with_hidden(because: String, call: &McpCall) -> String {
    let names = [&call.server, &call.tool];
    let in_name = names.into_iter().find_map(|name| hidden::first(name));
    match (in_name, hidden::first(&call.input)) {
        (Some(found), _) => format!("{because}; hidden in its name: {found}"),
        (None, Some(found)) => format!("{because}; hidden: {found}"),
        (None, None) => because,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use harness_protocol::{Backend, HeldRule, Scope, Subject};

    use super::*;

    const MODES: [ApprovalMode; 5] = [
        ApprovalMode::Plan,
        ApprovalMode::Ask,
        ApprovalMode::Edits,
        ApprovalMode::Sandbox,
        ApprovalMode::Locked,
    ];

    /// A call of a server that is contained, writes and has no network.
    fn call() -> McpCall {
        McpCall {
            server: "git".to_owned(),
            tool: "git_log".to_owned(),
            input: "{\n  \"max_count\": 3\n}".to_owned(),
            access: Access::Write,
            network: false,
            backend: Backend::Namespaces,
            contained: true,
            gaps: vec![],
        }
    }

    fn decide(mode: ApprovalMode, rules: &[(RuleAction, &str)], call: &McpCall) -> Decision {
        let held = |(action, rule): &(RuleAction, &str)| HeldRule {
            action: *action,
            rule: (*rule).to_owned(),
            scope: Scope::Conversation,
            workspace: None,
            by: None,
        };
        let rules: Vec<HeldRule> = rules.iter().map(held).collect();
        let policy = ApprovalPolicy {
            mode,
            rules: &rules,
            folder: Path::new("/home/ana/proj"),
            home: Some(Path::new("/home/ana")),
        };
        policy.decide("mcp__git__git_log", &Subject::McpCall(call.clone()))
    }

    fn word(decision: &Decision) -> &'static str {
        match decision {
            Decision::Allow => "allow",
            Decision::Refuse(_) => "refuse",
            Decision::Ask { rule: Some(_), .. } => "ask",
            Decision::Ask { rule: None, .. } => "ask once",
        }
    }

    /// The decisions in the modes plan, ask, edits, sandbox and locked.
    fn decided(rules: &[(RuleAction, &str)], call: &McpCall) -> [&'static str; 5] {
        MODES.map(|mode| word(&decide(mode, rules, call)))
    }

    fn because(mode: ApprovalMode, rules: &[(RuleAction, &str)], call: &McpCall) -> String {
        match decide(mode, rules, call) {
            Decision::Ask { because, .. } => because,
            other @ (Decision::Allow | Decision::Refuse(_)) => panic!("{other:?}"),
        }
    }

    /// Spec: [APPR-811]
    #[test]
    fn the_mode_decides_about_calls_where_no_rule_does() {
        let held = ["refuse", "ask", "ask", "allow", "refuse"];
        let not_held = ["refuse", "ask", "ask", "ask", "refuse"];
        for access in [Access::Read, Access::Write, Access::Full, Access::Unknown] {
            for (network, contained) in [(false, true), (false, false), (true, true), (true, false)]
            {
                let call = McpCall {
                    access,
                    network,
                    contained,
                    ..call()
                };
                let is_held = contained && !network && access == Access::Read;
                let expected = if is_held { held } else { not_held };
                let found = decided(&[], &call);
                assert_eq!(found, expected, "{access:?} {network} {contained}");
            }
        }
    }

    /// Spec: [APPR-814]
    #[test]
    fn rules_about_calls_come_before_the_mode_whatever_their_order() {
        use RuleAction::{Allow as Yes, Ask as Maybe, Deny as No};
        let yes = (Yes, "mcp(git.* *)");
        let maybe = (Maybe, "mcp(*.git_log)");
        let no = (No, "mcp(*.*)");
        let others = [
            (Yes, "mcp(hub.git_log *)"),
            (Maybe, "mcp(git.git_push *)"),
            (No, "edit(**)"),
            (No, "bash(*)"),
        ];
        let all = ["refuse"; 5];
        let asked = ["refuse", "ask once", "ask once", "ask once", "refuse"];
        let allowed = ["refuse", "allow", "allow", "allow", "allow"];
        let open = ["refuse", "ask", "ask", "ask", "refuse"];
        for network in [false, true] {
            // Rules that allow cover servers with the network or full access, too.
            let call = McpCall { network, ..call() };
            let by_mode = decided(&[], &call);
            for (rules, expected) in [
                (&[yes, maybe, no][..], all),
                (&[yes, no], all),
                (&[maybe, no], all),
                (&[no], all),
                (&[yes, maybe], asked),
                (&[maybe], asked),
                (&[yes], allowed),
                (&[], by_mode),
            ] {
                let mut rules = [rules, &others].concat();
                for _ in 0..rules.len() {
                    rules.rotate_left(1);
                    assert_eq!(decided(&rules, &call), expected, "{rules:?}");
                    let reversed: Vec<_> = rules.iter().rev().copied().collect();
                    assert_eq!(decided(&reversed, &call), expected, "{reversed:?}");
                }
            }
        }
        let full = McpCall {
            access: Access::Full,
            contained: false,
            ..call()
        };
        assert_eq!(decided(&others, &full), open);
        assert_eq!(decided(&[yes], &full), allowed);
    }

    /// Spec: [APPR-816]
    #[test]
    fn an_approval_of_a_call_says_why_it_is_asked() {
        use ApprovalMode::{Ask, Edits, Sandbox};
        let reads = McpCall {
            access: Access::Read,
            ..call()
        };
        let network = McpCall {
            network: true,
            ..reads.clone()
        };
        let loose = McpCall {
            contained: false,
            ..reads
        };
        let full = McpCall {
            access: Access::Full,
            network: true,
            contained: false,
            ..call()
        };
        let both = McpCall {
            contained: false,
            ..network.clone()
        };
        for (mode, call, expected) in [
            (
                Ask,
                &call(),
                "the mode asks before every call of an MCP server",
            ),
            (
                Edits,
                &full,
                "the mode asks before every call of an MCP server",
            ),
            (
                Sandbox,
                &call(),
                "it may make files that tell other programs what to do",
            ),
            (Sandbox, &network, "it may reach the network"),
            (Sandbox, &loose, "nothing holds it to what it may reach"),
            (
                Sandbox,
                &both,
                "it may reach the network; nothing holds it to what it may reach",
            ),
            (Sandbox, &full, "it has full access, so nothing contains it"),
        ] {
            assert_eq!(because(mode, &[], call), expected);
        }
        let ask = [(RuleAction::Ask, "mcp(git.*)")];
        let expected = "the rule mcp(git.*) asks about it";
        assert_eq!(because(Sandbox, &ask, &call()), expected);
    }

    /// Spec: [APPR-816]
    #[test]
    fn an_approval_of_a_call_names_its_first_hidden_character() {
        let of_input = McpCall {
            input: "{\n  \"a\u{202e}\": \"\u{200b}\"\n}".to_owned(),
            ..call()
        };
        let of_name = McpCall {
            tool: "lo\u{200b}g".to_owned(),
            ..of_input.clone()
        };
        let start = "the mode asks before every call of an MCP server; hidden";
        let found = because(ApprovalMode::Ask, &[], &of_input);
        assert!(found.starts_with(&format!("{start}: U+202E ")), "{found}");
        assert!(found.ends_with(" in line 2, column 5"), "{found}");
        let found = because(ApprovalMode::Ask, &[], &of_name);
        let expected = format!("{start} in its name: U+200B ");
        assert!(found.starts_with(&expected), "{found}");
        let ask = [(RuleAction::Ask, "mcp(git.*)")];
        let found = because(ApprovalMode::Edits, &ask, &of_name);
        let expected = "the rule mcp(git.*) asks about it; hidden in its name: U+200B ";
        assert!(found.starts_with(expected), "{found}");
    }

    /// Spec: [APPR-815]
    #[test]
    fn the_offered_rule_allows_the_tool_with_any_input() {
        let call = call();
        let Decision::Ask {
            rule: Some(rule), ..
        } = decide(ApprovalMode::Ask, &[], &call)
        else {
            panic!("no rule is offered");
        };
        let rule = rule.to_string();
        assert_eq!(rule, "mcp(git.git_log *)");
        assert!(Rule::made(&rule, RuleAction::Allow).is_ok());
        let rules = [(RuleAction::Allow, &*rule)];
        let other_input = McpCall {
            input: "{}".to_owned(),
            network: true,
            ..call.clone()
        };
        let allowed = ["refuse", "allow", "allow", "allow", "allow"];
        assert_eq!(decided(&rules, &other_input), allowed);
        let other_tool = McpCall {
            tool: "git_push".to_owned(),
            ..call.clone()
        };
        assert_eq!(decided(&rules, &other_tool)[1], "ask");
        for tool in ["git log".to_owned(), "x".repeat(5000)] {
            let call = McpCall {
                tool,
                ..call.clone()
            };
            assert_eq!(decided(&[], &call)[1], "ask once");
        }
    }

    /// Spec: [APPR-811] [APPR-814]
    #[test]
    fn a_refusal_of_a_call_tells_the_model_why() {
        let refused = |mode, rules: &[(RuleAction, &str)]| match decide(mode, rules, &call()) {
            Decision::Refuse(reason) => reason,
            other @ (Decision::Allow | Decision::Ask { .. }) => panic!("{other:?}"),
        };
        let ask = [(RuleAction::Ask, "mcp(git.*)")];
        let deny = [(RuleAction::Deny, "mcp(git.*)")];
        for (mode, rules, expected) in [
            (
                ApprovalMode::Plan,
                &ask[..],
                "not done: the mode is plan, in which no MCP server is called; say what you would call",
            ),
            (
                ApprovalMode::Ask,
                &deny,
                "not done: the rule mcp(git.*) denies it",
            ),
            (
                ApprovalMode::Locked,
                &ask,
                "not done: the mode is locked, and the rule mcp(git.*) asks about it",
            ),
            (
                ApprovalMode::Locked,
                &[],
                "not done: the mode is locked, and no rule allows it",
            ),
        ] {
            assert_eq!(refused(mode, rules), expected);
        }
    }
}
