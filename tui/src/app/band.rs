//! The band above the input in which an approval waits for its answer.
//!
//! Invariant: nothing that is typed without the focus answers, and nothing answers what was not on the
//! screen for a while, or whose end was not. The band takes the focus by itself while the draft is empty.

use std::time::Duration;

use harness_protocol::{
    AnswerOrder, Approval, Event, Scope, UndoOutcome, UndoneFile, Verdict, words,
};

use super::{App, Field, Regions};
use crate::asked::{ShownSubject, caveats, head, subject};
use crate::keys::{self, Chord, KeyAction, KeyPlace};
use crate::layout::{PartLayout, RowPiece, ScreenRow};
use crate::link::ClientOrder;
use crate::terminal::{Key, KeyPress};
use crate::text::{
    self, ANOTHER_CLIENT, Hidden, break_anywhere, one_line, sanitize, someone, wrap,
};
use crate::theme::{Look, Token};

/// Minimum time that a band must be on the screen, without a key for anything else, before a key is for it; and the
/// time after a band disappeared in which its keys are ignored.
const SETTLES: Duration = Duration::from_millis(500);

/// The band of one approval.
#[derive(Debug)]
pub(crate) struct Band {
    approval: Approval,
    /// Its subject, in one line.
    subject: String,
    /// The time at which it appeared on the screen.
    since: Duration,
    /// The rows below its head, of the screen's width.
    block: PartLayout,
    width: u16,
    /// Number of rows above its window.
    above: usize,
    /// True if the operator asked for the caveats.
    shows_caveats: bool,
    /// The time at which its last row was in its window.
    read_at: Option<Duration>,
    /// True if the keys are for it.
    pub(crate) has_focus: bool,
    /// True if the operator went back to the input: it does not take the focus by itself again.
    is_declined: bool,
    /// The choice that Enter takes, if the operator moved the mark; else it is the first one.
    chosen: Option<KeyAction>,
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
            block: PartLayout::default(),
            width: 0,
            above: 0,
            shows_caveats: false,
            read_at: None,
            has_focus: false,
            is_declined: false,
            chosen: None,
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
    pub(crate) fn window(&self, height: usize) -> &[ScreenRow] {
        let start = self.above.min(self.len());
        &self.block.rows[start..(start + height).min(self.len())]
    }

    /// The text that the rows are made of.
    pub(crate) fn source(&self) -> &str {
        &self.block.source
    }

    /// The text of those rows.
    #[cfg(test)]
    pub(super) fn visible_rows(&self, height: usize) -> Vec<String> {
        let of_row = |row: &ScreenRow| {
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
            BandAsks::Answer => {
                let mut hint = String::new();
                let choices = self.choices();
                let chosen = self.place_of_mark(&choices);
                for (place, (_, words)) in choices.iter().enumerate() {
                    let is_chosen = place == chosen;
                    let (left, right) = if is_chosen { ("[", "]") } else { ("", "") };
                    hint.push_str(&format!("{left}{words}{right} · "));
                }
                hint + "Esc"
            }
        }
    }

    /// The choices in the order of the screen. What was not read to its end cannot be allowed.
    fn choices(&self) -> Vec<(KeyAction, &'static str)> {
        let mut choices = match (self.read_at, self.rule()) {
            (None, _) => vec![(KeyAction::PageDown, "PgDn to its end first")],
            (Some(_), None) => vec![(KeyAction::Allow, "a allow")],
            (Some(_), Some(_)) => vec![
                (KeyAction::Allow, "a allow"),
                (KeyAction::AllowLonger, "A for longer"),
            ],
        };
        choices.extend([
            (KeyAction::Deny, "d deny"),
            (KeyAction::DenySaying, "D say why"),
            (KeyAction::DenyAndStop, "s deny and stop"),
        ]);
        choices
    }

    /// The place of the marked choice: the mark stays with its choice when others come or go.
    fn place_of_mark(&self, choices: &[(KeyAction, &str)]) -> usize {
        let is_chosen = |(action, _): &(KeyAction, &str)| Some(*action) == self.chosen;
        choices.iter().position(is_chosen).unwrap_or(0)
    }

    fn choose(&mut self, step: isize) {
        let choices = self.choices();
        let place = self.place_of_mark(&choices).saturating_add_signed(step);
        let chosen = choices.get(place).or(choices.last());
        self.chosen = chosen.map(|(action, _)| *action);
    }

    /// Lays it out for a width.
    fn lay_out(&mut self, width: u16) {
        if self.width == width {
            return;
        }
        self.width = width;
        self.read_at = None;
        self.block = PartLayout::default();
        let columns = usize::from(width).max(1);
        // The head is one row. Where a long name would hide the rest of it, all of it is below.
        let head = Some(self.subject.clone()).filter(|head| text::width(head) > columns);
        let head = head.map(|head| ShownSubject::Line(head, Token::Notice));
        let shown = head.into_iter().chain(subject(&self.approval.subject));
        for shown in shown.chain(self.reasons(columns)) {
            match shown {
                ShownSubject::Sentence(sentence) => self.push_sentence(&sentence, columns),
                ShownSubject::Line(line, token) => self.push_exactly(&line, token, columns),
                ShownSubject::Diff(diff) => {
                    let start = self.begin_line();
                    let rows = diff.rows(start, columns, usize::MAX);
                    self.block.rows.extend(rows);
                    self.block.source.push_str(&diff.text);
                }
            }
        }
    }

    /// The caveats, if the operator asked for them; the reason, the rule for longer, and the key for the caveats. As many
    /// of the latter share a row as fit: an edit of one line is then seen whole on a small screen.
    fn reasons(&self, columns: usize) -> Vec<ShownSubject> {
        let caveats = caveats(&self.approval.subject);
        let has_key = !caveats.is_empty() && !self.shows_caveats;
        let because = self.approval.because.clone();
        let rule = self.rule();
        let rule = rule.map(|rule| format!("the rule for longer: {rule}"));
        let key = has_key.then(|| "c shows what is not held".to_owned());
        let mut rows: Vec<String> = Vec::new();
        for part in [Some(because), rule, key].into_iter().flatten() {
            match rows.last_mut() {
                Some(row) if text::width(row) + text::width(&part) + 3 <= columns => {
                    row.push_str(" · ");
                    row.push_str(&part);
                }
                _ => rows.push(part),
            }
        }
        let shown = if self.shows_caveats {
            caveats
        } else {
            Vec::new()
        };
        let shown = shown.into_iter().map(ShownSubject::Sentence);
        let rows = rows.into_iter().map(|row| match self.rule() {
            Some(rule) if row.contains(rule) => ShownSubject::Line(row, Token::Notice),
            _ => ShownSubject::Sentence(row),
        });
        shown.chain(rows).collect()
    }

    /// Begins a line of the source. Returns its offset.
    fn begin_line(&mut self) -> usize {
        self.block.source.push('\n');
        self.block.source.len()
    }

    /// A line of a command, of an input or an error: every character is seen.
    fn push_exactly(&mut self, line: &str, token: Token, columns: usize) {
        let start = self.begin_line();
        // Each is one line: none of them can look like another.
        let text = sanitize(line, Hidden::Pictured).replace('\n', "␊");
        for range in break_anywhere(&text, columns) {
            let place = start + range.start..start + range.end;
            self.block.rows.push(ScreenRow {
                pieces: vec![RowPiece::source(place, Look::new(token))],
                fill: None,
            });
        }
        self.block.source.push_str(&text);
    }

    /// A sentence, broken between words.
    fn push_sentence(&mut self, sentence: &str, columns: usize) {
        let start = self.begin_line();
        let text = sanitize(sentence, Hidden::Pictured).replace('\n', "␊");
        for stretches in wrap(&[&text], columns) {
            let pieces = stretches.into_iter().map(|stretch| {
                let place = start + stretch.range.start..start + stretch.range.end;
                RowPiece::source(place, Look::new(Token::Notice))
            });
            self.block.rows.push(ScreenRow {
                pieces: pieces.collect(),
                fill: None,
            });
        }
        self.block.source.push_str(&text);
    }

    /// Shows the caveats, or hides them. The end has to be seen again.
    fn toggle_caveats(&mut self) {
        self.shows_caveats = !self.shows_caveats;
        self.width = 0;
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
        let open = self.conversation.approval();
        let is_open = |band: &Band| {
            open.is_some_and(|open| {
                band.approval.id == open.id && band.approval.digest == open.digest
            })
        };
        if self.band.as_ref().is_some_and(|band| !is_open(band)) {
            let gone = self.band.take();
            if gone.is_some_and(|band| band.has_focus) {
                self.band_gone_at = Some(self.now);
            }
        }
        let Some(open) = open else {
            return;
        };
        if self.band.is_none() {
            let folder = self.conversation.status().folder.as_deref();
            self.band = Some(Band::new(open, folder, self.now));
        }
        let width = Regions::band_width(self.size);
        if let Some(band) = &mut self.band {
            band.lay_out(width);
        }
        let height = self.band_window();
        let now = self.now;
        if let Some(band) = &mut self.band {
            band.scroll(0, height);
            if height > 0 && band.above + height >= band.len() {
                band.read_at.get_or_insert(now);
            }
        }
        self.offer_focus();
    }

    /// Gives the band the keys once it was on the screen for a while and the operator does not write.
    pub(super) fn offer_focus(&mut self) {
        let is_free = self.overlay.is_none()
            && self.composer.is_empty()
            && self.picked.is_none()
            && self.selection.is_none()
            && !self.is_typing();
        let now = self.now;
        if let Some(band) = &mut self.band {
            let has_settled = now.saturating_sub(band.since) >= SETTLES;
            band.has_focus |= is_free && has_settled && !band.is_declined;
        }
    }

    /// True if a key was pressed elsewhere a moment ago.
    fn is_typing(&self) -> bool {
        self.typed_at
            .is_some_and(|at| self.now.saturating_sub(at) < SETTLES)
    }

    /// True if a key must be ignored: it answers an approval, and the band appeared or disappeared a moment ago. Keys
    /// while a draft is being written are never ignored.
    pub(super) fn must_ignore(&self, press: &KeyPress) -> bool {
        let is_for_band = matches!(press.code, Key::Char(_) | Key::Enter)
            && keys::action(Chord::from(press), KeyPlace::Band).is_some();
        let came = self.band.as_ref().filter(|band| !band.is_declined);
        let came_at = came.map(|band| band.since);
        let mut turns = [came_at, self.band_gone_at].into_iter().flatten();
        is_for_band
            && !self.answers()
            && self.overlay.is_none()
            && self.composer.is_empty()
            && !self.is_typing()
            && turns.any(|at| self.now.saturating_sub(at) < SETTLES)
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
    pub(super) fn band_place(&self) -> Option<KeyPlace> {
        let band = self.band.as_ref().filter(|band| band.has_focus)?;
        Some(match band.asks {
            BandAsks::Answer => KeyPlace::Band,
            BandAsks::Scope => KeyPlace::BandScope,
            BandAsks::Reason(_) => KeyPlace::BandReason,
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
                band.is_declined = !band.has_focus;
                band.asks = BandAsks::Answer;
            }
        }
    }

    /// A character that is no key of the band goes back to the input with the focus.
    pub(super) fn leave_band_writing(&mut self) {
        if let Some(band) = &mut self.band
            && matches!(band.asks, BandAsks::Answer)
        {
            band.has_focus = false;
        }
    }

    /// Takes the choice that is marked. The end of what is asked must have been on the screen for a while: the key may
    /// have been meant to bring it there.
    fn take_choice(&mut self) {
        let now = self.now;
        let Some(band) = &self.band else { return };
        let choices = band.choices();
        let chosen = choices.get(band.place_of_mark(&choices));
        let chosen = chosen.map(|(action, _)| *action);
        let is_read = band
            .read_at
            .is_some_and(|at| now.saturating_sub(at) >= SETTLES);
        match chosen {
            Some(KeyAction::Allow | KeyAction::AllowLonger) if !is_read => {}
            Some(action) => self.act_on_band(action),
            None => {}
        }
    }

    pub(super) fn act_on_band(&mut self, action: KeyAction) {
        let height = self.band_window();
        let page = isize::try_from(height).unwrap_or(isize::MAX);
        let Some(band) = &mut self.band else {
            return;
        };
        match action {
            KeyAction::Up => band.scroll(-1, height),
            KeyAction::Down => band.scroll(1, height),
            KeyAction::PageUp => band.scroll(-page, height),
            KeyAction::PageDown => band.scroll(page, height),
            KeyAction::Top => band.scroll(isize::MIN, height),
            KeyAction::Bottom => band.scroll(isize::MAX, height),
            KeyAction::Close => match band.asks {
                BandAsks::Answer => {
                    band.has_focus = false;
                    band.is_declined = true;
                }
                BandAsks::Scope | BandAsks::Reason(_) => band.asks = BandAsks::Answer,
            },
            KeyAction::Backspace => {
                if let BandAsks::Reason(field) = &mut band.asks {
                    field.backspace();
                }
            }
            KeyAction::Clear => {
                if let BandAsks::Reason(field) = &mut band.asks {
                    field.clear();
                }
            }
            KeyAction::Accept => match &band.asks {
                BandAsks::Reason(field) => {
                    let reason = Some(field.text().to_owned()).filter(|text| !text.is_empty());
                    self.deny(reason, false);
                }
                BandAsks::Answer => self.take_choice(),
                BandAsks::Scope => {}
            },
            KeyAction::Left => band.choose(-1),
            KeyAction::Right => band.choose(1),
            KeyAction::Decide => self.focus_band(),
            KeyAction::Interrupt => self.interrupt(),
            KeyAction::Allow => self.allow(Scope::Once),
            KeyAction::AllowLonger if band.read_at.is_none() => self.say_unread(),
            KeyAction::AllowLonger if band.rule().is_some() => {
                band.asks = BandAsks::Scope;
                // The rule that it is allowed by is on the screen.
                band.scroll(isize::MAX, height);
            }
            KeyAction::AllowLonger => self.say("this can be allowed once only"),
            KeyAction::ForRun => self.allow(Scope::Run),
            KeyAction::ForConversation => self.allow(Scope::Conversation),
            KeyAction::ForFolder => self.allow(Scope::Workspace),
            KeyAction::Deny => self.deny(None, false),
            KeyAction::DenySaying => band.asks = BandAsks::Reason(Field::default()),
            KeyAction::DenyAndStop => self.deny(None, true),
            KeyAction::Caveats => {
                band.toggle_caveats();
                self.settle_band();
            }
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
        let is_read = self
            .band
            .as_ref()
            .is_some_and(|band| band.read_at.is_some());
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
        self.order(ClientOrder::Answer {
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
        self.order(ClientOrder::Undo { conversation });
        true
    }

    /// Says what was taken back; what was left is named.
    pub(super) fn undone(&mut self, files: &[UndoneFile], notes: &[String]) {
        let is_left = |file: &&UndoneFile| file.outcome == UndoOutcome::Conflict;
        let left: Vec<&UndoneFile> = files.iter().filter(is_left).collect();
        let named = left.iter().take(words::MAX_FILES_NAMED).copied();
        let named = named.map(words::undone);
        let notes = notes.iter().map(|note| words::not_undone(note));
        let left: Vec<String> = named
            .chain(words::more_files(left.len()))
            .chain(notes)
            .collect();
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
