//! The keys, their places and actions: the one table, from which the help is made too.

mod binding;
mod chord;
mod table;

pub(crate) use chord::Chord;
pub(crate) use table::{BINDINGS, action};

/// The context in which a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyPlace {
    /// Nothing is written.
    Empty,
    /// Something is written.
    Writing,
    /// Something of the conversation is selected. What is not bound here counts as pressed in one
    /// of the two above.
    Selecting,
    /// A part of the conversation is picked, and nothing is written. As above.
    Picked,
    /// A command is being written, and a list shows those that fit. As above.
    Commands,
    /// The list of conversations is open.
    Picker,
    /// A list of models, skills or templates is open.
    Chooser,
    /// A list of prompts of the past is open.
    Past,
    /// A search is open.
    Search,
    /// The waiting approval has the keys.
    Band,
    /// The operator chooses the scope of an answer.
    BandScope,
    /// The operator writes the reason of a denial.
    BandReason,
    /// The board of workflows is open.
    Board,
    /// The board asks for the answer of a gate.
    BoardGate,
}

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAction {
    /// Send what is written; while a run is going, before its next request.
    Submit,
    /// Send what is written once the run is over.
    FollowUp,
    /// Begin a new line.
    Newline,
    /// Cancel the run, clear the draft, or leave.
    Interrupt,
    /// Leave; the conversation continues.
    Leave,
    /// Copy what is selected.
    Copy,
    /// Select nothing.
    Deselect,
    /// Follow the conversation again.
    Follow,
    /// Up a row, or to the prompt before.
    Up,
    /// Down a row, or to the next prompt.
    Down,
    /// One character back.
    Left,
    /// One character on.
    Right,
    /// One word back.
    WordLeft,
    /// One word on.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// Take the character before.
    Backspace,
    /// Delete the character after the caret.
    Delete,
    /// Take the word before.
    DeleteWordLeft,
    /// Delete the word after the caret.
    DeleteWordRight,
    /// Take the rest of the line.
    KillToEnd,
    /// Put back what was taken.
    Yank,
    /// Undo.
    Undo,
    /// Clear what is written.
    Clear,
    /// Take back a paste that was set aside, the last one first; without one, one's own message
    /// that waits in a queue.
    TakeBack,
    /// Put a paste that was set aside into the text.
    OpenPaste,
    /// Attach the picture that is on the clipboard.
    Picture,
    /// Write in another editor.
    Editor,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning of the conversation.
    Top,
    /// To its end.
    Bottom,
    /// To the prompt before.
    PreviousPrompt,
    /// To the next prompt.
    NextPrompt,
    /// Open or fold all results.
    Fold,
    /// Open or fold the part that is picked, or the last one.
    FoldOne,
    /// Pick the part above.
    PickAbove,
    /// Pick the part below.
    PickBelow,
    /// Pick none.
    Unpick,
    /// Search the conversation.
    Search,
    /// The list of conversations.
    Picker,
    /// The mode that follows.
    Mode,
    /// The help.
    Help,
    /// Leave the mouse to the terminal, or take it.
    Mouse,
    /// Draw the whole screen again.
    Redraw,
    /// Back to the shell for now.
    Suspend,
    /// The prompts of the past, or, without a service, attach at once.
    History,
    /// The prompts of this conversation, to continue from before one of them.
    GoBack,
    /// Close what is open.
    Close,
    /// Take what is chosen.
    Accept,
    /// Complete what is chosen.
    Complete,
    /// The one before.
    Previous,
    /// The next one.
    Next,
    /// Make a new one.
    New,
    /// Give it another title.
    Rename,
    /// Move it to the trash.
    Trash,
    /// Those of all folders, or of one.
    Folders,
    /// Answer what waits for an answer, or go back to the input.
    Decide,
    /// Allow it once.
    Allow,
    /// Choose the scope of an allowance.
    AllowLonger,
    /// Allow it for the run.
    ForRun,
    /// Allow it in the conversation.
    ForConversation,
    /// Allow it in the folder.
    ForFolder,
    /// Refuse it.
    Deny,
    /// Refuse it, and say why.
    DenySaying,
    /// Refuse it, and cancel the run.
    DenyAndStop,
    /// The caveats of the command, or without them.
    Caveats,
    /// The board of workflows.
    Board,
    /// The output of a check.
    Output,
    /// Pause a workflow at the end of its iteration.
    Pause,
    /// Pause it at once.
    PauseNow,
    /// Let the workflow continue, or begin a run.
    Resume,
    /// Let the workflow continue, and try stuck features again.
    ResumeStuck,
}
