//! A command under way: its launcher's process, what it writes, and how it is ended.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::capture::Capture;
use super::characters::Characters;
use crate::start_thread;
use crate::tool::LiveOutput;
use crate::tool::launch::{Launch, LaunchOrder, LaunchReport, Launcher};
use crate::tool::send_order;

/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;
/// How long a command that was asked to end has, before it is ended.
pub(super) const GRACE: Duration = Duration::from_millis(800);
/// The time between two attempts to wake a launcher that does not end.
const WAKE_PAUSE: Duration = Duration::from_millis(100);
/// The number of those attempts before the launcher is killed. It ends what the command has started, which takes a while
/// on a busy machine.
const WAKES: usize = 200;
/// How much of a launcher's reports is read, in bytes.
const MAX_REPORTS: u64 = 256 * 1024;

/// How a command ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessEnd {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Processes that still ran and were ended.
    pub(crate) left: Vec<String>,
    /// Where the shell was.
    pub(crate) folder: Option<std::path::PathBuf>,
    /// It took too much: which, and how much there may be.
    pub(crate) over: Option<String>,
    /// True if the launcher had given up temporary files of earlier commands.
    pub(crate) is_emptied: bool,
}

/// Ends a command: gently, or at once. Clones end the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lifeline(Arc<LineOfCommand>);

#[derive(Debug, Default)]
struct LineOfCommand {
    line: Mutex<LifelineState>,
    /// Notified when the launcher has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
enum LifelineState {
    /// The command has not started.
    #[default]
    Waiting,
    /// The command runs. The launcher has its number at least until the line is another one.
    Open {
        input: UnixStream,
        launcher: Option<Pid>,
    },
    /// It is ended, or will not be started. `None` as launcher if there is none, or if it has ended.
    Cut(Option<Pid>),
}

impl Lifeline {
    /// Asks the command to end, and ends it a little later.
    pub(crate) fn stop(&self) {
        let is_asked = match &mut *self.lock() {
            LifelineState::Open { input, launcher } => {
                send(*launcher, Signal::SIGCONT);
                input.write_all(b"stop\n").is_ok()
            }
            LifelineState::Waiting | LifelineState::Cut(_) => false,
        };
        // One that does not read ends with the line.
        if !is_asked {
            self.cut();
        }
    }

    /// Ends the command at once.
    pub(crate) fn cut(&self) {
        let launcher = {
            let mut line = self.lock();
            let launcher = match &*line {
                LifelineState::Open { launcher, .. } => *launcher,
                LifelineState::Waiting => None,
                LifelineState::Cut(_) => return,
            };
            *line = LifelineState::Cut(launcher);
            launcher
        };
        if launcher.is_none() {
            return;
        }
        let lifeline = self.clone();
        if let Err(error) = start_thread("end-command", move || lifeline.wake_until_it_ends()) {
            log::debug!("no thread can wake a halted launcher: {error}");
            self.signal_cut(Signal::SIGCONT);
        }
    }

    /// Wakes the launcher of a line that is cut until it has ended: one that is halted does not see the end of its input.
    fn wake_until_it_ends(&self) {
        for _ in 0..WAKES {
            if !self.signal_cut(Signal::SIGCONT) {
                return;
            }
            drop(self.0.ended.wait_timeout(self.lock(), WAKE_PAUSE));
        }
        if self.signal_cut(Signal::SIGKILL) {
            log::warn!("a launcher did not end and was killed");
        }
    }

    /// Signals the launcher of a line that is cut; `false` if it has ended.
    fn signal_cut(&self, which: Signal) -> bool {
        let line = self.lock();
        let LifelineState::Cut(launcher @ Some(_)) = &*line else {
            return false;
        };
        send(*launcher, which);
        true
    }

    /// Takes note that the launcher has ended, before its number may be given again.
    fn end(&self) {
        *self.lock() = LifelineState::Cut(None);
        self.0.ended.notify_all();
    }

    /// Holds the line of a command that was started; false if it was ended before.
    fn hold(&self, input: UnixStream, launcher: u32) -> bool {
        let mut line = self.lock();
        let is_wanted = matches!(*line, LifelineState::Waiting);
        if is_wanted {
            let launcher = i32::try_from(launcher).ok().map(Pid::from_raw);
            *line = LifelineState::Open { input, launcher };
        }
        is_wanted
    }

    fn is_cut(&self) -> bool {
        matches!(*self.lock(), LifelineState::Cut(_))
    }

    fn lock(&self) -> MutexGuard<'_, LifelineState> {
        let line = self.0.line.lock();
        line.unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(launcher: Option<Pid>, which: Signal) {
    let sent = launcher.map(|launcher| kill(launcher, which));
    if let Some(Err(error)) = sent {
        log::debug!("a launcher cannot be signalled: {error}");
    }
}

/// Runs a command to its end and shows what it writes. Blocks for as long as it runs.
///
/// # Errors
/// Why it was not started, or how its launcher failed.
pub(super) fn run(
    launcher: &dyn Launcher,
    order: &LaunchOrder,
    lifeline: &Lifeline,
    capture: &Mutex<Capture>,
    live: &LiveOutput,
) -> io::Result<ProcessEnd> {
    let mut text = Characters::default();
    run_into(launcher, order, lifeline, &mut |bytes| {
        capture
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(bytes);
        live.write(&text.next(bytes));
    })
}

/// Runs a command to its end; `sink` gets what it writes, piece by piece. Blocks for as long as it runs.
///
/// # Errors
/// Why it was not started, or how its launcher failed.
pub(crate) fn run_into(
    launcher: &dyn Launcher,
    order: &LaunchOrder,
    lifeline: &Lifeline,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<ProcessEnd> {
    run_with_pipes(launcher, order, lifeline, Vec::new(), sink)
}

/// The same for a program with `pipes`: what it reads as its standard input, and what it writes its standard output to.
/// `sink` gets its standard error then.
///
/// # Errors
/// The reason for which the launcher did not start the program, or the failure of the launcher.
pub(crate) fn run_with_pipes(
    launcher: &dyn Launcher,
    order: &LaunchOrder,
    lifeline: &Lifeline,
    pipes: Vec<OwnedFd>,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<ProcessEnd> {
    if lifeline.is_cut() {
        return Err(io::Error::other("cancelled before it started"));
    }
    let Launch {
        mut process,
        order: first,
        descriptors,
        is_emptied,
        running,
    } = launcher.launch(order)?;
    let (input, other_side) = UnixStream::pair()?;
    let spawned = process
        .stdin(OwnedFd::from(other_side))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    // It holds the other side of the input, which is the process's alone.
    drop(process);
    let mut child = spawned?;
    let worked = follow(
        &mut child,
        input,
        FirstOrder {
            order: &first,
            descriptors: &descriptors,
            pipes,
        },
        lifeline,
        sink,
    );
    // With its input closed it ends.
    lifeline.end();
    child.wait()?;
    drop(running);
    worked.map(|ended| ProcessEnd {
        is_emptied,
        ..ended
    })
}

/// The first order to a launcher's process, with its descriptors.
struct FirstOrder<'o> {
    order: &'o [u8],
    descriptors: &'o [OwnedFd],
    pipes: Vec<OwnedFd>,
}

fn follow(
    child: &mut Child,
    input: UnixStream,
    first: FirstOrder<'_>,
    lifeline: &Lifeline,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<ProcessEnd> {
    let (Some(mut output), Some(reports)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("the launcher has no pipes"));
    };
    // One that ended already says why.
    let descriptors = first.descriptors.iter().chain(&first.pipes);
    let told = send_order(&input, first.order, descriptors);
    // The other sides see their end when the program ends.
    drop(first);
    if told.is_ok() && !lifeline.hold(input, child.id()) {
        return Err(io::Error::other("cancelled before it started"));
    }
    let mut piece = vec![0; PIECE];
    loop {
        match output.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => sink(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut lines = String::new();
    reports.take(MAX_REPORTS).read_to_string(&mut lines)?;
    ended(&lines)
}

/// The end that a launcher's reports tell.
fn ended(lines: &str) -> io::Result<ProcessEnd> {
    let mut over = None;
    let mut end = None;
    for line in lines.lines() {
        match serde_json::from_str(line) {
            Ok(LaunchReport::Failed(reason)) => return Err(io::Error::other(reason)),
            Ok(LaunchReport::Over(what)) => over = Some(what),
            Ok(LaunchReport::Ended {
                code,
                signal,
                left,
                folder,
            }) => {
                end = Some(ProcessEnd {
                    code,
                    signal,
                    left,
                    folder,
                    over: None,
                    is_emptied: false,
                });
            }
            Err(_) => log::warn!("a launcher said: {line}"),
        }
    }
    // One that was killed itself reports nothing, and what it had started has ended with it.
    let end = end.unwrap_or_default();
    Ok(ProcessEnd { over, ..end })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    use harness_protocol::Access;

    use super::*;
    use crate::tool::launch::Contained;

    /// Its process halts itself, and ends with its input once it is woken.
    struct HaltedLauncher;

    impl Launcher for HaltedLauncher {
        fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
            Err("it runs nothing".to_owned())
        }

        fn launch(&self, _: &LaunchOrder) -> io::Result<Launch> {
            let mut process = Command::new("sh");
            process.args(["-c", "kill -STOP $$; cat >/dev/null"]);
            Ok(Launch {
                process,
                order: Vec::new(),
                descriptors: Arc::default(),
                is_emptied: false,
                running: None,
            })
        }
    }

    /// Hands out one more owner of a value with each command.
    struct CountingLauncher(Arc<()>);

    impl Launcher for CountingLauncher {
        fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
            Err("it only starts".to_owned())
        }

        fn launch(&self, _: &LaunchOrder) -> io::Result<Launch> {
            let mut process = Command::new("echo");
            process.arg("x");
            Ok(Launch {
                process,
                order: Vec::new(),
                descriptors: Arc::default(),
                is_emptied: false,
                running: Some(Box::new(Arc::clone(&self.0))),
            })
        }
    }

    /// Spec: [BASH-533]
    #[test]
    fn a_launcher_that_is_halted_ends_when_its_line_is_cut() {
        let order = LaunchOrder {
            conversation: None,
            program: vec!["true".to_owned()],
            environment: Vec::new(),
            folder: "/".into(),
            workspace: "/".into(),
            temp: "/tmp".into(),
            access: Access::Read,
            network: false,
            has_pipes: false,
            writable: Vec::new(),
            protected: Vec::new(),
            copies: Vec::new(),
            closed: Arc::default(),
        };
        let lifeline = Lifeline::default();
        let line = lifeline.clone();
        let run = move || run_into(&HaltedLauncher, &order, &line, &mut |_| {});
        let running = thread::spawn(run);
        while matches!(*lifeline.lock(), LifelineState::Waiting) {
            thread::yield_now();
        }
        lifeline.cut();
        let ended = running.join().unwrap().unwrap();
        assert_eq!(ended, ProcessEnd::default());
        assert!(!lifeline.signal_cut(Signal::SIGCONT));
    }

    /// Spec: [SEC-510]
    #[test]
    fn a_launcher_can_count_the_commands_that_run() {
        let owned = Arc::new(());
        let launcher = CountingLauncher(Arc::clone(&owned));
        let order = LaunchOrder {
            conversation: None,
            program: Vec::new(),
            environment: Vec::new(),
            folder: "/".into(),
            workspace: "/".into(),
            temp: "/".into(),
            access: Access::Read,
            network: false,
            has_pipes: false,
            writable: Vec::new(),
            protected: Vec::new(),
            copies: Vec::new(),
            closed: Arc::default(),
        };
        let mut owners = Vec::new();
        let mut sink = |_: &[u8]| owners.push(Arc::strong_count(&owned));
        let ended = run_into(&launcher, &order, &Lifeline::default(), &mut sink);
        assert_eq!(ended.unwrap(), ProcessEnd::default());
        assert_eq!(owners, [3]);
        assert_eq!(Arc::strong_count(&owned), 2);
    }

    /// Spec: [BASH-02]
    #[test]
    fn reports_say_how_it_ended() {
        let lines = r#"{"over":"1025 processes, of at most 1024"}
{"ended":{"signal":9,"left":["sleep 99"]}}
"#;
        let expected = ProcessEnd {
            signal: Some(9),
            left: vec!["sleep 99".to_owned()],
            over: Some("1025 processes, of at most 1024".to_owned()),
            ..ProcessEnd::default()
        };
        assert_eq!(ended(lines).unwrap(), expected);
        let failed = ended("{\"failed\":\"no bash\"}\n").unwrap_err();
        assert_eq!(failed.to_string(), "no bash");
        assert_eq!(ended("").unwrap(), ProcessEnd::default());
    }
}
