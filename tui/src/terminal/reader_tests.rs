use std::fs::File;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use nix::pty::{OpenptyResult, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use super::*;
use crate::terminal::capabilities::Capabilities;
use crate::terminal::guard::TerminalGuard;
use crate::terminal::key::{Key, KeyPress};

/// A pseudo terminal: the end that a person sits at, and the client's.
fn terminal() -> (File, Tty) {
    let OpenptyResult { master, slave } = openpty(None, None).unwrap();
    let tty = Tty::new(slave.try_clone().unwrap(), slave);
    (File::from(master), tty)
}

fn guarded() -> (File, TerminalGuard<Tty>) {
    let (person, tty) = terminal();
    let capabilities = Capabilities::new(|_| None, false);
    (person, TerminalGuard::take(tty, &capabilities).unwrap())
}

fn fixed_size() -> io::Result<(u16, u16)> {
    Ok((40, 0))
}

fn reader_of(tty: &Tty) -> io::Result<InputReader> {
    InputReader::with_size(tty, fixed_size, None)
}

/// The next input; a test that waits for ever says so.
async fn next_of_any(reader: &mut InputReader) -> TerminalInput {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, reader.next()).await.unwrap()
}

/// As [`next_of_any`], without the new size that another test tells the whole process.
async fn next(reader: &mut InputReader) -> TerminalInput {
    loop {
        match next_of_any(reader).await {
            TerminalInput::Resized { .. } => {}
            input => return input,
        }
    }
}

fn letter(letter: char) -> KeyPress {
    KeyPress::plain(Key::Char(letter))
}

/// Spec: [TERM-05] [TERM-08] [TERM-09]
#[tokio::test]
async fn keys_arrive_from_a_real_terminal_with_nobody_waiting_for_a_line() {
    let (mut person, guard) = guarded();
    let mut reader = reader_of(guard.device()).unwrap();
    let keys: [(&[u8], KeyPress); 5] = [
        (b"x", letter('x')),
        (b"\x1b[13;5u", KeyPress::plain(Key::Enter).control()),
        (b"\n", letter('j').control()),
        (b"\x1b[99;6u", letter('c').control().shift()),
        // Nothing follows, so it is the key.
        (b"\x1b", KeyPress::plain(Key::Escape)),
    ];
    for (bytes, expected) in keys {
        person.write_all(bytes).unwrap();
        let input = next(&mut reader).await;
        assert!(
            matches!(input, TerminalInput::Key(press) if press == expected),
            "{input:?}"
        );
    }
}

/// Spec: [TERM-06]
#[tokio::test]
async fn a_terminal_whose_other_end_is_gone_ends_the_reading_at_once() {
    let (person, guard) = guarded();
    let mut reader = reader_of(guard.device()).unwrap();
    drop(person);
    let input = next(&mut reader).await;
    assert!(matches!(input, TerminalInput::Lost(_)), "{input:?}");
    // The thread is over, so that nothing turns and turns.
    let (_, thread) = reader.thread.as_ref().unwrap();
    let ended = async {
        while !thread.is_finished() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, ended).await.unwrap();
    // And whoever asks on waits, and does not turn either.
    let asked = tokio::time::timeout(Duration::from_millis(1), reader.next());
    assert!(asked.await.is_err());
    let written = guard.port().write(b"frame");
    assert!(written.is_err(), "{written:?}");
}

/// Spec: [TERM-05]
#[tokio::test]
async fn who_stops_reading_takes_no_more_keys() {
    let (mut person, guard) = guarded();
    let tty = guard.device();
    let mut reader = reader_of(tty).unwrap();
    // A sequence that is not over keeps nobody.
    person.write_all(b"a\x1b[27;5").unwrap();
    assert!(matches!(next(&mut reader).await, TerminalInput::Key(_)));
    reader.stop();
    person.write_all(b"for the editor").unwrap();
    let mut editor = File::from(tty.input().try_clone_to_owned().unwrap());
    let mut read = [0; 64];
    let count = editor.read(&mut read).unwrap();
    let text = String::from_utf8_lossy(&read[..count]).into_owned();
    assert!(text.ends_with("for the editor"), "{text}");
}

/// Spec: [TERM-05]
#[tokio::test]
async fn who_stops_reading_is_not_kept_by_what_nobody_took() {
    let (mut person, guard) = guarded();
    let reader = reader_of(guard.device()).unwrap();
    for waiting in 1..=MAX_WAITING {
        person.write_all(b"x").unwrap();
        while reader.batches.len() < waiting {
            thread::yield_now();
        }
    }
    // The thread has nowhere to put this one.
    person.write_all(b"x").unwrap();
    reader.stop();
}

/// Spec: [TERM-07]
#[tokio::test]
async fn a_new_size_is_told_when_the_terminal_says_so() {
    let _others = crate::terminal::SIGNALS.lock().await;
    let (_person, guard) = guarded();
    let mut reader = reader_of(guard.device()).unwrap();
    nix::sys::signal::raise(nix::sys::signal::Signal::SIGWINCH).unwrap();
    let input = next_of_any(&mut reader).await;
    let is_size = matches!(
        input,
        TerminalInput::Resized {
            width: 40,
            height: 1
        }
    );
    assert!(is_size, "{input:?}");
}

/// Spec: [TERM-01]
#[test]
fn a_real_terminal_is_as_it_was() {
    let (mut person, tty) = terminal();
    let before = tcgetattr(tty.input()).unwrap();
    let capabilities = Capabilities::new(|_| None, false);
    let input = tty.input().try_clone_to_owned().unwrap();
    let guard = TerminalGuard::take(tty, &capabilities).unwrap();
    let raw = tcgetattr(&input).unwrap();
    assert!(!raw.local_flags.contains(LocalFlags::ICANON));
    // What the mouse did last is not typed into the shell.
    person.write_all(b"\x1b[<0;1;1M").unwrap();
    drop(guard);
    let after = tcgetattr(&input).unwrap();
    assert_eq!(after, before);
    let mut watched = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut watched, PollTimeout::ZERO).unwrap(), 0);
    let mut shown = [0; 1024];
    let count = person.read(&mut shown).unwrap();
    let text = String::from_utf8_lossy(&shown[..count]).into_owned();
    assert!(text.ends_with("\x1b[?1049l"), "{text:?}");
}
