//! The words about the changes of a command that ran when the service ended.

use harness_protocol::{Access, CommandPlan, words};

/// The note on the changes of a command that ran when the service ended. `None` if it could change nothing.
pub(in crate::conversation) fn unknown_changes(plan: &CommandPlan) -> Option<String> {
    (plan.access != Access::Read).then(|| {
        let command = words::short_command(&plan.command);
        format!(
            "the service ended while the command ran, and what it changed is not known: {command}"
        )
    })
}
