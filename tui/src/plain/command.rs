//! The command of a typed line.

use harness_protocol::Scope;

/// The commands, as `/help` shows them.
pub(super) const HELP: &str = "\
/help           this list
/cancel         cancel the run
/approve        allow what waits for an answer; or for longer:
                /approve run, /approve conversation, /approve folder
/deny [TEXT]    refuse it, and tell the model why
/undo           take back what the tools changed last
/continue       go on without a prompt, with what waits in the queue
/retry          ask for the last reply again
/follow-up TEXT a prompt that is said when the run is over
/model NAME     ask another model, for all clients
/compact        replace the past by a summary, for all clients
/list           list the conversations
/workflows      list the workflows
/open N or ID   open one, by its number in the list or its id
/new TITLE      make one, perhaps with a title
/rename TITLE   give this one another title
/quit           leave; the run goes on
//TEXT          the prompt /TEXT
any other line  a prompt; while a run is going, it is said before the next
                request
Each line waits until those before it were sent; Ctrl-C cancels at once.";

/// The command that a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlainCommand<'a> {
    /// Nothing: the line is empty.
    Nothing,
    /// To be sent to the model.
    Prompt(&'a str),
    /// To be said when the run is over.
    FollowUp(&'a str),
    /// To allow what waits for an answer.
    Approve(Scope),
    /// To take back what the tools changed last.
    Undo,
    /// To refuse it, and tell the model why.
    Deny(Option<&'a str>),
    /// To continue without a prompt, or to ask for the last reply again.
    GoOn {
        /// True if the last reply is asked for again.
        is_retry: bool,
    },
    /// To ask another model.
    Model(&'a str),
    /// To replace the past by a summary, which is to look at this above all.
    Compact(Option<&'a str>),
    /// To show the commands.
    Help,
    /// To cancel the run.
    Cancel,
    /// To list the conversations.
    List,
    /// To list the workflows.
    Workflows,
    /// To open one, by its number or its id.
    Open(&'a str),
    /// To make one.
    New(Option<&'a str>),
    /// To give this one another title.
    Rename(&'a str),
    /// To leave.
    Quit,
    /// Something that cannot be done.
    Wrong(String),
}

impl<'a> PlainCommand<'a> {
    /// That of a line.
    pub(super) fn parse(line: &'a str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Self::Nothing;
        }
        if line.starts_with("//") {
            return Self::Prompt(line.get(1..).unwrap_or_default());
        }
        let Some(command) = line.strip_prefix('/') else {
            return Self::Prompt(line);
        };
        let (name, rest) = match command.split_once(char::is_whitespace) {
            Some((name, rest)) => (name, Some(rest.trim())),
            None => (command, None),
        };
        match (name, rest) {
            ("help", None) => Self::Help,
            ("cancel", None) => Self::Cancel,
            ("approve", None | Some("once")) => Self::Approve(Scope::Once),
            ("approve", Some("run")) => Self::Approve(Scope::Run),
            ("approve", Some("conversation")) => Self::Approve(Scope::Conversation),
            ("approve", Some("folder")) => Self::Approve(Scope::Workspace),
            ("approve", Some(_)) => Self::Wrong(
                "say /approve, /approve run, /approve conversation or /approve folder".to_owned(),
            ),
            ("undo", None) => Self::Undo,
            ("deny", reason) => Self::Deny(reason),
            ("continue", None) => Self::GoOn { is_retry: false },
            ("retry", None) => Self::GoOn { is_retry: true },
            ("follow-up", Some(text)) => Self::FollowUp(text),
            ("model", Some(name)) => Self::Model(name),
            ("compact", instructions) => Self::Compact(instructions),
            ("list", None) => Self::List,
            ("workflows", None) => Self::Workflows,
            ("quit", None) => Self::Quit,
            ("new", title) => Self::New(title),
            ("open", Some(which)) => Self::Open(which),
            ("rename", Some(title)) => Self::Rename(title),
            ("open", None) => Self::Wrong("/open needs a number or an id".to_owned()),
            ("rename", None) => Self::Wrong("/rename needs a title".to_owned()),
            ("follow-up", None) => Self::Wrong("/follow-up needs a text".to_owned()),
            ("model", None) => Self::Wrong("/model needs a name".to_owned()),
            (
                "help" | "cancel" | "undo" | "continue" | "retry" | "list" | "workflows" | "quit",
                Some(_),
            ) => Self::Wrong(format!("/{name} takes nothing behind it")),
            _ => Self::Wrong(format!(
                "there is no command /{name}; /help lists them, and //{name} is a prompt"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PLAIN-06]
    #[test]
    fn a_line_is_a_prompt_a_command_or_wrong() {
        let wrong = |reason: &str| PlainCommand::Wrong(reason.to_owned());
        let lines = [
            (" \t", PlainCommand::Nothing),
            ("  why? \r", PlainCommand::Prompt("why?")),
            ("//etc", PlainCommand::Prompt("/etc")),
            ("/help", PlainCommand::Help),
            ("/cancel", PlainCommand::Cancel),
            ("/list ", PlainCommand::List),
            ("/workflows", PlainCommand::Workflows),
            ("/continue", PlainCommand::GoOn { is_retry: false }),
            ("/retry", PlainCommand::GoOn { is_retry: true }),
            ("/approve", PlainCommand::Approve(Scope::Once)),
            ("/approve folder", PlainCommand::Approve(Scope::Workspace)),
            (
                "/approve all",
                wrong("say /approve, /approve run, /approve conversation or /approve folder"),
            ),
            ("/deny", PlainCommand::Deny(None)),
            ("/deny not so", PlainCommand::Deny(Some("not so"))),
            ("/follow-up  a b", PlainCommand::FollowUp("a b")),
            ("/follow-up", wrong("/follow-up needs a text")),
            ("/model claude-x", PlainCommand::Model("claude-x")),
            ("/model", wrong("/model needs a name")),
            ("/compact", PlainCommand::Compact(None)),
            (
                "/compact the tests",
                PlainCommand::Compact(Some("the tests")),
            ),
            ("/open 2", PlainCommand::Open("2")),
            ("/new", PlainCommand::New(None)),
            ("/new  a b", PlainCommand::New(Some("a b"))),
            ("/rename a b", PlainCommand::Rename("a b")),
            ("/quit", PlainCommand::Quit),
            ("/open", wrong("/open needs a number or an id")),
            ("/rename", wrong("/rename needs a title")),
            ("/quit now", wrong("/quit takes nothing behind it")),
            (
                "/etc",
                wrong("there is no command /etc; /help lists them, and //etc is a prompt"),
            ),
        ];
        for (line, command) in lines {
            assert_eq!(PlainCommand::parse(line), command, "{line:?}");
        }
    }
}
