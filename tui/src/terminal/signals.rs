//! The signals that end the client, stop it, and continue it.

use std::io;

use futures_util::FutureExt as _;
use nix::sys::signal::{Signal as Number, kill};
use nix::unistd::{Pid, getppid, getsid};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::guard::TerminalGuard;
use super::tty::Device;

/// The request of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// To give the terminal back and end.
    End {
        /// With this exit code, as a shell would say it.
        exit_code: i32,
        /// A key of the terminal gives it, if the terminal is not in raw mode.
        is_from_key: bool,
    },
    /// To give the terminal back and stop: [`ProcessSignals::suspend`].
    Suspend,
    /// Nothing; but the program that stopped the client by force may have used the terminal: call
    /// [`TerminalGuard::enter_again`], and draw everything.
    Continued,
}

/// The signals to this process, which then have no default effect.
#[derive(Debug)]
pub(crate) struct ProcessSignals {
    ends: [(Number, Stream); 4],
    suspend: Stream,
    resume: Stream,
}

impl ProcessSignals {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn of_process() -> io::Result<Self> {
        let listen = |number: Number| signal(SignalKind::from_raw(number as i32));
        let end = |number: Number| Ok::<_, io::Error>((number, listen(number)?));
        Ok(Self {
            ends: [
                end(Number::SIGTERM)?,
                end(Number::SIGHUP)?,
                end(Number::SIGINT)?,
                end(Number::SIGQUIT)?,
            ],
            suspend: listen(Number::SIGTSTP)?,
            resume: listen(Number::SIGCONT)?,
        })
    }

    /// The next signal. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> Signal {
        let [terminate, hang_up, interrupt, quit] = &mut self.ends;
        let number = tokio::select! {
            Some(()) = terminate.1.recv() => terminate.0,
            Some(()) = hang_up.1.recv() => hang_up.0,
            Some(()) = interrupt.1.recv() => interrupt.0,
            Some(()) = quit.1.recv() => quit.0,
            Some(()) = self.suspend.recv() => return Signal::Suspend,
            Some(()) = self.resume.recv() => return Signal::Continued,
            else => std::future::pending().await,
        };
        Signal::End {
            exit_code: 128 + number as i32,
            is_from_key: matches!(number, Number::SIGINT | Number::SIGQUIT),
        }
    }

    /// Gives the terminal to the shell until SIGCONT; then takes it again, and everything must be drawn. Returns true
    /// if the client was stopped: without a shell that could continue it, nothing happens.
    ///
    /// # Errors
    /// If the terminal cannot be given or taken.
    pub(crate) async fn suspend<D: Device>(
        &mut self,
        guard: &TerminalGuard<D>,
    ) -> io::Result<bool> {
        self.suspend_by(guard, has_job_control(), stop).await
    }

    async fn suspend_by<D: Device>(
        &mut self,
        guard: &TerminalGuard<D>,
        has_job_control: bool,
        stop: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<bool> {
        if !has_job_control {
            return Ok(false);
        }
        guard.leave()?;
        self.stop_by(stop).await?;
        guard.enter()?;
        Ok(true)
    }

    /// Stops together with the editor that has the terminal, until both are continued.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) async fn stop(&mut self) -> io::Result<()> {
        if has_job_control() {
            self.stop_by(stop).await?;
        }
        Ok(())
    }

    async fn stop_by(&mut self, stop: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        // A signal to continue that came before belongs to another stop.
        while self.resume.recv().now_or_never().flatten().is_some() {}
        stop()?;
        // With several threads, the order to stop may take effect a moment after it was given.
        // The signal to continue cannot come before that.
        self.resume.recv().await;
        Ok(())
    }
}

/// Stops everybody who has the terminal together with us, as the terminal itself does on Ctrl+Z.
/// Not by SIGTSTP, which we listen to: its own action cannot be had back.
fn stop() -> io::Result<()> {
    Ok(kill(Pid::from_raw(0), Number::SIGSTOP)?)
}

/// True if a shell is there that sees that the client stopped. SIGTSTP would have no effect without one; SIGSTOP would
/// stop the client for good.
fn has_job_control() -> bool {
    let own = getsid(None);
    own.is_ok_and(|session| session != Pid::this() && getsid(Some(getppid())) == Ok(session))
}

/// Held by tests that give or await signals, which all tests share.
#[cfg(test)]
pub(crate) static SIGNALS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use nix::sys::signal::raise;

    use super::*;
    use crate::terminal::capabilities::Capabilities;

    #[derive(Debug, Clone, Default)]
    struct Noted(Arc<Mutex<Vec<&'static str>>>);

    impl Noted {
        fn note(&self, what: &'static str) -> io::Result<()> {
            self.0.lock().unwrap().push(what);
            Ok(())
        }
    }

    impl Device for Noted {
        fn write(&self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn wait_for_room(&self, _: Duration) -> io::Result<bool> {
            Ok(true)
        }

        fn enter_raw_mode(&self) -> io::Result<()> {
            self.note("take")
        }

        fn leave_raw_mode(&self) -> io::Result<()> {
            self.note("give back")
        }
    }

    /// Spec: [TERM-04] [TERM-23]
    #[tokio::test]
    async fn signals_end_stop_and_let_go_on() {
        let _others = SIGNALS.lock().await;
        let mut signals = ProcessSignals::of_process().unwrap();
        let end = |exit_code, is_from_key| Signal::End {
            exit_code,
            is_from_key,
        };
        let answers = [
            (Number::SIGTERM, end(143, false)),
            (Number::SIGHUP, end(129, false)),
            (Number::SIGINT, end(130, true)),
            (Number::SIGQUIT, end(131, true)),
            (Number::SIGTSTP, Signal::Suspend),
            (Number::SIGCONT, Signal::Continued),
        ];
        for (number, answer) in answers {
            raise(number).unwrap();
            assert_eq!(signals.next().await, answer);
        }

        let device = Noted::default();
        let capabilities = Capabilities::new(|_| None, false);
        let guard = TerminalGuard::take(device.clone(), &capabilities).unwrap();
        let stop = || {
            device.note("stop")?;
            Ok(raise(Number::SIGCONT)?)
        };
        assert!(!signals.suspend_by(&guard, false, stop).await.unwrap());
        assert!(signals.suspend_by(&guard, true, stop).await.unwrap());
        let done = device.0.lock().unwrap().clone();
        assert_eq!(done, ["take", "give back", "stop", "take"]);
    }
}
