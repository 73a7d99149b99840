//! Event streams of the Messages API.

use bytes::Bytes;
use harness_actors::model::{Assembler, SseLines};

use super::{chance, changed, changes, kept};

/// The result of a stream in these pieces: its events, and the reply or its error.
fn read(stream: &[u8], mut size: impl FnMut() -> usize) -> (Vec<(String, String)>, Vec<String>) {
    let mut lines = SseLines::default();
    let mut assembler = Some(Assembler::default());
    let (mut events, mut steps) = (Vec::new(), Vec::new());
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(size().clamp(1, rest.len()));
        rest = later;
        let mut piece = Bytes::copy_from_slice(piece);
        while let Some(event) = lines.next(&mut piece).unwrap() {
            if let Some(reply) = &mut assembler {
                let step = reply.take(&event.event, &event.data);
                if step.is_err() {
                    assembler = None;
                }
                steps.push(format!("{step:?}"));
            }
            events.push((event.event.to_string(), event.data.clone()));
        }
    }
    (events, steps)
}

/// Spec: [MODEL-77]
#[test]
fn a_stream_of_any_bytes_is_read_the_same_in_every_chunking() {
    let kept = kept("streams");
    let mut random = chance();
    let mut streams: Vec<Vec<u8>> = kept.iter().map(|(_, stream)| stream.clone()).collect();
    streams.extend((0..changes(300)).map(|_| changed(&mut random, &kept)));
    for stream in streams {
        let whole = read(&stream, || usize::MAX);
        let text = String::from_utf8_lossy(&stream);
        assert_eq!(read(&stream, || 1), whole, "{text}");
        assert_eq!(read(&stream, || random.usize(1..30)), whole, "{text}");
    }
}
