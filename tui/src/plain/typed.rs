//! The lines that are typed, or piped in.

use std::io;
use std::thread;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Input from the person who uses the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, without its end.
    Line(String),
    /// Ctrl-C, which then no longer ends the process.
    Interrupt,
    /// The end of the lines.
    End,
}

/// Input of this process. Lines that are not taken wait outside.
///
/// # Errors
/// If the system refuses.
pub(crate) fn typed() -> io::Result<Receiver<Typed>> {
    let (sender, receiver) = channel(1);
    let mut interrupts = signal(SignalKind::interrupt())?;
    let presses = sender.clone();
    drop(tokio::spawn(async move {
        while interrupts.recv().await.is_some() && presses.send(Typed::Interrupt).await.is_ok() {}
    }));
    let builder = thread::Builder::new().name("standard input".to_owned());
    drop(builder.spawn(move || read(io::stdin().lock(), &sender))?);
    Ok(receiver)
}

/// Reads lines to the end. Invalid UTF-8 is replaced; a read error ends the lines.
fn read(mut input: impl io::BufRead, sender: &Sender<Typed>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) => break,
            Err(error) => {
                log::warn!("cannot read standard input: {error}");
                break;
            }
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        if sender.blocking_send(Typed::Line(text)).is_err() {
            return;
        }
    }
    // The receiver may have been dropped; nothing to do then.
    drop(sender.blocking_send(Typed::End));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PLAIN-05]
    #[test]
    fn lines_are_read_to_the_end_whatever_is_in_them() {
        let (sender, mut receiver) = channel(8);
        read(&b"a\r\n\n\xff\nlast"[..], &sender);
        drop(sender);
        let mut read = Vec::new();
        while let Some(typed) = receiver.blocking_recv() {
            read.push(typed);
        }
        let line = |text: &str| Typed::Line(text.to_owned());
        let expected = [
            line("a"),
            line(""),
            line("\u{fffd}"),
            line("last"),
            Typed::End,
        ];
        assert_eq!(read, expected);
    }
}
