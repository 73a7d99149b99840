//! The mouse: the wheel scrolls, the left button selects.

use std::rc::Rc;
use std::time::Duration;

use super::{App, Overlay, Regions, help};
use crate::layout::PartLayout;
use crate::selection::{Selection, Unit};
use crate::terminal::{Button, Mouse, MouseAction};
use crate::viewport::{ShownRows, SourcePlace, TravelStep, is_bare};

/// Presses on the same cell count as one after the other within this time.
const DOUBLE: Duration = Duration::from_millis(400);
/// Number of rows that one step of the wheel moves.
pub(super) const WHEEL_ROWS: usize = 3;

/// The presses that went before.
#[derive(Debug, Default)]
pub(super) struct Clicks {
    last: Option<(Duration, u16, u16)>,
    count: u8,
    is_dragging: bool,
}

impl Clicks {
    /// Counts presses on the same cell: the second and the third have other meanings.
    fn press(&mut self, mouse: Mouse, now: Duration) -> u8 {
        let is_again = self.last.is_some_and(|(at, column, row)| {
            (column, row) == (mouse.column, mouse.row) && now.saturating_sub(at) <= DOUBLE
        });
        self.count = if is_again { self.count % 3 + 1 } else { 1 };
        self.last = Some((now, mouse.column, mouse.row));
        self.count
    }
}

impl App {
    pub(super) fn mouse(&mut self, mouse: Mouse) {
        match mouse.action {
            MouseAction::Wheel(steps) if self.is_over_band(mouse) => self.wheel_band(steps),
            MouseAction::Wheel(steps) => self.wheel(steps),
            // What is begun over the conversation ends there, whatever was opened since.
            MouseAction::Release(Button::Left) if self.overlay.is_some() => {
                self.clicks.is_dragging = false;
                if self.selection.as_ref().is_some_and(Selection::is_empty) {
                    self.selection = None;
                }
            }
            _ if self.overlay.is_some() => {}
            MouseAction::Press(Button::Left) => self.press(mouse),
            MouseAction::Drag(Button::Left) => self.drag(mouse),
            MouseAction::Release(Button::Left) => {
                self.clicks.is_dragging = false;
                if self.selection.as_ref().is_some_and(Selection::is_empty) {
                    self.selection = None;
                    self.click(mouse);
                }
            }
            MouseAction::Press(_) | MouseAction::Drag(_) | MouseAction::Release(_) => {}
        }
    }

    fn is_over_band(&self, mouse: Mouse) -> bool {
        let band = Regions::of_screen(self).band;
        self.overlay.is_none() && (band.top()..band.bottom()).contains(&mouse.row)
    }

    /// Scrolls the topmost overlay, or the conversation.
    fn wheel(&mut self, steps: i32) {
        let rows = usize::try_from(steps.unsigned_abs()).unwrap_or(0) * WHEEL_ROWS;
        match &mut self.overlay {
            Some(Overlay::Help { above }) => {
                let rows = u16::try_from(rows).unwrap_or(u16::MAX);
                *above = if steps < 0 {
                    above.saturating_sub(rows)
                } else {
                    let most = help::overflow(self.size);
                    above.saturating_add(rows).min(most)
                };
            }
            Some(Overlay::Picker(picker)) => picker.step(isize::from(steps > 0) * 2 - 1),
            Some(Overlay::Chooser(chooser)) => chooser.step(isize::from(steps > 0) * 2 - 1),
            Some(Overlay::Past(past)) => past.step(isize::from(steps > 0) * 2 - 1),
            Some(Overlay::Board(_)) => self.step_on_board(if steps > 0 { 1 } else { -1 }),
            Some(Overlay::Facts(_)) => {}
            Some(Overlay::Search(_)) | None => self.go(if steps < 0 {
                TravelStep::Up(rows)
            } else {
                TravelStep::Down(rows)
            }),
        }
    }

    fn press(&mut self, mouse: Mouse) {
        let area = Regions::of_screen(self).talk;
        self.selection = None;
        self.clicks.is_dragging = false;
        let count = self.clicks.press(mouse, self.now);
        if !(area.top()..area.bottom()).contains(&mouse.row) {
            return;
        }
        // The free columns at the sides count as the nearest text.
        let (column, row) = (mouse.column.saturating_sub(area.x), mouse.row - area.y);
        let Some((place, block)) = self.place_at(column, row) else {
            return;
        };
        self.clicks.is_dragging = true;
        let unit = match count {
            2 => Unit::Word,
            3 => Unit::Paragraph,
            _ => Unit::Character,
        };
        self.selection = Some(Selection::begin(unit, place, &block.source));
    }

    /// The place in the text at a cell of the conversation, and the layout that it is in.
    fn place_at(&mut self, column: u16, row: u16) -> Option<(SourcePlace, Rc<PartLayout>)> {
        let place = self.viewport.hit(column, row, &self.conversation)?;
        let part = self.conversation.part(place.part)?;
        Some((place, self.viewport.block(part)))
    }

    /// A click on the heading of a part that can be folded opens or folds it, and so does one on a row that only counts
    /// the hidden lines.
    fn click(&mut self, mouse: Mouse) {
        let row = mouse.row.wrapping_sub(Regions::of_screen(self).talk.y);
        let visible = self.viewport.visible(&self.conversation);
        let is_handle = |shown: &&ShownRows| {
            let at = shown.rows.start + usize::from(row.wrapping_sub(shown.y));
            let is_bare = shown.block.rows.get(at).is_some_and(is_bare);
            shown.y <= row && shown.rows.contains(&at) && (at == 0 || is_bare)
        };
        let clicked = visible.iter().find(is_handle);
        if let Some(part) = clicked.and_then(|shown| self.conversation.part(shown.part)) {
            self.viewport.folds.toggle(part);
        }
    }

    /// Extends the selection; beyond an edge the conversation moves along.
    fn drag(&mut self, mouse: Mouse) {
        if !self.clicks.is_dragging {
            return;
        }
        let area = Regions::of_screen(self).talk;
        if area.height == 0 {
            return;
        }
        if mouse.row <= area.y {
            self.go(TravelStep::Up(1));
        } else if mouse.row + 1 >= area.bottom() {
            self.go(TravelStep::Down(1));
        }
        let row = mouse.row.clamp(area.y, area.bottom() - 1) - area.y;
        let column = mouse.column.saturating_sub(area.x);
        self.viewport.hold(&self.conversation);
        let place = self.place_at(column, row);
        if let (Some(selection), Some((place, block))) = (&mut self.selection, place) {
            selection.drag(place, &block.source);
        }
    }
}
