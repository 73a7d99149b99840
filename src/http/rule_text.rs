//! Checks the texts of rules when they are made.

use actix_web::HttpRequest;
use harness_actors::approval::{MAX_RULE, Rule, RuleError};
use harness_actors::conversation::messages::MAX_RULES;
use harness_actors::tool::Registry;
use harness_protocol::{RuleAction, RunRules};

use super::guard::require_token;
use super::problem::{Kind, Refusal};

/// Checks that a text is a rule about a tool that changes something, and that a rule of that action may have it.
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
        .filter(|name| !tools.is_harmless(name))
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
