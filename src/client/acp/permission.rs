//! Approvals in the form of the Agent Client Protocol.

use harness_protocol::{Approval, Scope, Verdict};
use serde_json::{Value, json};

use crate::visible;

/// The option that refuses.
const DENY: &str = "deny";
/// The scopes that are offered: the option, the kind of it, and the words behind the rule.
const SCOPES: [(Scope, &str, &str); 2] = [
    (Scope::Conversation, "conversation", "in this conversation"),
    (Scope::Workspace, "workspace", "in this folder"),
];

/// The options for an approval.
pub(super) fn permission_options(approval: &Approval) -> Vec<Value> {
    let mut options = vec![json!({"optionId": "once", "name": "Allow", "kind": "allow_once"})];
    for (scope, id, place) in SCOPES {
        if let Some(rule) = &approval.rule
            && approval.scopes.contains(&scope)
        {
            let name = format!("Allow {} {place}", visible::judged(rule));
            options.push(json!({"optionId": id, "name": name, "kind": "allow_always"}));
        }
    }
    options.push(json!({"optionId": DENY, "name": "Deny", "kind": "reject_once"}));
    options
}

/// The answer of an operator in an editor; none if none was given.
pub(super) fn permission_answer(result: &Value) -> Option<(Verdict, Scope)> {
    let outcome = &result["outcome"];
    if outcome["outcome"] != "selected" {
        return None;
    }
    let option = outcome["optionId"].as_str()?;
    match option {
        "once" => Some((Verdict::Allow, Scope::Once)),
        DENY => Some((Verdict::Deny, Scope::Once)),
        _ => {
            let scope = SCOPES.iter().find(|(_, id, _)| *id == option);
            scope.map(|(scope, ..)| (Verdict::Allow, *scope))
        }
    }
}
