//! The band above the input in which an approval waits for its answer.
//!
//! Invariant: nothing that is typed without the focus answers, and nothing answers what was not on the
//! screen for a while, or whose end was not.

use std::time::Duration;

use harness_protocol::{
    AnswerOrder, Approval, Event, Scope, UndoOutcome, UndoneFile, Verdict, words,
};

use super::{App, Field, Regions};
use crate::asked::{Shown, head, subject};
use crate::keys::{Action, Place};
use crate::layout::{Block, Piece, Row};
use crate::link::Order;
use crate::text::{self, ANOTHER_CLIENT, Hidden, break_anywhere, one_line, sanitize, someone};
use crate::theme::{Look, Token};

/// Minimum time that a band must be on the screen before a key is for it.
const SETTLES: Duration = Duration::from_millis(400);

/// Maximum number of columns of the head's row for the count of rows below.
const BESIDE_HEAD: usize = 20;

/// The band of one approval.
#[derive(Debug)]
pub(crate) struct Band {
    approval: Approval,
    /// Its subject, in one line.
    subject: String,
    /// The time at which it appeared on the screen.
    since: Duration,
    /// The rows below its head, of the screen's width.
    block: Block,
    width: u16,
    /// Number of rows above its window.
    above: usize,
    /// True if the last row was in its window.
    is_read: bool,
    /// True if the keys are for it.
    pub(crate) has_focus: bool,
    pub(crate) asks: BandAsks,
    /// The answer that is on its way.
    sent: Option<Verdict>,
}

/// The question of a band to the operator.
#[derive(Debug)]
pub(crate) enum BandAsks {
    /// The verdict for the tool.
    Answer,
    /// The scope of an allowance.
    Scope,
    /// The reason of a denial.
    Reason(Field),
}

impl Band {
    fn new(approval: &Approval, folder: Option<&str>, now: Duration) -> Self {
        let subject = head(approval, folder);
        Self {
            approval: approval.clone(),
            subject: one_line(&sanitize(&subject, Hidden::Pictured)),
            since: now,
            block: Block::default(),
            width: 0,
            above: 0,
            is_read: false,
            has_focus: false,
            asks: BandAsks::Answer,
            sent: None,
        }
    }

    /// Its first line.
    pub(crate) fn head(&self) -> &str {
        &self.subject
    }

    /// Number of rows below its head.
    pub(crate) fn len(&self) -> usize {
        self.block.rows.len()
    }

    /// The rows in a window of that height.
    pub(crate) fn window(&self, height: usize) -> &[Row] {
        let start = self.above.min(self.len());
        &self.block.rows[start..(start + height).min(self.len())]
    }

    /// The text that the rows are made of.
    pub(crate) fn source(&self) -> &str {
        &self.block.source
    }

    /// The text of those rows.
    #[cfg(test)]
    pub(super) fn shown(&self, height: usize) -> Vec<String> {
        let of_row = |row: &Row| {
            let pieces = row.pieces.iter();
            pieces.map(|piece| piece.text(self.source()).0).collect()
        };
        self.window(height).iter().map(of_row).collect()
    }

    /// Number of rows below a window of that height.
    pub(crate) fn below(&self, height: usize) -> usize {
        self.len().saturating_sub(self.above + height)
    }

    /// The rule that an answer makes that reaches further than once.
    fn rule(&self) -> Option<&str> {
        self.approval.rule.as_deref()
    }

    /// The keys that can be pressed.
    pub(crate) fn hint(&self) -> String {
        if let Some(sent) = self.sent {
            return format!("{}, is being sent", words::verdict(sent));
        }
        if !self.has_focus {
            return "Tab or Ctrl+T to answer".to_owned();
        }
        match &self.asks {
            BandAsks::Reason(field) => {
                format!(
                    "why not: {}▏ Enter denies · Esc back",
                    one_line(field.text())
                )
            }
            BandAsks::Scope => {
                "allow by the rule: r this run · c this conversation · f this folder · Esc"
                    .to_owned()
            }
            BandAsks::Answer if !self.is_read => {
                "↓ PgDn to its end first · d deny · D say why · s stop · Esc".to_owned()
            }
            BandAsks::Answer => {
                let more = if self.rule().is_some() {
                    " · A for longer"
                } else {
                    ""
                };
                format!("a allow{more} · d deny · D say why · s deny and stop · Esc")
            }
        }
    }

    /// Lays it out for a width.
    fn lay_out(&mut self, width: u16) {
        if self.width == width {
            return;
        }
        self.width = width;
        self.is_read = false;
        let columns = usize::from(width).max(1);
        let mut shown = Vec::new();
        // The head is one row. Where a long name would hide the rest of it, all of it is below.
        if text::width(&self.subject) + BESIDE_HEAD > columns {
            shown.push(Shown::Line(self.subject.clone(), Token::Notice));
        }
        let because = self.approval.because.clone();
        shown.push(Shown::Line(because, Token::Notice));
        shown.extend(subject(&self.approval.subject));
        let rule = self.approval.rule.iter();
        let rule = rule.map(|rule| format!("the rule for longer: {rule}"));
        shown.extend(rule.map(|rule| Shown::Line(rule, Token::Notice)));
        self.block = Block::default();
        for shown in shown {
            self.block.source.push('\n');
            let start = self.block.source.len();
            match shown {
                Shown::Line(line, token) => {
                    // Each is one line: none of them can look like another.
                    let text = sanitize(&line, Hidden::Pictured).replace('\n', "␊");
                    for range in break_anywhere(&text, columns) {
                        let place = start + range.start..start + range.end;
                        self.block.rows.push(Row {
                            pieces: vec![Piece::source(place, Look::new(token))],
                            fill: None,
                        });
                    }
                    self.block.source.push_str(&text);
                }
                Shown::Diff(diff) => {
                    self.block
                        .rows
                        .extend(diff.rows(start, columns, usize::MAX));
                    self.block.source.push_str(&diff.text);
                }
            }
        }
    }

    /// Moves its window, of that height.
    fn scroll(&mut self, rows: isize, height: usize) {
        let most = self.len().saturating_sub(height);
        self.above = self.above.saturating_add_signed(rows).min(most);
    }
}

fn count(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

impl App {
    /// Shows the open approval, or removes the band if there is none.
    pub(super) fn settle_band(&mut self) {
        let Some(open) = self.conversation.approval() else {
            self.band = None;
            return;
        };
        let is_it =
            |band: &Band| band.approval.id == open.id && band.approval.digest == open.digest;
        if !self.band.as_ref().is_some_and(is_it) {
            let folder = self.conversation.status().folder.as_deref();
            self.band = Some(Band::new(open, folder, self.now));
        }
        let width = Regions::band_width(self.size);
        if let Some(band) = &mut self.band {
            band.lay_out(width);
        }
        let height = self.band_window();
        if let Some(band) = &mut self.band {
            band.scroll(0, height);
            band.is_read |= height > 0 && band.above + height >= band.len();
        }
    }

    /// Number of rows of the band that are in its window.
    fn band_window(&self) -> usize {
        let height = Regions::of_screen(self).band.height;
        usize::from(height.saturating_sub(super::regions::BAND_FRAME))
    }

    /// True if the keys are for the band.
    pub(super) fn answers(&self) -> bool {
        self.band_place().is_some()
    }

    /// The place of the keys, if they are for the band.
    pub(super) fn band_place(&self) -> Option<Place> {
        let band = self.band.as_ref().filter(|band| band.has_focus)?;
        Some(match band.asks {
            BandAsks::Answer => Place::Band,
            BandAsks::Scope => Place::BandScope,
            BandAsks::Reason(_) => Place::BandReason,
        })
    }

    /// Gives the band the keys, or takes them.
    pub(super) fn focus_band(&mut self) {
        let now = self.now;
        match &mut self.band {
            None => self.say("nothing waits for an answer"),
            // Whoever typed when it came did not mean it.
            Some(band) if now.saturating_sub(band.since) < SETTLES => {}
            Some(band) => {
                band.has_focus = !band.has_focus;
                band.asks = BandAsks::Answer;
            }
        }
    }

    pub(super) fn act_on_band(&mut self, action: Action) {
        let height = self.band_window();
        let page = isize::try_from(height).unwrap_or(isize::MAX);
        let Some(band) = &mut self.band else {
            return;
        };
        match action {
            Action::Up => band.scroll(-1, height),
            Action::Down => band.scroll(1, height),
            Action::PageUp => band.scroll(-page, height),
            Action::PageDown => band.scroll(page, height),
            Action::Top => band.scroll(isize::MIN, height),
            Action::Bottom => band.scroll(isize::MAX, height),
            Action::Close => match band.asks {
                BandAsks::Answer => band.has_focus = false,
                BandAsks::Scope | BandAsks::Reason(_) => band.asks = BandAsks::Answer,
            },
            Action::Backspace => {
                if let BandAsks::Reason(field) = &mut band.asks {
                    field.backspace();
                }
            }
            Action::Clear => {
                if let BandAsks::Reason(field) = &mut band.asks {
                    field.clear();
                }
            }
            Action::Accept => {
                if let BandAsks::Reason(field) = &band.asks {
                    let reason = Some(field.text().to_owned()).filter(|text| !text.is_empty());
                    self.deny(reason, false);
                }
            }
            Action::Decide => self.focus_band(),
            Action::Interrupt => self.interrupt(),
            Action::Allow => self.allow(Scope::Once),
            Action::AllowLonger if !band.is_read => self.say_unread(),
            Action::AllowLonger if band.rule().is_some() => band.asks = BandAsks::Scope,
            Action::AllowLonger => self.say("this can be allowed once only"),
            Action::ForRun => self.allow(Scope::Run),
            Action::ForConversation => self.allow(Scope::Conversation),
            Action::ForFolder => self.allow(Scope::Workspace),
            Action::Deny => self.deny(None, false),
            Action::DenySaying => band.asks = BandAsks::Reason(Field::default()),
            Action::DenyAndStop => self.deny(None, true),
            // Bound elsewhere.
            _ => {}
        }
    }

    /// The wheel moves the band; nothing else of the mouse is for it.
    pub(super) fn wheel_band(&mut self, steps: i32) {
        let height = self.band_window();
        let rows = isize::try_from(steps).unwrap_or(0) * super::mouse::WHEEL_ROWS.cast_signed();
        if let Some(band) = &mut self.band {
            band.scroll(rows, height);
        }
    }

    /// The draft while the band has the keys: the reason of a refusal.
    pub(super) fn write_to_band(&mut self, text: &str) {
        if let Some(Band {
            asks: BandAsks::Reason(field),
            ..
        }) = &mut self.band
        {
            field.insert(text);
        }
    }

    fn say_unread(&mut self) {
        self.say("look at all of it first: its end was not on the screen");
    }

    /// Allows what the band shows; whether it could be.
    fn allow(&mut self, scope: Scope) {
        let is_read = self.band.as_ref().is_some_and(|band| band.is_read);
        if !is_read {
            self.say_unread();
            return;
        }
        self.answer(Verdict::Allow, scope, None, false);
    }

    fn deny(&mut self, message: Option<String>, stop: bool) {
        self.answer(Verdict::Deny, Scope::Once, message, stop);
    }

    fn answer(&mut self, answer: Verdict, scope: Scope, message: Option<String>, stop: bool) {
        let key = self.new_key();
        let Some(conversation) = self.there() else {
            return;
        };
        let Some(band) = self.band.as_mut().filter(|band| band.sent.is_none()) else {
            return;
        };
        band.sent = Some(answer);
        band.asks = BandAsks::Answer;
        let approval = band.approval.id;
        let answer = AnswerOrder {
            answer,
            digest: Some(band.approval.digest.clone()),
            scope,
            message,
            stop,
            // The link says who.
            by: None,
            key: Some(key),
        };
        self.order(Order::Answer {
            conversation,
            approval,
            answer,
        });
    }

    /// `/approve`: allows what is asked; whether that was said rightly.
    pub(super) fn approve_command(&mut self, argument: &str) -> bool {
        let scope = match argument {
            "" | "once" => Scope::Once,
            "run" => Scope::Run,
            "conversation" => Scope::Conversation,
            "folder" => Scope::Workspace,
            _ => {
                self.complain(
                    "say /approve, /approve run, /approve conversation or /approve folder",
                );
                return false;
            }
        };
        let Some(band) = &self.band else {
            self.complain("nothing waits for an answer");
            return false;
        };
        if !band.approval.scopes.contains(&scope) {
            self.complain("this can be allowed once only");
            return false;
        }
        self.allow(scope);
        true
    }

    /// `/deny`: refuses what is asked, and tells the model why.
    pub(super) fn deny_command(&mut self, argument: &str) -> bool {
        if self.band.is_none() {
            self.complain("nothing waits for an answer");
            return false;
        }
        let message = Some(argument.to_owned()).filter(|text| !text.is_empty());
        self.deny(message, false);
        true
    }

    /// `/undo`: takes back what the tools changed last; whether that could be tried.
    pub(super) fn undo_changes(&mut self) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(Order::Undo { conversation });
        true
    }

    /// Says what was taken back; what was left is named.
    pub(super) fn undone(&mut self, files: &[UndoneFile], notes: &[String]) {
        let left = files
            .iter()
            .filter(|file| file.outcome == UndoOutcome::Conflict);
        let notes = notes.iter().map(|note| words::not_undone(note));
        let left: Vec<String> = left.map(words::undone).chain(notes).collect();
        match left.as_slice() {
            [] => self.say(format!("{} taken back", count(files.len()))),
            left => self.complain(one_line(&left.join(", "))),
        }
    }

    /// The service did not take an answer.
    pub(super) fn not_answered(&mut self, approval: u64, reason: &str) {
        if let Some(band) = self
            .band
            .as_mut()
            .filter(|band| band.approval.id == approval)
        {
            band.sent = None;
        }
        self.complain(one_line(reason));
    }

    /// Reports the outcome of an approval that this client did not answer. The caller asks before it applies the event.
    pub(super) fn notice_answer(&mut self, event: &Event) {
        let open = self.band.as_ref().map(|band| band.approval.id);
        match event {
            Event::ApprovalAsked { approval, .. } => self.tell_question(&approval.tool),
            Event::ApprovalAnswered { id, answer, by, .. }
                if open == Some(*id) && by.as_deref() != Some(self.name()) =>
            {
                let who = by.as_deref().map_or(ANOTHER_CLIENT.to_owned(), someone);
                self.say(format!("{who} {} it", words::verdict(*answer)));
            }
            Event::ApprovalWithdrawn { id, reason, .. } if open == Some(*id) => {
                self.say(format!("it waits no more: {}", words::withdrawal(*reason)));
            }
            _ => {}
        }
    }
}
