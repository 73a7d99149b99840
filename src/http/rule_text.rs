//! Checks the texts of rules when they are made.

use actix_web::HttpRequest;
use harness_actors::approval::{MAX_RULE, MCP_NAMES, MCP_TOOL, Rule, RuleError};
use harness_actors::conversation::messages::MAX_RULES;
use harness_actors::tool::Registry;
use harness_protocol::{RuleAction, RunRules};

use super::guard::require_token;
use super::problem::{Kind, Refusal};

/// Checks that a text is a rule about a tool that changes something, and that a rule of that action may have it. A rule
/// about calls of an MCP server need not name one that is configured.
///
/// # Errors
/// The answer, if it is not.
pub(super) fn check(rule: &str, action: RuleAction, tools: &Registry) -> Result<(), Refusal> {
    let refuse = |detail: String| Kind::BadRequest.refuse(detail);
    if rule.len() > MAX_RULE {
        return Err(refuse(format!("a rule has at most {MAX_RULE} bytes")));
    }
    let parsed = Rule::made(rule, action);
    let parsed = parsed.map_err(|error: RuleError| refuse(error.to_string()))?;
    let names: Vec<&str> = tools
        .names()
        .filter(|name| !tools.is_harmless(name) && !name.starts_with(MCP_NAMES))
        .chain([MCP_TOOL])
        .collect();
    if names.contains(&parsed.tool()) {
        return Ok(());
    }
    Err(refuse(format!(
        "the rule {rule:?} is about no tool that changes something; those are {}",
        names.join(", ")
    )))
}

/// The rules of a prompt for the changes in its run.
///
/// # Errors
/// The answer, if it cannot be.
pub(super) fn of_prompt(
    request: &HttpRequest,
    tools: &Registry,
    rules: RunRules,
) -> Result<RunRules, Refusal> {
    if rules.mode.is_some() || !rules.allow.is_empty() {
        require_token(request, "a prompt with a mode or with rules that allow")?;
    }
    if rules.allow.len() + rules.deny.len() > MAX_RULES {
        let detail = format!("a prompt has at most {MAX_RULES} rules");
        return Err(Kind::BadRequest.refuse(detail));
    }
    for (action, texts) in [
        (RuleAction::Allow, &rules.allow),
        (RuleAction::Deny, &rules.deny),
    ] {
        for rule in texts {
            check(rule, action, tools)?;
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use harness_actors::standard_tools;

    use super::*;

    fn checked(rule: &str, action: RuleAction) -> Result<(), String> {
        let tools = Registry::new(standard_tools()).unwrap();
        check(rule, action, &tools).map_err(|refusal| refusal.to_string())
    }

    /// Spec: [APPR-12] [APPR-812] [APPR-813]
    #[test]
    fn a_rule_is_about_a_tool_that_changes_something_or_about_calls_of_any_server() {
        for rule in ["edit(a)", "mcp(git.git_log *)", "mcp(no-such.tool)"] {
            assert_eq!(checked(rule, RuleAction::Allow), Ok(()), "{rule}");
        }
        assert_eq!(checked("mcp(*.*)", RuleAction::Deny), Ok(()));
        let expected = "the rule \"read(a)\" is about no tool that changes something; those are edit, write, mcp";
        let refused = checked("read(a)", RuleAction::Deny).unwrap_err();
        assert_eq!(refused, expected);
        for (rule, end) in [
            ("mcp(*.*)", "write out the name of the server"),
            ("mcp(git)", "write it like mcp(git.git_log *)"),
            ("mcp__git__git_log(*)", "write it like mcp(git.git_log *)"),
        ] {
            let refused = checked(rule, RuleAction::Allow).unwrap_err();
            assert!(refused.ends_with(end), "{refused}");
        }
    }
}
