//! The state of the conversation, directly above the input.

use std::time::Duration;

use harness_protocol::{ActivityState, words};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::RowWriter;
use crate::app::{App, LinkState, mode_name};
use crate::conversation::{Author, Context, GrowingKind};
use crate::text::{one_line, someone};
use crate::theme::{Look, Token};

/// The steps of the spinner, one each [`STEP`].
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const STEP: Duration = Duration::from_millis(125);
/// Time without a piece after which the status shows that the model is waited for, in seconds.
const SLOW: u64 = 2;

pub(super) fn draw(app: &App, buffer: &mut Buffer, area: Rect) {
    let mut line = RowWriter::new(app, buffer, area);
    let dim = Look::new(Token::Quiet);
    let (text, token) = text(app);
    line.say(" ", dim);
    line.say_right(" ", dim);
    let hint = if app.is_busy() {
        "Ctrl+C cancels"
    } else {
        "? help"
    };
    let facts = facts(app);
    // Without room, the less important goes first: the facts, then the hint. The mode stays.
    let mut hint = hint.to_owned();
    if let Some(mode) = app.mode()
        && line.say_right(&format!(" mode {}", mode_name(mode)), dim)
    {
        hint.push_str(" ·");
    }
    line.say(&text, Look::new(token));
    if line.say_right(&hint, dim) && !facts.is_empty() {
        line.say_right(&format!("{facts} · "), dim);
    }
}

/// The status text, with its token.
pub(crate) fn text(app: &App) -> (String, Token) {
    if let LinkState::Down {
        reason,
        tries,
        next_at,
    } = &app.link
    {
        let wait = match next_at.saturating_sub(app.now).as_secs_f32().ceil() {
            0.0 => String::new(),
            seconds => format!(" in {seconds} s"),
        };
        let text = format!(
            "○ reconnecting, try {}{wait} · draft kept · Ctrl+R now · {}",
            tries.saturating_add(1),
            one_line(reason)
        );
        return (text, Token::Status);
    }
    let status = app.conversation.status();
    let message = one_line(&status.message);
    let spinner = SPINNER
        [usize::try_from(app.now.as_millis() / STEP.as_millis()).unwrap_or(0) % SPINNER.len()];
    let is_cancelling = app.cancelling.is_some() && app.cancelling == status.run_id;
    let elapsed = app.now.saturating_sub(status.since).as_secs();
    let time = time(app, elapsed);
    let who = who(app);
    let going = |text: String| (format!("{spinner} {text}{time}{who}"), Token::Status);
    match status.state {
        _ if is_cancelling => going("Cancelling...".to_owned()),
        _ if status.is_compacting => going("Compacting...".to_owned()),
        ActivityState::Thinking if message.is_empty() => going(phase(app, elapsed).to_owned()),
        ActivityState::Thinking => going(format!("Thinking... {message}")),
        ActivityState::RunningTool => {
            let tool = status.tool.as_deref().map_or(message, one_line);
            going(format!("Running: {tool}..."))
        }
        ActivityState::WaitingApproval => {
            let waits = format!("{message} waits for your approval: /approve or /deny");
            (waits, Token::Status)
        }
        ActivityState::Error => (format!("Error: {message}"), Token::Error),
        ActivityState::Idle | ActivityState::Unknown => (String::new(), Token::Status),
    }
}

/// The visible phase of the reply.
fn phase(app: &App, elapsed: u64) -> &'static str {
    match app.conversation.growing() {
        Some(GrowingKind::Text) => "Writing...",
        Some(GrowingKind::ToolInput) => "Writing a tool call...",
        None if elapsed >= SLOW => "Thinking... waiting for the model",
        Some(GrowingKind::Thinking) | None => "Thinking...",
    }
}

/// The seconds of the present state, and those of the whole run if they are more. Empty in the first second.
fn time(app: &App, elapsed: u64) -> String {
    if elapsed == 0 {
        return String::new();
    }
    let since = app.conversation.status().run_since;
    let run = since.map(|since| app.now.saturating_sub(since).as_secs());
    match run.filter(|run| *run > elapsed) {
        Some(run) => format!(" {elapsed} s of {run} s"),
        None => format!(" {elapsed} s"),
    }
}

/// The owner of the run.
fn who(app: &App) -> String {
    // Its prompt, if it continues one, is another client's.
    if let Some(name) = app.conversation.status().begun_by() {
        return match name == app.name() {
            true => String::new(),
            false => format!(" · by {}", someone(name)),
        };
    }
    match app.conversation.run_author() {
        Some(Author::Named(name)) => format!(" · by {}", someone(name)),
        Some(Author::You | Author::Unnamed) | None => String::new(),
    }
}

/// Further facts: the model, how much it thinks, and the context.
fn facts(app: &App) -> String {
    let status = app.conversation.status();
    let mut facts = Vec::new();
    if let Some(model) = &status.model {
        facts.push(one_line(model));
    }
    if let Some(level) = status.settings.thinking {
        facts.push(format!("thinking {}", words::thinking(level)));
    }
    facts.extend(
        status
            .context
            .map(Context::words)
            .filter(|words| !words.is_empty()),
    );
    facts.join(" · ")
}
