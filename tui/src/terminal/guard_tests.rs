use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Notes what is done with it.
#[derive(Debug, Default, Clone)]
struct Noted {
    done: Arc<Mutex<Vec<String>>>,
    is_gone: bool,
    /// How many bytes it takes; without end if not said.
    room: Option<Arc<AtomicUsize>>,
}

impl Noted {
    fn note(&self, what: &str) {
        self.done.lock().unwrap().push(what.to_owned());
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.done.lock().unwrap()).concat()
    }
}

impl Device for Noted {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = match &self.room {
            None => bytes.len(),
            Some(room) => {
                let count = room.load(Ordering::Relaxed).min(bytes.len());
                room.fetch_sub(count, Ordering::Relaxed);
                count
            }
        };
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.note(&String::from_utf8_lossy(&bytes[..count]));
        Ok(count)
    }

    fn wait_for_room(&self, _: Duration) -> io::Result<bool> {
        Ok(self
            .room
            .as_ref()
            .is_none_or(|room| room.load(Ordering::Relaxed) > 0))
    }

    fn enter_raw_mode(&self) -> io::Result<()> {
        self.note("<raw>");
        Ok(())
    }

    fn leave_raw_mode(&self) -> io::Result<()> {
        self.note("</raw>");
        Ok(())
    }
}

fn capabilities(variables: &'static [(&'static str, &'static str)]) -> Capabilities {
    let read = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Capabilities::new(read, false)
}

fn taken() -> (TerminalGuard<Noted>, Noted) {
    let device = Noted::default();
    let guard = TerminalGuard::take(device.clone(), &capabilities(&[])).unwrap();
    (guard, device)
}

const ENTERED: &str = "<raw>\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\
                       \x1b[>1u\x1b[6 q\x1b[?25l";
const LEFT: &str = "\x1b[?25h\x1b[0 q\x1b[<1u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?1004l\
                    \x1b[?2004l\x1b[?1049l</raw>";

/// Spec: [TERM-01]
#[test]
fn what_was_entered_is_left_in_reverse_and_once() {
    let (guard, device) = taken();
    assert_eq!(device.take(), ENTERED);
    guard.enter().unwrap();
    assert_eq!(device.take(), "");
    guard.leave().unwrap();
    assert_eq!(device.take(), LEFT);
    guard.leave().unwrap();
    drop(guard);
    assert_eq!(device.take(), "");
}

/// Spec: [TERM-01]
#[test]
fn a_client_that_ends_on_an_error_gives_the_terminal_back() {
    let device = Noted::default();
    let run = || -> io::Result<()> {
        let _guard = TerminalGuard::take(device.clone(), &capabilities(&[]))?;
        Err(io::ErrorKind::NotFound.into())
    };
    run().unwrap_err();
    assert_eq!(device.take(), format!("{ENTERED}{LEFT}"));
}

/// Spec: [TERM-15]
#[test]
fn a_kitty_that_is_not_asked_for_is_not_left() {
    let device = Noted::default();
    let without = capabilities(&[("HARNESS_NO_KITTY", "1")]);
    drop(TerminalGuard::take(device.clone(), &without).unwrap());
    let expected = format!("{ENTERED}{LEFT}")
        .replace("\x1b[>1u", "")
        .replace("\x1b[<1u", "");
    assert_eq!(device.take(), expected);
}

/// Spec: [TERM-02]
#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    let (guard, device) = taken();
    let original = panic::take_hook();
    let message = device.clone();
    // Others panic meanwhile, in tests that expect it.
    let own = std::thread::current().id();
    panic::set_hook(Box::new(move |information| {
        if std::thread::current().id() == own {
            message.note("<message>");
        } else {
            original(information);
        }
    }));
    let told = device.clone();
    guard.give_back_on_panic(move || told.note("<told>"));
    let mut port = guard.port();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = guard;
        panic!("in the middle");
    }));
    drop(panic::take_hook());
    assert!(panicked.is_err());
    assert_eq!(device.take(), format!("{ENTERED}{LEFT}<told><message>"));
    // Nothing is drawn over what the shell shows now.
    assert!(port.write(b"frame").is_err());
    assert_eq!(device.take(), "");
}

/// Spec: [TERM-03]
#[test]
fn the_mouse_is_released_and_taken_and_that_lasts() {
    let (guard, device) = taken();
    device.take();
    let (on, off) = (TerminalMode::Mouse.enter(), TerminalMode::Mouse.leave());
    guard.release_mouse(false).unwrap();
    assert_eq!(device.take(), "");
    guard.release_mouse(true).unwrap();
    assert!(guard.is_mouse_released());
    assert_eq!(device.take(), off);
    guard.leave().unwrap();
    guard.enter().unwrap();
    let without = format!("{}{}", LEFT.replace(off, ""), ENTERED.replace(on, ""));
    assert_eq!(device.take(), without);
    guard.release_mouse(false).unwrap();
    assert!(!guard.is_mouse_released());
    assert_eq!(device.take(), on);
    drop(guard);
    let last_first = format!("{off}{}", LEFT.replace(off, ""));
    assert_eq!(device.take(), last_first);
}

/// Spec: [TERM-04]
#[test]
fn after_a_stop_by_force_every_mode_is_set_anew() {
    let (guard, device) = taken();
    device.take();
    guard.enter_again().unwrap();
    assert_eq!(device.take(), format!("{LEFT}{ENTERED}"));
}

/// Spec: [TERM-06]
#[test]
fn a_terminal_that_is_gone_is_an_error_and_its_keys_are_given_back() {
    let device = Noted {
        is_gone: true,
        ..Noted::default()
    };
    let taken = TerminalGuard::take(device.clone(), &capabilities(&[]));
    assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(device.take(), "<raw></raw>");
}

/// Spec: [TERM-26]
#[test]
fn what_a_terminal_does_not_take_is_kept_in_order_and_not_waited_for() {
    let room = Arc::new(AtomicUsize::new(usize::MAX));
    let device = Noted {
        room: Some(Arc::clone(&room)),
        ..Noted::default()
    };
    let guard = TerminalGuard::take(device.clone(), &capabilities(&[])).unwrap();
    let mut port = guard.port();
    device.take();
    room.store(4, Ordering::Relaxed);
    port.write_all(b"frame one").unwrap();
    assert!(guard.is_behind());
    port.write_all(b", two").unwrap();
    assert_eq!(device.take(), "fram");
    room.store(7, Ordering::Relaxed);
    guard.write_on().unwrap();
    assert_eq!(device.take(), "e one, ");
    // There is an end to what is kept.
    let huge = vec![b'x'; MAX_UNWRITTEN];
    let refused = port.write_all(&huge).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
    // A terminal that takes it after all gets everything, in order.
    room.store(usize::MAX, Ordering::Relaxed);
    guard.leave().unwrap();
    assert_eq!(device.take(), format!("two{LEFT}"));
    guard.say_last("farewell").unwrap();
    assert_eq!(device.take(), "farewell\n");
    // One that does not gets its keys back nevertheless.
    guard.enter().unwrap();
    device.take();
    room.store(3, Ordering::Relaxed);
    port.write_all(b"frame").unwrap();
    assert_eq!(guard.leave().unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(device.take(), "fra</raw>");
    let unsaid = guard.say_last("farewell").unwrap_err();
    assert_eq!(unsaid.kind(), ErrorKind::TimedOut);
    assert!(!guard.is_behind());
}

/// Spec: [TERM-306]
#[test]
fn the_title_is_ours_while_the_terminal_is_and_is_given_back() {
    let (guard, device) = taken();
    device.take();
    let title = |text: &str| guard.set_title(Some(text.to_owned())).unwrap();
    title("● a");
    assert_eq!(device.take(), "\x1b[22;2t\x1b]2;● a\x1b\\");
    title("● a");
    assert_eq!(device.take(), "");
    title("… a");
    assert_eq!(device.take(), "\x1b]2;… a\x1b\\");
    let given = "\x1b]2;\x1b\\\x1b[23;2t";
    guard.leave().unwrap();
    assert_eq!(device.take(), format!("{given}{LEFT}"));
    // Changed while somebody else has the terminal.
    title("! a");
    assert_eq!(device.take(), "");
    guard.enter().unwrap();
    assert_eq!(
        device.take(),
        format!("{ENTERED}\x1b[22;2t\x1b]2;! a\x1b\\")
    );
    guard.set_title(None).unwrap();
    assert_eq!(device.take(), given);
    drop(guard);
    assert_eq!(device.take(), LEFT);
}
