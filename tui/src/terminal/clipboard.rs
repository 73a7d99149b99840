//! Puts text on the clipboard of the operator at the terminal, and reports the way that it took.
//!
//! Invariant: the clipboard is never read, and the client does not wait for it: a helper program has [`LIMIT`], and the
//! client continues to draw meanwhile.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crossterm::Command as _;
use crossterm::clipboard::CopyToClipboard;
use derive_more::Display;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::capabilities::Capabilities;

/// Maximum size of the base64 that terminals take, in bytes; some take less, and none reports it.
const MAX_ENCODED: usize = 74_000;
/// Time limit of a helper program.
const LIMIT: Duration = Duration::from_secs(2);
/// The file for what is too long, in the state folder.
const FILE: &str = "copied.txt";

/// A program that takes text on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CopyHelper {
    program: &'static str,
    arguments: &'static [&'static str],
    /// Windows reads what it is given as UTF-16.
    is_utf16: bool,
}

impl CopyHelper {
    const fn new(program: &'static str, arguments: &'static [&'static str]) -> Self {
        Self {
            program,
            arguments,
            is_utf16: false,
        }
    }
}

const TMUX: CopyHelper = CopyHelper::new("tmux", &["load-buffer", "-w", "-"]);
const WAYLAND: CopyHelper = CopyHelper::new("wl-copy", &[]);
const X11: CopyHelper = CopyHelper::new("xclip", &["-selection", "clipboard"]);
const MACOS: CopyHelper = CopyHelper::new("pbcopy", &[]);
const WINDOWS: CopyHelper = CopyHelper {
    program: "clip.exe",
    arguments: &[],
    is_utf16: true,
};

/// The ways to try.
#[derive(Debug, Default, PartialEq, Eq)]
struct CopyPlan {
    /// Tell the terminal, with OSC 52.
    terminal: bool,
    /// Tell tmux, which passes it on in its own way.
    tmux: bool,
    /// The first of these that works.
    helpers: Vec<CopyHelper>,
}

/// The possible ways for a text of so many bytes.
fn plan(length: usize, capabilities: &Capabilities) -> CopyPlan {
    let is_short = length.div_ceil(3) * 4 <= MAX_ENCODED;
    let mut plan = CopyPlan {
        terminal: is_short,
        // It gives the text to its terminal, for which the same limit holds.
        tmux: is_short && capabilities.is_tmux,
        helpers: Vec::new(),
    };
    // The display of a remote machine is not the operator's.
    if !capabilities.is_ssh {
        let known = [
            (capabilities.is_macos, MACOS),
            (capabilities.is_wsl, WINDOWS),
            (capabilities.is_wayland, WAYLAND),
            (capabilities.is_x11, X11),
        ];
        let there = known.into_iter().filter(|(is_there, _)| *is_there);
        plan.helpers = there.map(|(_, helper)| helper).collect();
    }
    plan
}

/// The outcome of copying a text, in words for a person.
#[derive(Debug, PartialEq, Eq, Display)]
pub(crate) enum CopyOutcome {
    /// The terminal received the text. It does not answer; some do not obey.
    #[display("sent to the terminal's clipboard, {}", count(*_0))]
    Sent(usize),
    /// tmux and its terminal received the text.
    #[display("sent to the clipboard of tmux and its terminal, {}", count(*_0))]
    SentToTmux(usize),
    /// A program put it there.
    #[display("copied with {with}, {}", count(*characters))]
    Helped {
        /// The program.
        with: &'static str,
        /// Length in characters.
        characters: usize,
    },
    /// The text is too long for a clipboard that is set through the terminal.
    #[display("too long for the clipboard; written to {}, {}", file.display(), count(*characters))]
    Written {
        /// The file that has the text now.
        file: PathBuf,
        /// Length in characters.
        characters: usize,
    },
    /// There was no way.
    #[display("cannot copy: {_0}")]
    Failed(String),
}

fn count(characters: usize) -> String {
    match characters {
        1 => "1 character".to_owned(),
        characters => format!("{characters} characters"),
    }
}

/// Copies a text in which nothing steers a terminal. `folder` is for what is too long.
pub(crate) async fn copy(
    text: &str,
    capabilities: &Capabilities,
    mut port: impl Write,
    folder: &Path,
) -> CopyOutcome {
    let plan = plan(text.len(), capabilities);
    let characters = text.chars().count();
    let mut failure = None;
    let mut is_sent = false;
    if plan.terminal {
        match port
            .write_all(sequence(text).as_bytes())
            .and_then(|()| port.flush())
        {
            Ok(()) => is_sent = true,
            Err(error) => failure = Some(error.to_string()),
        }
    }
    let by_tmux = plan.tmux && help(TMUX, text).await.is_ok();
    for helper in plan.helpers {
        match help(helper, text).await {
            Ok(()) => {
                return CopyOutcome::Helped {
                    with: helper.program,
                    characters,
                };
            }
            Err(error) => log::debug!("{} does not help: {error}", helper.program),
        }
    }
    match failure {
        _ if by_tmux => CopyOutcome::SentToTmux(characters),
        _ if is_sent => CopyOutcome::Sent(characters),
        Some(failure) => CopyOutcome::Failed(failure),
        None => match write(text, folder) {
            Ok(file) => CopyOutcome::Written { file, characters },
            Err(error) => CopyOutcome::Failed(format!("{}: {error}", folder.display())),
        },
    }
}

/// The sequence that tells a terminal to put the text on its clipboard.
fn sequence(text: &str) -> String {
    let mut sequence = String::new();
    match CopyToClipboard::to_clipboard_from(text).write_ansi(&mut sequence) {
        Ok(()) => sequence,
        // A string takes everything.
        Err(std::fmt::Error) => String::new(),
    }
}

/// Gives the text to a program and waits for it, but not for ever.
async fn help(helper: CopyHelper, text: &str) -> io::Result<()> {
    // What it leaves running, as those of Linux do, has no hold on our terminal.
    let mut child = Command::new(helper.program)
        .args(helper.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take();
    let bytes = if helper.is_utf16 {
        let marked = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        marked.flat_map(u16::to_le_bytes).collect()
    } else {
        text.as_bytes().to_vec()
    };
    let helped = async {
        if let Some(input) = &mut input {
            input.write_all(&bytes).await?;
        }
        drop(input);
        child.wait().await
    };
    let status = tokio::time::timeout(LIMIT, helped).await??;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(status.to_string()))
    }
}

/// Writes the text to a file that only its owner reads; where that is.
fn write(text: &str, folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(FILE);
    let mut options = OpenOptions::new();
    // Removed first, so that the new file has its own rights, and no link is followed.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
#[path = "clipboard_tests.rs"]
mod tests;
