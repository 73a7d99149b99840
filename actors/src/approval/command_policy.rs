//! The decision about a command that a tool is about to run.

use harness_protocol::{Access, ApprovalMode, CommandPlan, RuleAction, hidden};

use super::command_line::{self, Complex, LineCommands};
use super::command_pattern::CommandReach;
use super::loose;
use super::policy::{ApprovalPolicy, Decision, NOT_HELD, refuse};
use super::programs;
use super::removal::ProtectedFolders;
use super::rule::Rule;

/// Maximum number of commands of a line for which a rule is offered: it has to be read.
const MAX_OFFERED: usize = 5;

/// A command, if it can be read.
struct ParsedCommand<'a> {
    plan: &'a CommandPlan,
    parts: Result<LineCommands, Complex>,
    reach: CommandReach,
}

impl<'a> ParsedCommand<'a> {
    fn for_plan(plan: &'a CommandPlan) -> Self {
        Self {
            plan,
            parts: command_line::parse(&plan.command),
            reach: CommandReach::for_plan(plan),
        }
    }

    /// Whether it says that it changes and sends nothing.
    fn reads(&self) -> bool {
        self.plan.access == Access::Read && self.reach == CommandReach::Near
    }

    /// Whether what it may reach holds, and nothing of what it reaches can harm the operator's approvals.
    fn is_held(&self) -> bool {
        self.plan.contained && !self.plan.answers_itself && self.reach == CommandReach::Near
    }

    /// The reason of an approval with the first hidden character of the command.
    fn with_hidden(&self, because: String) -> String {
        match hidden::first(&self.plan.command) {
            Some(found) => format!("{because}; hidden: {found}"),
            None => because,
        }
    }
}

impl ApprovalPolicy<'_> {
    /// Decides about a command: rules that deny come first, then those that ask, then those that allow,
    /// then the mode.
    ///
    /// One command of a line is enough for a rule that denies or asks; rules that allow cover each of them,
    /// and none covers a line that is complex. In the mode `plan` no rule allows anything.
    pub(super) fn decide_command(&self, tool: &str, plan: &CommandPlan) -> Decision {
        let line = ParsedCommand::for_plan(plan);
        if self.mode == ApprovalMode::Plan && !line.reads() {
            return refuse(
                "the mode is plan, in which a command only reads: access \"read\", and no network",
            );
        }
        if let Some(rule) = self.touching(RuleAction::Deny, tool, &line) {
            return refuse(&format!("the rule {rule} denies it"));
        }
        if let Some(because) = self.asked_always(tool, &line) {
            if self.mode == ApprovalMode::Locked {
                return refuse(&format!("the mode is locked, and {because}"));
            }
            return Decision::Ask {
                because: line.with_hidden(because),
                rule: None,
            };
        }
        if line.reads() && line.is_held() || self.is_command_allowed(tool, &line) {
            return Decision::Allow;
        }
        match self.mode {
            ApprovalMode::Locked => refuse("the mode is locked, and no rule allows it"),
            ApprovalMode::Sandbox if line.is_held() => Decision::Allow,
            ApprovalMode::Plan
            | ApprovalMode::Ask
            | ApprovalMode::Edits
            | ApprovalMode::Sandbox => Decision::Ask {
                because: line.with_hidden(self.because(&line)),
                rule: self.offered(tool, &line),
            },
        }
    }

    /// Why an operator is asked about a command whatever allows it.
    fn asked_always(&self, tool: &str, line: &ParsedCommand<'_>) -> Option<String> {
        let kept = ProtectedFolders {
            folder: self.folder,
            home: self.home,
        };
        let (text, start) = (&line.plan.command, line.plan.folder.as_ref());
        if let Some(what) = kept.removed_by(text, line.parts.as_ref(), start) {
            return Some(format!("it would remove {what}"));
        }
        if let Some(rule) = self.touching(RuleAction::Ask, tool, line) {
            return Some(format!("the rule {rule} asks about it"));
        }
        let is_limited = [RuleAction::Deny, RuleAction::Ask]
            .into_iter()
            .flat_map(|action| self.parsed(action))
            .any(|rule| rule.limits_commands(tool, line.reach));
        let is_unseen = is_limited && loose::feeds_shell(text, line.parts.as_ref());
        is_unseen.then(|| "a shell in it reads commands that no rule can look into".to_owned())
    }

    /// The first rule of an action that covers something of a line.
    fn touching(&self, action: RuleAction, tool: &str, line: &ParsedCommand<'_>) -> Option<Rule> {
        let parts = line.parts.as_ref();
        let touches =
            |rule: &Rule| rule.touches_command(tool, &line.plan.command, parts, line.reach);
        self.parsed(action).find(touches)
    }

    /// Whether rules that allow cover all commands of a line.
    fn is_command_allowed(&self, tool: &str, line: &ParsedCommand<'_>) -> bool {
        let uncovered = self.uncovered(tool, line);
        uncovered.is_some_and(|commands| commands.is_empty())
    }

    /// The commands of a line that no rule allows yet. `None` if no rule can allow the line.
    fn uncovered<'l>(
        &self,
        tool: &str,
        line: &'l ParsedCommand<'_>,
    ) -> Option<Vec<&'l Vec<String>>> {
        let parts = line.parts.as_ref().ok()?;
        if self.mode == ApprovalMode::Plan || line.plan.answers_itself {
            return None;
        }
        if line.plan.changeable_program.is_some() {
            return None;
        }
        let rules: Vec<Rule> = self.parsed(RuleAction::Allow).collect();
        let is_covered = |words: &&Vec<String>| {
            let covers = |rule: &Rule| rule.allows_command(tool, words, line.reach);
            rules.iter().any(covers)
        };
        Some(parts.iter().filter(|words| !is_covered(words)).collect())
    }

    /// The rule that covers the commands of a line which no rule allows yet, if one may. What one cannot see through, or what
    /// reaches everything, is allowed once.
    fn offered(&self, tool: &str, line: &ParsedCommand<'_>) -> Option<Rule> {
        let commands = self.uncovered(tool, line)?;
        // A rule for a program that takes commands from another one would cover all that this writes.
        let is_joined = line.parts.as_ref().is_ok_and(|parts| parts.len() > 1);
        let runs = |words: &&Vec<String>| {
            let second = words.get(1).map(String::as_str);
            programs::runs_arguments(&words[0], second).is_some()
        };
        if is_joined && commands.iter().any(runs) || commands.len() > MAX_OFFERED {
            return None;
        }
        match line.reach {
            CommandReach::Near | CommandReach::Network => {
                Rule::for_commands(tool, &commands, line.reach)
            }
            CommandReach::Full => None,
        }
    }

    /// Why an operator is asked, in one line.
    fn because(&self, line: &ParsedCommand<'_>) -> String {
        let mut reasons: Vec<String> = line.reach.reason().map(str::to_owned).into_iter().collect();
        match self.mode {
            ApprovalMode::Ask | ApprovalMode::Edits => {
                if line.reach == CommandReach::Near && !line.reads() {
                    reasons.push("the mode asks before every command".to_owned());
                }
            }
            ApprovalMode::Plan | ApprovalMode::Sandbox | ApprovalMode::Locked => {}
        }
        if line.plan.answers_itself {
            reasons.push("it could answer approvals itself".to_owned());
        }
        if !line.plan.contained && line.reach != CommandReach::Full {
            reasons.push(NOT_HELD.to_owned());
        }
        if let Some(file) = &line.plan.changeable_program {
            reasons.push(format!(
                "no rule can cover it, for commands can change the program {file}"
            ));
        }
        if let Err(complex) = &line.parts {
            reasons.push(format!("no rule can cover it, for it has {complex}"));
        }
        reasons.join("; ")
    }
}

#[cfg(test)]
#[path = "command_policy_tests.rs"]
mod tests;
