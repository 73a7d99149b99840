//! Takes the terminal and restores it, in whatever way the client ends.
//!
//! Invariant: the modes that the client set are left in the reverse order, and once: at the end, on an error, on a
//! panic, on a signal, and while the shell or an editor has the terminal.
//! Invariant: a writer does not wait. Bytes that the terminal does not take are kept, and the end waits for them only
//! for a moment.

use std::io::{self, ErrorKind, Write};
use std::panic;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::capabilities::Capabilities;
use super::modes::TerminalMode;
use super::tty::{Device, Tty};

/// Time that the terminal has to take the last bytes.
const LAST_BYTES: Duration = Duration::from_millis(500);
/// Maximum size of unwritten bytes that allows another write, in bytes.
const MAX_UNWRITTEN: usize = 1024 * 1024;

/// Has the terminal, and gives it back when it is dropped.
#[derive(Debug)]
pub(crate) struct TerminalGuard<D: Device = Tty> {
    shared: Arc<GuardShared<D>>,
}

#[derive(Debug)]
struct GuardShared<D> {
    device: D,
    state: Mutex<GuardState>,
}

#[derive(Debug)]
struct GuardState {
    /// The modes to enter.
    wanted: Vec<TerminalMode>,
    /// The modes that were entered and not left, in order. `None` if the terminal is not this client's.
    pushed: Option<Vec<TerminalMode>>,
    /// The title, if it is ours.
    title: Option<String>,
    /// The bytes that the terminal has not taken so far.
    unwritten: Vec<u8>,
}

impl<D: Device> TerminalGuard<D> {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If the terminal cannot be taken; it is unchanged then.
    pub(crate) fn take(device: D, capabilities: &Capabilities) -> io::Result<Self> {
        let is_wanted = |mode: &TerminalMode| {
            *mode != TerminalMode::KittyKeyboard || capabilities.is_kitty_allowed
        };
        let state = GuardState {
            wanted: TerminalMode::ALWAYS.into_iter().filter(is_wanted).collect(),
            pushed: None,
            title: None,
            unwritten: Vec::new(),
        };
        let guard = Self {
            shared: Arc::new(GuardShared {
                device,
                state: Mutex::new(state),
            }),
        };
        // On an error the guard is dropped, and leaves what was entered.
        guard.enter()?;
        Ok(guard)
    }

    /// The device.
    pub(crate) fn device(&self) -> &D {
        &self.shared.device
    }

    /// Takes the terminal again, after [`TerminalGuard::leave`]. The screen is empty and must be drawn as
    /// a whole. Nothing happens if it is ours.
    ///
    /// # Errors
    /// If it cannot be had.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut state = self.shared.state();
        if state.pushed.is_some() {
            return Ok(());
        }
        self.shared.device.enter_raw_mode()?;
        let wanted = state.wanted.clone();
        let mut bytes: String = wanted.iter().map(|mode| mode.enter()).collect();
        if let Some(title) = &state.title {
            bytes += &titled(title);
        }
        // Noted first: of what could be written only in part, all is left.
        state.pushed = Some(wanted);
        self.shared.write(&mut state, bytes.as_bytes())
    }

    /// Restores the terminal. Nothing happens if the client does not have it.
    ///
    /// # Errors
    /// If it cannot be restored, for example because its other end closed; `TimedOut` if its other end reads nothing.
    pub(crate) fn leave(&self) -> io::Result<()> {
        self.shared.leave()
    }

    /// Writes a last line after [`TerminalGuard::leave`], without waiting long.
    ///
    /// # Errors
    /// If it cannot be written; `TimedOut` if the terminal's other end reads nothing.
    pub(crate) fn say_last(&self, line: &str) -> io::Result<()> {
        let mut state = self.shared.state();
        state.unwritten = format!("{line}\n").into_bytes();
        let said = self.shared.write_last(&mut state);
        state.unwritten = Vec::new();
        said
    }

    /// Sets every mode again, after another program had the terminal without the client's leave: the client was stopped
    /// by force and continues. The screen must be drawn as a whole.
    ///
    /// # Errors
    /// If it cannot be had.
    pub(crate) fn enter_again(&self) -> io::Result<()> {
        self.leave()?;
        self.enter()
    }

    /// True if the mouse is left to the terminal, for its own way to select text.
    #[cfg(test)]
    pub(crate) fn is_mouse_released(&self) -> bool {
        !self.shared.state().wanted.contains(&TerminalMode::Mouse)
    }

    /// Leaves the mouse to the terminal, or takes it. Lasts over [`TerminalGuard::leave`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn release_mouse(&self, is_released: bool) -> io::Result<()> {
        let mut state = self.shared.state();
        let bytes = state.want(TerminalMode::Mouse, !is_released);
        self.shared.write(&mut state, bytes.as_bytes())
    }

    /// Draws the cursor as a block, or as a bar. Lasts over [`TerminalGuard::leave`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn set_block_cursor(&self, is_block: bool) -> io::Result<()> {
        let mut state = self.shared.state();
        let bytes = state.want(TerminalMode::BlockCursor, is_block);
        if bytes.is_empty() {
            return Ok(());
        }
        self.shared.write(&mut state, bytes.as_bytes())
    }

    /// Gives the terminal a title, or its own one back. Lasts over [`TerminalGuard::leave`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn set_title(&self, title: Option<String>) -> io::Result<()> {
        let mut state = self.shared.state();
        if state.title == title {
            return Ok(());
        }
        let mut bytes = state.want(TerminalMode::Title, title.is_some()).to_owned();
        if let Some(title) = &title
            && state.pushed.is_some()
        {
            bytes += &titled(title);
        }
        state.title = title;
        self.shared.write(&mut state, bytes.as_bytes())
    }

    /// True if the terminal has not taken all bytes. The caller should write no more then.
    pub(crate) fn is_behind(&self) -> bool {
        !self.shared.state().unwritten.is_empty()
    }

    /// Writes the bytes that the terminal did not take before, until it takes no further ones.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_on(&self) -> io::Result<()> {
        self.shared.write_on(&mut self.shared.state())
    }

    /// The writer for frames and other sequences.
    pub(crate) fn port(&self) -> Port<D> {
        Port {
            shared: Arc::clone(&self.shared),
        }
    }

    /// From now on, a panic anywhere gives the terminal back before its message is written, and is
    /// told: the client may be waiting elsewhere.
    pub(crate) fn give_back_on_panic(&self, tell: impl Fn() + Send + Sync + 'static) {
        let shared = Arc::downgrade(&self.shared);
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |information| {
            if let Some(shared) = shared.upgrade() {
                // An error cannot be reported here.
                drop(shared.leave());
                tell();
            }
            previous(information);
        }));
    }
}

impl<D: Device> Drop for TerminalGuard<D> {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            log::debug!("cannot give the terminal back: {error}");
        }
    }
}

impl GuardState {
    /// Enters or leaves a mode. Returns the bytes to write for it.
    fn want(&mut self, mode: TerminalMode, is_wanted: bool) -> &'static str {
        if is_wanted == self.wanted.contains(&mode) {
            return "";
        }
        let toggle = |modes: &mut Vec<TerminalMode>| {
            if is_wanted {
                modes.push(mode);
            } else {
                modes.retain(|known| *known != mode);
            }
        };
        toggle(&mut self.wanted);
        let Some(pushed) = &mut self.pushed else {
            return "";
        };
        toggle(pushed);
        if is_wanted {
            mode.enter()
        } else {
            mode.leave()
        }
    }
}

/// The sequence that gives the terminal a title.
fn titled(title: &str) -> String {
    format!("\x1b]2;{title}\x1b\\")
}

impl<D: Device> GuardShared<D> {
    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self) -> io::Result<()> {
        let mut state = self.state();
        let Some(pushed) = state.pushed.take() else {
            return Ok(());
        };
        let bytes: String = pushed.iter().rev().map(|mode| mode.leave()).collect();
        // After all bytes that wait: an unfinished sequence would swallow it.
        state.unwritten.extend(bytes.as_bytes());
        // Whatever comes of the bytes, the keys are given back.
        let written = self.write_last(&mut state);
        state.unwritten = Vec::new();
        self.device.leave_raw_mode()?;
        written
    }
}

impl<D: Device> GuardShared<D> {
    fn write(&self, state: &mut GuardState, bytes: &[u8]) -> io::Result<()> {
        let waiting = state.unwritten.len();
        if waiting > 0 && waiting + bytes.len() > MAX_UNWRITTEN {
            return Err(io::Error::new(ErrorKind::TimedOut, "no program reads it"));
        }
        state.unwritten.extend(bytes);
        self.write_on(state)
    }

    fn write_on(&self, state: &mut GuardState) -> io::Result<()> {
        let mut done = 0;
        let written = loop {
            match state.unwritten.get(done..) {
                None | Some([]) => break Ok(()),
                Some(rest) => match self.device.write(rest) {
                    Ok(0) => break Err(ErrorKind::WriteZero.into()),
                    Ok(count) => done += count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                    Err(error) => break Err(error),
                },
            }
        };
        state.unwritten.drain(..done.min(state.unwritten.len()));
        written
    }

    /// Writes all, if the terminal takes it soon.
    fn write_last(&self, state: &mut GuardState) -> io::Result<()> {
        let give_up = Instant::now() + LAST_BYTES;
        loop {
            self.write_on(state)?;
            if state.unwritten.is_empty() {
                return Ok(());
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.device.wait_for_room(left)? {
                return Err(io::Error::new(ErrorKind::TimedOut, "no program reads it"));
            }
        }
    }
}

/// Writes to the terminal while the client has it.
#[derive(Debug)]
pub(crate) struct Port<D: Device = Tty> {
    shared: Arc<GuardShared<D>>,
}

impl<D: Device> Clone for Port<D> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<D: Device> Write for Port<D> {
    /// Takes all of it, or fails: half a frame on another program's screen is of no use.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Held while writing, so that no other thread gives the terminal back in between.
        let mut state = self.shared.state();
        if state.pushed.is_none() {
            return Err(io::Error::other("the terminal was given back"));
        }
        self.shared.write(&mut state, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
