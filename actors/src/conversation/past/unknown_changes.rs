//! The words about changes of a command or of an MCP server that no record has.

use harness_protocol::{Access, McpCall, Subject, words};

/// The note on the changes of a command or of a call that ran when the service ended. `None` if it could change
/// nothing, or is a change, of which the file tells.
pub(in crate::conversation) fn unknown_changes(subject: &Subject) -> Option<String> {
    let (kind, name) = match subject {
        Subject::Change(_) => return None,
        Subject::Command(plan) if plan.access == Access::Read => return None,
        Subject::Command(plan) => ("command", words::short_command(&plan.command)),
        Subject::McpCall(call) if !may_change_files(call) => return None,
        Subject::McpCall(call) => {
            let name = format!("{}.{}", call.server, call.tool);
            ("call", words::short_command(&name))
        }
    };
    Some(format!(
        "the service ended while the {kind} ran, and what it changed is not known: {name}"
    ))
}

/// The note on a call of an MCP server that ended. `None` for other effects, and if the server could change nothing.
pub(in crate::conversation) fn server_changes(subject: &Subject) -> Option<String> {
    match subject {
        Subject::McpCall(call) if may_change_files(call) => {
            Some(format!("what the server {} did", call.server))
        }
        Subject::Change(_) | Subject::Command(_) | Subject::McpCall(_) => None,
    }
}

/// True if the server of a call may change files: it asks for more than to read, or nothing holds it to that.
fn may_change_files(call: &McpCall) -> bool {
    call.access != Access::Read || !call.contained
}
