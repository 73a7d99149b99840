//! A command under way: its launcher's process, what it writes, and how it is ended.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::capture::Capture;
use super::characters::Characters;
use crate::tool::LiveOutput;
use crate::tool::launch::{Launch, LaunchOrder, Launcher, Report};

/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;
/// How long a command that was asked to end has, before it is ended.
pub(super) const GRACE: Duration = Duration::from_millis(800);
/// How much of a launcher's reports is read, in bytes.
const MAX_REPORTS: u64 = 256 * 1024;

/// How a command ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Processes that still ran and were ended.
    pub(crate) left: Vec<String>,
    /// Where the shell was.
    pub(crate) folder: Option<std::path::PathBuf>,
    /// It took too much: which, and how much there may be.
    pub(crate) over: Option<String>,
}

/// Ends a command: gently, or at once. Clones end the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lifeline(Arc<Mutex<Line>>);

#[derive(Debug, Default)]
enum Line {
    /// The command has not started.
    #[default]
    Waiting,
    Open(ChildStdin),
    /// It is ended, or will not be started.
    Cut,
}

impl Lifeline {
    /// Asks the command to end, and ends it a little later.
    pub(crate) fn stop(&self) {
        let mut line = self.lock();
        let is_asked = match &mut *line {
            Line::Open(input) => input.write_all(b"stop\n").is_ok(),
            Line::Waiting | Line::Cut => false,
        };
        // One that does not read ends with the line.
        if !is_asked {
            *line = Line::Cut;
        }
    }

    /// Ends the command at once.
    pub(crate) fn cut(&self) {
        *self.lock() = Line::Cut;
    }

    /// Holds the line of a command that was started; false if it was ended before.
    fn hold(&self, input: ChildStdin) -> bool {
        let mut line = self.lock();
        let is_wanted = matches!(*line, Line::Waiting);
        if is_wanted {
            *line = Line::Open(input);
        }
        is_wanted
    }

    fn is_cut(&self) -> bool {
        matches!(*self.lock(), Line::Cut)
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
) -> io::Result<Ended> {
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
) -> io::Result<Ended> {
    if lifeline.is_cut() {
        return Err(io::Error::other("cancelled before it started"));
    }
    let Launch {
        mut process,
        order: first,
        running,
    } = launcher.launch(order)?;
    let mut child = process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let worked = follow(&mut child, &first, lifeline, sink);
    lifeline.cut();
    // With its input closed it ends.
    child.wait()?;
    drop(running);
    worked
}

fn follow(
    child: &mut Child,
    first: &[u8],
    lifeline: &Lifeline,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<Ended> {
    let (Some(mut input), Some(mut output), Some(reports)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("the launcher has no pipes"));
    };
    // One that ended already says why.
    let told = input.write_all(first);
    if told.is_ok() && !lifeline.hold(input) {
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
fn ended(lines: &str) -> io::Result<Ended> {
    let mut over = None;
    let mut end = None;
    for line in lines.lines() {
        match serde_json::from_str(line) {
            Ok(Report::Failed(reason)) => return Err(io::Error::other(reason)),
            Ok(Report::Over(what)) => over = Some(what),
            Ok(Report::Ended {
                code,
                signal,
                left,
                folder,
            }) => {
                end = Some(Ended {
                    code,
                    signal,
                    left,
                    folder,
                    over: None,
                });
            }
            Err(_) => log::warn!("a launcher said: {line}"),
        }
    }
    // One that was killed itself reports nothing, and what it had started has ended with it.
    let end = end.unwrap_or_default();
    Ok(Ended { over, ..end })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use harness_protocol::Access;

    use super::*;
    use crate::tool::launch::Contained;

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
                running: Some(Box::new(Arc::clone(&self.0))),
            })
        }
    }

    /// Spec: [SEC-510]
    #[test]
    fn a_launcher_can_count_the_commands_that_run() {
        let owned = Arc::new(());
        let launcher = CountingLauncher(Arc::clone(&owned));
        let order = LaunchOrder {
            program: Vec::new(),
            environment: Vec::new(),
            folder: "/".into(),
            workspace: "/".into(),
            temp: "/".into(),
            access: Access::Read,
            network: false,
            writable: Vec::new(),
            protected: Vec::new(),
            closed: Arc::default(),
        };
        let mut owners = Vec::new();
        let mut sink = |_: &[u8]| owners.push(Arc::strong_count(&owned));
        let ended = run_into(&launcher, &order, &Lifeline::default(), &mut sink);
        assert_eq!(ended.unwrap(), Ended::default());
        assert_eq!(owners, [3]);
        assert_eq!(Arc::strong_count(&owned), 2);
    }

    /// Spec: [BASH-02]
    #[test]
    fn reports_say_how_it_ended() {
        let lines = r#"{"over":"1025 processes, of at most 1024"}
{"ended":{"signal":9,"left":["sleep 99"]}}
"#;
        let expected = Ended {
            signal: Some(9),
            left: vec!["sleep 99".to_owned()],
            over: Some("1025 processes, of at most 1024".to_owned()),
            ..Ended::default()
        };
        assert_eq!(ended(lines).unwrap(), expected);
        let failed = ended("{\"failed\":\"no bash\"}\n").unwrap_err();
        assert_eq!(failed.to_string(), "no bash");
        assert_eq!(ended("").unwrap(), Ended::default());
    }
}
