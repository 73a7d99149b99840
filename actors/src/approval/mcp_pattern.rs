//! A pattern for calls of MCP servers: the names of the server and of its tool.

use super::glob::{self, Glob};

/// The end of a pattern by which the input may be anything. It may be left out, and means the same.
const ANY_INPUT: &str = " *";

/// The calls that a rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpPattern {
    server: Vec<Glob>,
    tool: Vec<Glob>,
}

impl McpPattern {
    /// Reads the text in the parentheses of a rule.
    ///
    /// # Errors
    /// The reason why the text is not a pattern.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let names = text.strip_suffix(ANY_INPUT).unwrap_or(text);
        let (server, tool) = names
            .split_once('.')
            .ok_or("it has no dot between a server and its tool")?;
        if server.is_empty() || tool.is_empty() {
            return Err("it lacks the name of the server or of the tool");
        }
        if !server.chars().all(|c| c == '*' || is_of_server(c)) {
            return Err("the name of a server has only letters, digits, _ and -");
        }
        if !tool.chars().all(|c| c == '*' || is_of_tool(c)) {
            return Err(
                "the name of its tool has letters, digits, _, - and dots, and * for all else",
            );
        }
        Ok(Self {
            server: glob::stars(server),
            tool: glob::stars(tool),
        })
    }

    /// The reason why no rule that allows may have this pattern. `None` if one may.
    pub(super) fn too_wide(&self) -> Option<&'static str> {
        let is_any = self.server.contains(&Glob::Any);
        is_any.then_some("a rule that allows names its server")
    }

    /// True if the pattern covers a tool of a server.
    pub(super) fn covers(&self, server: &str, tool: &str) -> bool {
        glob::covers(&self.server, server) && glob::covers(&self.tool, tool)
    }
}

/// The pattern that covers just this tool of this server. `None` if a pattern cannot write their names.
pub(super) fn suggested(server: &str, tool: &str) -> Option<String> {
    let is_written = server.chars().all(is_of_server) && tool.chars().all(is_of_tool);
    let pattern = is_written.then(|| format!("{server}.{tool}{ANY_INPUT}"))?;
    McpPattern::parse(&pattern).ok().map(|_| pattern)
}

fn is_of_server(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn is_of_tool(character: char) -> bool {
    is_of_server(character) || character == '.'
}

#[cfg(test)]
mod tests {
    use harness_protocol::RuleAction;
    use proptest::prelude::*;

    use super::super::{MAX_RULE, Rule};

    /// Spec: [APPR-812]
    #[test]
    fn a_rule_covers_the_tools_of_servers_by_their_names() {
        for (rule, covered, not_covered) in [
            (
                "mcp(git.git_log *)",
                &[("git", "git_log")][..],
                &[
                    ("git", "git_log_all"),
                    ("git", "Git_log"),
                    ("git2", "git_log"),
                    ("git", "git_log *"),
                    ("git.git_log", ""),
                ][..],
            ),
            (
                "mcp(git.git_log)",
                &[("git", "git_log")],
                &[("git", "git_show")],
            ),
            (
                "mcp(git.*)",
                &[("git", "git_log"), ("git", "a b"), ("git", "é")],
                &[("gi", "t"), ("github", "issues")],
            ),
            (
                "mcp(git.git_* *)",
                &[("git", "git_"), ("git", "git_a.b")],
                &[("git", "log"), ("git", "a.git_log")],
            ),
            (
                "mcp(git*.delete*file)",
                &[("github", "delete_file"), ("git", "delete a file")],
                &[("x.git", "delete_file"), ("git", "delete_files")],
            ),
            // The first dot ends the name of the server.
            ("mcp(a.b.c *)", &[("a", "b.c")], &[("a.b", "c"), ("a", "b")]),
            ("mcp(*.*)", &[("a", "b"), ("a-1", "*")], &[]),
        ] {
            let parsed: Rule = rule.parse().unwrap();
            assert_eq!(parsed.to_string(), rule);
            assert_eq!(parsed.tool(), "mcp");
            assert_eq!(parsed.path_pattern(), None);
            for (server, tool) in covered {
                assert!(
                    parsed.covers_mcp_call(server, tool),
                    "{rule} {server} {tool}"
                );
                assert!(!parsed.covers("mcp", tool), "{rule} {tool}");
            }
            for (server, tool) in not_covered {
                assert!(
                    !parsed.covers_mcp_call(server, tool),
                    "{rule} {server} {tool}"
                );
            }
        }
        for other in ["edit(git.git_log)", "bash(git.git_log *)", "other(**)"] {
            let parsed: Rule = other.parse().unwrap();
            assert!(!parsed.covers_mcp_call("git", "git_log"), "{other}");
        }
    }

    /// Spec: [APPR-812]
    #[test]
    fn what_is_not_a_rule_about_calls_is_refused_with_the_way_to_write_one() {
        for (text, reason) in [
            ("mcp", "it has no pattern"),
            ("mcp(git.git_log", "it does not end with )"),
            ("mcp(git)", "it has no dot between a server and its tool"),
            ("mcp( *)", "it has no dot between a server and its tool"),
            (
                "mcp(.git_log)",
                "it lacks the name of the server or of the tool",
            ),
            (
                "mcp(git. *)",
                "it lacks the name of the server or of the tool",
            ),
            (
                "mcp(my git.log)",
                "the name of a server has only letters, digits, _ and -",
            ),
            (
                "mcp(git.log  *)",
                "the name of its tool has letters, digits, _, - and dots, and * for all else",
            ),
            (
                "mcp(git.l\u{200b}og)",
                "the name of its tool has letters, digits, _, - and dots, and * for all else",
            ),
            (
                "mcp+network(git.git_log)",
                "only rules about commands say how far they reach",
            ),
            ("mcp__git__git_log", "it has no pattern"),
            (
                "mcp__git__git_log(*)",
                "a rule about a tool of an MCP server names both",
            ),
        ] {
            let refused = text.parse::<Rule>().unwrap_err().to_string();
            let expected =
                format!("{text:?} is no rule: {reason}; write it like mcp(git.git_log *)");
            assert_eq!(refused, expected);
        }
    }

    /// Spec: [APPR-813]
    #[test]
    fn a_rule_that_allows_names_its_server() {
        let refused = Rule::made("mcp(*.git_log *)", RuleAction::Allow).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "\"mcp(*.git_log *)\" is no rule that allows: a rule that allows names its server; \
             write out the name of the server"
        );
        for text in ["mcp(*.*)", "mcp(git*.git_log)", "mcp(*it.x *)"] {
            assert!(Rule::made(text, RuleAction::Allow).is_err(), "{text}");
            for action in [RuleAction::Ask, RuleAction::Deny] {
                assert!(Rule::made(text, action).is_ok(), "{text}");
            }
        }
        for text in ["mcp(git.git_log *)", "mcp(git.git_log)", "mcp(git.* *)"] {
            assert!(Rule::made(text, RuleAction::Allow).is_ok(), "{text}");
        }
    }

    /// Spec: [APPR-815]
    #[test]
    fn no_rule_is_offered_for_names_that_it_cannot_write() {
        let offered = |server: &str, tool: &str| {
            let rule = Rule::for_mcp_call(server, tool);
            rule.map(|rule| rule.to_string())
        };
        let expected = Some("mcp(git-2.a.b_c-d *)".to_owned());
        assert_eq!(offered("git-2", "a.b_c-d"), expected);
        for (server, tool) in [
            ("git", ""),
            ("", "log"),
            ("git", "lo*"),
            ("git", "git log"),
            ("git", "lög"),
            ("git", "log\u{200b}"),
            ("git", "log)"),
            ("gi*", "log"),
            ("a.b", "log"),
        ] {
            assert_eq!(offered(server, tool), None, "{server} {tool}");
        }
        let longest = MAX_RULE - "mcp(git. *)".len();
        assert!(offered("git", &"x".repeat(longest)).is_some());
        assert_eq!(offered("git", &"x".repeat(longest + 1)), None);
    }

    proptest! {
        /// Spec: [APPR-815]
        #[test]
        fn the_rule_of_a_call_covers_just_that(
            server in "[a-c*. ]{0,3}",
            tool in "[a-c*. )]{0,3}",
            other_server in "[a-c*. ]{0,3}",
            other_tool in "[a-c*. )]{0,3}",
        ) {
            if let Some(rule) = Rule::for_mcp_call(&server, &tool) {
                prop_assert_eq!(&rule.to_string().parse::<Rule>().unwrap(), &rule);
                prop_assert!(rule.covers_mcp_call(&server, &tool));
                let is_same = server == other_server && tool == other_tool;
                prop_assert_eq!(rule.covers_mcp_call(&other_server, &other_tool), is_same);
            }
        }

        /// Spec: [APPR-812]
        #[test]
        fn no_text_of_a_rule_about_calls_panics(text in any::<String>(), names in any::<(String, String)>()) {
            if let Ok(rule) = format!("mcp({text})").parse::<Rule>() {
                prop_assert_eq!(rule.to_string(), format!("mcp({text})"));
                rule.covers_mcp_call(&names.0, &names.1);
            }
        }
    }
}
