//! How much is written to the terminal while a reply is followed.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use serde_json::json;

use super::*;
use crate::app::Msg;
use crate::app::testing::*;
use crate::conversation::testing::event;
use crate::terminal::Frames;

/// Counts what is written.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const PROSE: &str = "The test waits on *wall-clock* time. **Two places matter**, and `retry.rs` sleeps before it \
                     subscribes, which is why a slow machine sees nothing at all.\n\n- first point of a list, \
                     with [a link](https://example.com/page)\n- second point, and 漢字 beside it\n\n";

/// Spec: [TUI-307]
#[test]
fn a_reply_of_20_kb_is_followed_with_at_most_300_kb() {
    let mut app = attached(&running());
    app.update(Msg::Resized(120, 40), app.now);
    let written = Counter::default();
    let mut frames = Frames::new(written.clone(), 120, 40);
    let reply = PROSE.repeat(20_000 / PROSE.len() + 1);
    let words: Vec<&str> = reply.split_inclusive(' ').collect();
    let mut offset = 0;
    // As many frames as in 12 s.
    for piece in words.chunks(words.len() / 240) {
        let piece = piece.concat();
        let delta =
            json!({"type": "delta", "index": 0, "kind": "text", "offset": offset, "text": piece});
        offset += piece.len();
        pass(&mut app, event(delta));
        frames.draw(|buffer| paint(&mut app, buffer)).unwrap();
    }
    assert_eq!(offset, reply.len());
    let bytes = written.0.get();
    assert!(bytes <= 300_000, "{bytes} bytes");
}
