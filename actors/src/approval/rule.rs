//! Rules such as `edit(src/**)`, `bash(cargo test *)` and `mcp(git.git_log *)`: a tool, and the paths in the folder of
//! the conversation, the commands or the calls of MCP servers that the rule is about.

use std::fmt;
use std::str::FromStr;

use derive_more::{Display, Error};
use harness_protocol::RuleAction;

use super::command_line::{Complex, LineCommands};
use super::command_pattern::{CommandPattern, CommandReach, suggested};
use super::glob::{self, Glob, wild};
use super::mcp_pattern::{self, McpPattern};

/// The tool whose rules are about commands.
pub const COMMAND_TOOL: &str = "bash";
/// The word in place of a tool in rules about calls of MCP servers.
pub const MCP_TOOL: &str = "mcp";
/// The beginning of the names by which the model calls tools of MCP servers. No rule is about such a name.
pub const MCP_NAMES: &str = "mcp__";
/// How long a rule may be, in bytes.
pub const MAX_RULE: usize = 4096;

/// The way to write a rule about paths.
const OF_PATHS: &str = "write it like edit(src/**)";
/// The way to write a rule about commands.
const OF_COMMANDS: &str = "write it like bash(cargo test *)";
/// The way to write a rule about calls of MCP servers.
const OF_MCP_CALLS: &str = "write it like mcp(git.git_log *)";

/// A rule. Its text is its value: `tool(pattern)`.
///
/// A pattern is a path below the folder of the conversation. `*` matches any characters of one
/// name, `?` for one of them, and `**` for any number of names; `\` takes the meaning from the
/// character behind it.
///
/// For [`COMMAND_TOOL`] it is a command, word by word, with plain quotes as in a shell. `*` as the last word
/// matches any further words, also none, and within a word for any characters of it. `;` separates several. `bash(…)` lets a
/// command have neither the network nor full access, `bash+network(…)` the network as well, and
/// `bash!full(…)` is about commands with full access.
///
/// For [`MCP_TOOL`] it is `SERVER.TOOL`, with ` *` at the end or without it: the input may be anything. The first dot
/// separates the names, and `*` matches any characters within one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: String,
    kind: PatternKind,
}

/// The pattern of a rule, by the actions that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternKind {
    /// Changes at paths, which the text of the pattern matches.
    Paths,
    /// Commands.
    Commands(CommandPattern),
    /// Calls of tools of MCP servers.
    McpCalls(McpPattern),
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{text:?} is no rule{kind}: {reason}; {way_out}")]
pub struct RuleError {
    text: String,
    kind: &'static str,
    reason: String,
    way_out: &'static str,
}

impl Rule {
    /// The rule that a text is, if rules of that action may say it.
    ///
    /// # Errors
    /// Why it is none, or none of that action: one that allows has no wildcard behind a program that runs
    /// its arguments, and none in the name of a server.
    pub fn made(text: &str, action: RuleAction) -> Result<Self, RuleError> {
        let rule: Self = text.parse()?;
        let (too_wide, way_out) = match &rule.kind {
            PatternKind::Paths => (None, OF_PATHS),
            PatternKind::Commands(command) => (command.too_wide(), "write out the whole command"),
            PatternKind::McpCalls(calls) => (calls.too_wide(), "write out the name of the server"),
        };
        match (action, too_wide) {
            (RuleAction::Allow, Some(reason)) => Err(RuleError {
                text: text.to_owned(),
                kind: " that allows",
                reason: reason.to_owned(),
                way_out,
            }),
            (RuleAction::Allow, None) => Ok(rule),
            (RuleAction::Ask | RuleAction::Deny | RuleAction::Unknown, _) => Ok(rule),
        }
    }

    /// The rule that covers one path for one tool, and nothing else.
    #[must_use]
    pub fn of_path(tool: &str, path: &str) -> Self {
        let mut pattern = String::with_capacity(path.len());
        for character in path.chars() {
            if matches!(character, '*' | '?' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        Self {
            tool: tool.to_owned(),
            pattern,
            kind: PatternKind::Paths,
        }
    }

    /// The rule that is offered for these commands of a tool: each with its words, or with any arguments where it is one that
    /// usually builds, tests or looks. `None` if one line of a rule cannot say it.
    pub(super) fn for_commands(
        tool: &str,
        commands: &[&Vec<String>],
        reach: CommandReach,
    ) -> Option<Self> {
        let mut patterns: Vec<String> = Vec::new();
        for words in commands {
            let pattern = suggested(words, reach)?;
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        let pattern = patterns.join("; ");
        let command = CommandPattern::parse(reach, &pattern).ok()?;
        let rule = Self {
            tool: tool.to_owned(),
            pattern,
            kind: PatternKind::Commands(command),
        };
        (rule.to_string().len() <= MAX_RULE).then_some(rule)
    }

    /// The rule that is offered for a call of a tool of an MCP server: this tool with any input. `None` if a rule
    /// cannot write the names, or would be too long.
    pub(super) fn for_mcp_call(server: &str, tool: &str) -> Option<Self> {
        let pattern = mcp_pattern::suggested(server, tool)?;
        let text = format!("{MCP_TOOL}({pattern})");
        let rule = text.parse().ok();
        rule.filter(|_| text.len() <= MAX_RULE)
    }

    /// The tool that it is about.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The pattern, if the rule is about paths.
    #[must_use]
    pub fn path_pattern(&self) -> Option<&str> {
        match &self.kind {
            PatternKind::Paths => Some(&self.pattern),
            PatternKind::Commands(_) | PatternKind::McpCalls(_) => None,
        }
    }

    /// Whether the rule covers that path for that tool.
    #[must_use]
    pub fn covers(&self, tool: &str, path: &str) -> bool {
        let pattern = self.path_pattern().filter(|_| self.tool == tool);
        pattern.is_some_and(|pattern| covers_path(pattern, path))
    }

    /// True if the rule covers calls of that tool of that MCP server.
    pub(super) fn covers_mcp_call(&self, server: &str, tool: &str) -> bool {
        match &self.kind {
            PatternKind::McpCalls(calls) => calls.covers(server, tool),
            PatternKind::Paths | PatternKind::Commands(_) => false,
        }
    }

    /// The pattern, if the rule is about commands of that tool.
    fn command_pattern(&self, tool: &str) -> Option<&CommandPattern> {
        match &self.kind {
            PatternKind::Commands(command) if self.tool == tool => Some(command),
            PatternKind::Paths | PatternKind::Commands(_) | PatternKind::McpCalls(_) => None,
        }
    }

    /// Whether the rule, if it allows, covers one command for that tool.
    pub(super) fn allows_command(&self, tool: &str, words: &[String], reach: CommandReach) -> bool {
        let command = self.command_pattern(tool);
        command.is_some_and(|command| command.allows(words, reach))
    }

    /// True if the rule, if it denies or asks, is about commands for that tool which reach so far.
    pub(super) fn limits_commands(&self, tool: &str, reach: CommandReach) -> bool {
        let command = self.command_pattern(tool);
        command.is_some_and(|command| reach >= command.reach())
    }

    /// Whether the rule, if it denies or asks, covers something of a line for that tool.
    pub(super) fn touches_command(
        &self,
        tool: &str,
        line: &str,
        parts: Result<&LineCommands, &Complex>,
        reach: CommandReach,
    ) -> bool {
        let command = self.command_pattern(tool);
        command.is_some_and(|command| command.touches(line, parts, reach))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match &self.kind {
            PatternKind::Commands(command) => command.reach().suffix(),
            PatternKind::Paths | PatternKind::McpCalls(_) => "",
        };
        write!(f, "{}{suffix}({})", self.tool, self.pattern)
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let (tool, reach) = [CommandReach::Network, CommandReach::Full]
            .into_iter()
            .find_map(|reach| Some((name.strip_suffix(reach.suffix())?, reach)))
            .unwrap_or((name, CommandReach::Near));
        let has_mcp_name = tool.starts_with(MCP_NAMES);
        let way_out = match tool {
            COMMAND_TOOL => OF_COMMANDS,
            MCP_TOOL => OF_MCP_CALLS,
            _ if has_mcp_name => OF_MCP_CALLS,
            _ => OF_PATHS,
        };
        let refuse = |reason: &str| RuleError {
            text: text.to_owned(),
            kind: "",
            reason: reason.to_owned(),
            way_out,
        };
        if name == text {
            return Err(refuse("it has no pattern"));
        }
        let pattern = rest
            .strip_suffix(')')
            .ok_or_else(|| refuse("it does not end with )"))?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if tool.is_empty() || !tool.chars().all(is_of_name) {
            return Err(refuse("it begins with no tool"));
        }
        let kind = match tool {
            COMMAND_TOOL => {
                let parsed = CommandPattern::parse(reach, pattern);
                let has =
                    |complex| format!("it is about plain words and quotes, and has {complex}");
                PatternKind::Commands(parsed.map_err(|complex| refuse(&has(complex)))?)
            }
            _ if reach != CommandReach::Near => {
                return Err(refuse("only rules about commands say how far they reach"));
            }
            MCP_TOOL => PatternKind::McpCalls(McpPattern::parse(pattern).map_err(refuse)?),
            _ if has_mcp_name => {
                return Err(refuse("a rule about a tool of an MCP server names both"));
            }
            _ => {
                check_path(pattern).map_err(refuse)?;
                PatternKind::Paths
            }
        };
        Ok(Self {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            kind,
        })
    }
}

/// Whether a pattern is of paths below a folder.
fn check_path(pattern: &str) -> Result<(), &'static str> {
    if pattern.starts_with('/') {
        return Err("the pattern is not below the conversation's folder");
    }
    let is_step = |name: &str| matches!(name, "" | "." | "..");
    if pattern.split('/').any(is_step) {
        return Err("the pattern has an empty name, . or ..");
    }
    Ok(())
}

/// Whether a pattern covers a path; both are relative to the same folder.
pub(crate) fn covers_path(pattern: &str, path: &str) -> bool {
    let patterns: Vec<&str> = pattern.split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    covers_names(&patterns, &names)
}

/// Whether patterns of names cover names. The time is bounded by the product of their numbers.
fn covers_names(patterns: &[&str], names: &[&str]) -> bool {
    wild(
        patterns,
        names,
        |pattern| *pattern == "**",
        |pattern, name| covers_name(pattern, name),
    )
}

fn covers_name(pattern: &str, name: &str) -> bool {
    let mut globs = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        globs.push(match character {
            '*' => Glob::Any,
            '?' => Glob::One,
            '\\' => Glob::Just(characters.next().unwrap_or('\\')),
            other => Glob::Just(other),
        });
    }
    glob::covers(&globs, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [APPR-06]
    #[test]
    fn a_rule_covers_its_tool_and_the_paths_of_its_pattern() {
        for (rule, covered, not_covered) in [
            (
                "edit(src/**)",
                &["src/a", "src/a/b.rs"][..],
                &["a", "srcs/a", "src2"][..],
            ),
            (
                "edit(docs/*.md)",
                &["docs/a.md", "docs/.md"],
                &["docs/a/b.md", "docs/a.mdx"],
            ),
            ("edit(**/x?)", &["x1", "a/b/xy"], &["x", "a/x", "xyz"]),
            ("edit(a*b*c)", &["abc", "aXbXbc"], &["ab", "abcd", "a/b/c"]),
            ("edit(a\\*b)", &["a*b"], &["aXb"]),
            ("edit(**)", &["a", "a/b"], &[]),
        ] {
            let parsed: Rule = rule.parse().unwrap();
            assert_eq!(parsed.to_string(), rule);
            for path in covered {
                assert!(parsed.covers("edit", path), "{rule} {path}");
                assert!(!parsed.covers("write", path), "{rule} {path}");
            }
            for path in not_covered {
                assert!(!parsed.covers("edit", path), "{rule} {path}");
            }
        }
    }

    /// Spec: [APPR-06]
    #[test]
    fn the_rule_of_a_path_covers_just_that() {
        for path in ["a/b.rs", "a*", "a?b", "a\\b", "[x]"] {
            let rule = Rule::of_path("edit", path);
            assert!(rule.covers("edit", path), "{path}");
            let read: Rule = rule.to_string().parse().unwrap();
            assert_eq!(read, rule);
            assert!(!rule.covers("edit", "ab"), "{path}");
        }
    }

    /// Spec: [APPR-21]
    #[test]
    fn a_rule_about_commands_is_its_text() {
        for rule in [
            "bash(cargo test *)",
            "bash+network(cargo fetch)",
            "bash!full(docker ps)",
            "bash(git commit -m 'a (b)')",
            "bash(ls  src/*.rs)",
            "bash(cargo test *; tail *)",
        ] {
            let parsed: Rule = rule.parse().unwrap();
            assert_eq!(parsed.to_string(), rule);
            assert_eq!(parsed.tool(), "bash");
            assert!(!parsed.covers("bash", "cargo test"), "{rule}");
        }
    }

    /// Spec: [APPR-24]
    #[test]
    fn a_rule_that_allows_has_no_wildcard_behind_a_program_that_runs_its_arguments() {
        let refused = Rule::made("bash(sudo *)", RuleAction::Allow).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "\"bash(sudo *)\" is no rule that allows: sudo runs the command behind it, so a wildcard \
             would allow any command; write out the whole command"
        );
        for text in [
            "bash(*)",
            "bash(ls *; sudo *)",
            "bash(./*)",
            "bash(sh -c *)",
            "bash(/usr/bin/env *)",
            "bash(python3.12 *)",
            "bash(find * -name x)",
            "bash(xargs rm*)",
            "bash!full(make *)",
            "bash+network(ssh build *)",
            "bash(git *)",
            "bash(git -C x *)",
            "bash(git st*)",
            "bash(git rebase *)",
            "bash(npm exec *)",
            "bash(docker *)",
            "bash(eval x)",
            "bash(exec *)",
            "bash(A=1 cargo test)",
            "bash(time cargo test)",
        ] {
            assert!(Rule::made(text, RuleAction::Allow).is_err(), "{text}");
            for action in [RuleAction::Ask, RuleAction::Deny] {
                assert!(Rule::made(text, action).is_ok(), "{text}");
            }
        }
        for text in [
            "edit(**)",
            "bash(cargo *)",
            "bash(cargo test *)",
            "bash(git log *)",
            "bash(npm run *)",
            "bash(sh -c 'cargo test')",
            "bash(sudo 'a*')",
            "bash(cd *)",
            "bash(cargo test *; tail *)",
        ] {
            assert!(Rule::made(text, RuleAction::Allow).is_ok(), "{text}");
        }
    }

    /// Spec: [APPR-21]
    #[test]
    fn what_is_no_rule_about_commands_is_refused_by_name() {
        for (text, reason) in [
            (
                "bash()",
                "it is about plain words and quotes, and has no command",
            ),
            (
                "bash(a\nb)",
                "it is about plain words and quotes, and has a line break",
            ),
            (
                "bash(a && b)",
                "it is about plain words and quotes, and has an operator that is not ;",
            ),
            (
                "bash(a; ; b)",
                "it is about plain words and quotes, and has an operator without a command",
            ),
            (
                "bash(echo $HOME)",
                "it is about plain words and quotes, and has a variable",
            ),
            (
                "bash(echo 'a)",
                "it is about plain words and quotes, and has an open quote",
            ),
            ("bash(ls", "it does not end with )"),
            ("bash", "it has no pattern"),
            ("bash+net(ls)", "it begins with no tool"),
            ("bash+network!full(ls)", "it begins with no tool"),
            (
                "edit+network(a)",
                "only rules about commands say how far they reach",
            ),
        ] {
            let refused = text.parse::<Rule>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("{text:?} is no rule: {reason}; ")),
                "{refused}"
            );
        }
        let refused = "bash()".parse::<Rule>().unwrap_err().to_string();
        assert!(
            refused.ends_with("; write it like bash(cargo test *)"),
            "{refused}"
        );
    }

    /// Spec: [APPR-06]
    #[test]
    fn what_is_no_rule_is_refused_by_name() {
        for text in [
            "edit",
            "edit(",
            "(a)",
            "ed it(a)",
            "edit(/etc/passwd)",
            "edit(../a)",
            "edit(a//b)",
            "edit()",
        ] {
            let refused = text.parse::<Rule>().unwrap_err().to_string();
            assert!(refused.contains(&format!("{text:?}")), "{refused}");
        }
    }
}
