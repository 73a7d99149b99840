//! Whether the texts of rules can be, where they are made.

use actix_web::HttpRequest;
use harness_actors::approval::{Rule, RuleError};
use harness_actors::conversation::messages::MAX_RULES;
use harness_actors::tool::Registry;
use harness_protocol::RunRules;

use super::guard::require_token;
use super::problem::{Kind, Refusal};

/// How long a rule may be, in bytes.
const MAX_RULE: usize = 4096;

/// Whether a text is a rule about a tool that changes something.
///
/// # Errors
/// The answer, if it is none.
pub(super) fn check(rule: &str, tools: &Registry) -> Result<(), Refusal> {
    let refuse = |detail: String| Kind::BadRequest.refuse(detail);
    if rule.len() > MAX_RULE {
        return Err(refuse(format!("a rule has at most {MAX_RULE} bytes")));
    }
    let parsed: Rule = rule
        .parse()
        .map_err(|error: RuleError| refuse(error.to_string()))?;
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

/// What a prompt says of the changes in its run.
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
    for rule in rules.allow.iter().chain(&rules.deny) {
        check(rule, tools)?;
    }
    Ok(rules)
}
