//! Draws frames: what differs from the last one, in one piece.
//!
//! Invariant: the terminal is asked nothing. Its size is what it was said to be, so that no frame
//! costs a system call, and where the cursor is nobody needs to know.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

/// Terminals that know it show everything up to its end at once; others pass over it.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// The screen, frame after frame.
pub(crate) struct Frames<W> {
    terminal: Terminal<Surface>,
    bytes: Bytes,
    sink: W,
}

impl<W: Write> Frames<W> {
    /// An empty screen of this size.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn new(sink: W, width: u16, height: u16) -> io::Result<Self> {
        // Whether there are colours is the theme's business: with NO_COLOR crossterm would write a
        // reset for each colour, which also ends bold and underlined.
        crossterm::style::force_color_output(true);
        let bytes = Bytes::default();
        let size = Size { width, height };
        let surface = Surface {
            inner: CrosstermBackend::new(bytes.clone()),
            size,
        };
        let viewport = Viewport::Fixed(Rect::from(size));
        let terminal = Terminal::with_options(surface, TerminalOptions { viewport })?;
        Ok(Self {
            terminal,
            bytes,
            sink,
        })
    }

    /// Draws a frame. It is written in one piece.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render)?;
        let drawn = std::mem::take(&mut *self.bytes.0.borrow_mut());
        let frame = [BEGIN.as_bytes(), &drawn, END.as_bytes()].concat();
        self.sink.write_all(&frame)?;
        self.sink.flush()
    }

    /// The terminal has another size. The next frame is drawn as a whole.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn resize(&mut self, width: u16, height: u16) -> io::Result<()> {
        let size = Size { width, height };
        self.terminal.backend_mut().size = size;
        self.terminal.resize(Rect::from(size))
    }

    /// What is on the screen is not what was drawn. The next frame is drawn as a whole.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        let size = self.terminal.backend().size;
        self.resize(size.width, size.height)
    }
}

/// What was drawn and not written.
#[derive(Debug, Clone, Default)]
struct Bytes(Rc<RefCell<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Nothing is written before the frame is complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal of a known size.
struct Surface {
    inner: CrosstermBackend<Bytes>,
    size: Size,
}

impl Backend for Surface {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces in which something was written.
    #[derive(Clone, Default)]
    struct Pieces(Rc<RefCell<Vec<String>>>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let piece = String::from_utf8_lossy(bytes).into_owned();
            self.0.borrow_mut().push(piece);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Pieces {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut *self.0.borrow_mut())
        }
    }

    const RESET: &str = "\x1b[39m\x1b[49m\x1b[59m\x1b[0m";

    /// Spec: [TERM-17] [TERM-18]
    #[test]
    fn a_frame_is_one_piece_and_only_what_differs() {
        let pieces = Pieces::default();
        let mut frames = Frames::new(pieces.clone(), 8, 2).unwrap();
        let text = |text: &'static str| {
            move |frame: &mut Frame<'_>| {
                frame.render_widget(text, frame.area());
                frame.set_cursor_position((3, 1));
            }
        };
        frames.draw(text("ab")).unwrap();
        frames.draw(text("ac")).unwrap();
        let cursor = "\x1b[?25h\x1b[2;4H";
        let frame = |drawn: &str| format!("{BEGIN}{drawn}{RESET}{cursor}{END}");
        let expected = [frame("\x1b[1;1Hab"), frame("\x1b[1;2Hc")];
        assert_eq!(pieces.take(), expected);
    }

    /// Spec: [TERM-18] [TERM-19]
    #[test]
    fn a_new_size_is_taken_at_its_word_and_drawn_as_a_whole() {
        let pieces = Pieces::default();
        let mut frames = Frames::new(pieces.clone(), 8, 2).unwrap();
        let areas = RefCell::new(Vec::new());
        let render = |frame: &mut Frame<'_>| {
            areas.borrow_mut().push(frame.area());
            frame.render_widget("ab", frame.area());
        };
        frames.draw(render).unwrap();
        frames.resize(40, 12).unwrap();
        frames.draw(render).unwrap();
        frames.resize(4, 1).unwrap();
        frames.draw(render).unwrap();
        frames.redraw().unwrap();
        frames.draw(render).unwrap();
        let sizes = [(8, 2), (40, 12), (4, 1), (4, 1)];
        let expected = sizes.map(|(width, height)| Rect::new(0, 0, width, height));
        assert_eq!(*areas.borrow(), expected);
        let hidden = format!("\x1b[1;1Hab{RESET}\x1b[?25l{END}");
        let cleared = "\x1b[1;1H\x1b[J";
        let expected = [
            format!("{BEGIN}{hidden}"),
            format!("{BEGIN}{cleared}{hidden}"),
            format!("{BEGIN}\x1b[2J{cleared}{hidden}"),
            format!("{BEGIN}{cleared}{hidden}"),
        ];
        assert_eq!(pieces.take(), expected);
    }
}
