//! The layout of the screen.

use ratatui::layout::Rect;

use super::App;
use crate::composer::MAX_ROWS;

/// Columns left free at each side of the conversation.
const MARGIN: u16 = 1;
/// From this height on there is a header.
const HEADER_FROM: u16 = 10;
/// The width that the border and the spaces within it take.
const INPUT_MARGIN: u16 = 4;

/// Maximum number of waiting messages that have a row.
const MAX_QUEUED: usize = 3;
/// On a narrower or a lower screen only their count is shown, in columns and rows.
const QUEUE_FROM: (u16, u16) = (60, 16);

/// The rows of a band that are not its window: its head and its keys.
pub(crate) const BAND_FRAME: u16 = 2;
/// The columns before what a band shows.
const BAND_MARGIN: u16 = 4;

/// The areas of the screen, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Regions {
    /// The title and who is attached.
    pub(crate) header: Rect,
    /// The conversation; it has what the others leave.
    pub(crate) talk: Rect,
    /// The line below it, with what is new and remarks.
    pub(crate) seam: Rect,
    /// The queued messages.
    pub(crate) queue: Rect,
    /// The approvals that wait for an operator's answer.
    pub(crate) band: Rect,
    /// Pastes that were set aside.
    pub(crate) pastes: Rect,
    /// The state of the conversation.
    pub(crate) status: Rect,
    /// The draft, with its border.
    pub(crate) input: Rect,
}

impl Regions {
    /// Divides the whole screen.
    pub(crate) fn of_screen(app: &App) -> Self {
        let (width, height) = app.size;
        Self::layout(app, Rect::new(0, 0, width, height))
    }

    /// Divides the screen.
    pub(crate) fn layout(app: &App, area: Rect) -> Self {
        let written = app
            .composer
            .window(input_width((area.width, area.height)), rows(area));
        let input =
            (u16::try_from(written.rows.len()).unwrap_or(MAX_ROWS).max(1) + 2).min(area.height);
        let mut left = area.height - input;
        let mut take = |wanted: u16| {
            let taken = wanted.min(left);
            left -= taken;
            taken
        };
        let status = take(1);
        let seam = take(1);
        let band = take(band_rows(app, area));
        let pastes = take(u16::from(app.composer.live_chips().next().is_some()));
        let header = take(u16::from(area.height >= HEADER_FROM));
        let queue = take(queue_rows(app, area));
        let heights = [header, left, seam, queue, band, pastes, status, input];
        let mut y = area.y;
        let [header, talk, seam, queue, band, pastes, status, input] = heights.map(|height| {
            let region = Rect { y, height, ..area };
            y += height;
            region
        });
        Self {
            header,
            talk: Rect {
                x: talk.x + MARGIN.min(talk.width),
                width: talk.width.saturating_sub(2 * MARGIN),
                ..talk
            },
            seam,
            queue,
            band,
            pastes,
            status,
            input,
        }
    }

    /// Number of columns for the content of a band on a screen of that size.
    pub(crate) fn band_width(size: (u16, u16)) -> u16 {
        size.0.saturating_sub(BAND_MARGIN).max(1)
    }
}

/// Maximum number of rows for the input in an area.
fn rows(area: Rect) -> u16 {
    let most = area.height.saturating_sub(2) / 2;
    most.clamp(1, MAX_ROWS)
}

/// Number of columns for the input on a screen of that size.
pub(crate) fn input_width(size: (u16, u16)) -> u16 {
    size.0.saturating_sub(INPUT_MARGIN).max(1)
}

/// Number of rows that the band wants on a screen: at most half of it, and none where it cannot be answered.
fn band_rows(app: &App, screen: Rect) -> u16 {
    let Some(band) = &app.band else {
        return 0;
    };
    let wanted = u16::try_from(band.len()).unwrap_or(u16::MAX);
    wanted.saturating_add(BAND_FRAME).min(screen.height / 2)
}

/// Number of rows that the queue wants on a screen: the last one has the count of hidden messages.
fn queue_rows(app: &App, screen: Rect) -> u16 {
    let count = app.conversation.waiting().len();
    u16::try_from(count.min(shown_in_queue(screen) + 1)).unwrap_or(0)
}

/// Maximum number of waiting messages that have a row on a screen.
pub(crate) fn shown_in_queue(screen: Rect) -> usize {
    if screen.width < QUEUE_FROM.0 || screen.height < QUEUE_FROM.1 {
        0
    } else {
        MAX_QUEUED
    }
}
