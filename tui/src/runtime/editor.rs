//! Writing a draft in another editor.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal as Number, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::{Client, ClientNext};
use crate::app::Msg;
use crate::terminal::{InputReader, ProcessSignals, Signal};

/// The largest draft that is taken back, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Time that an editor has to end after SIGTERM.
const LAST_KEYS: Duration = Duration::from_millis(500);

/// A file for the draft, which is removed when this value is dropped.
struct DraftFile(PathBuf);

impl DraftFile {
    fn new(folder: &std::path::Path, text: &str) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("draft-{}.md", std::process::id()));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(Self(path))
    }

    fn read(&self) -> io::Result<String> {
        if std::fs::metadata(&self.0)?.len() > MAX_BYTES {
            return Err(io::Error::other("the draft is larger than 16 MiB"));
        }
        let text = String::from_utf8_lossy(&std::fs::read(&self.0)?).into_owned();
        Ok(text.strip_suffix('\n').map_or(text.clone(), str::to_owned))
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // It may have been moved away by the editor.
        drop(std::fs::remove_file(&self.0));
    }
}

/// The editor of the operator, with its arguments.
fn editor(get: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = |name| get(name).filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    editor.split_whitespace().map(str::to_owned).collect()
}

impl Client {
    /// Lets the operator write in another editor, and takes the written text. No other reader takes keys from the
    /// terminal meanwhile.
    pub(super) async fn write_elsewhere(&mut self, text: &str) -> io::Result<ClientNext> {
        let words = editor(|name| std::env::var(name).ok());
        self.hear_answer().await;
        if let Some(reader) = self.reader.take() {
            reader.stop();
        }
        self.guard.leave()?;
        let written = edit(&self.home, &words, text, &mut self.signals).await;
        if let Ok(EditorOutcome::Ended { exit_code }) = written {
            return Ok(ClientNext::End(Ok(exit_code)));
        }
        self.guard.enter()?;
        self.reader = Some(InputReader::start(self.guard.device())?);
        let message = match written {
            Ok(EditorOutcome::Written(text)) => Msg::Written(Some(text)),
            Ok(_) => Msg::Written(None),
            Err(error) => Msg::Failed(format!("cannot run {}: {error}", words[0])),
        };
        self.app.update(message, self.begun.elapsed());
        self.resize_anew()?;
        Ok(ClientNext::Go)
    }
}

/// Outcome of the editing.
#[derive(Debug, PartialEq, Eq)]
enum EditorOutcome {
    /// With this text.
    Written(String),
    /// The editor exited with a failure.
    Failed,
    /// The client must end.
    Ended {
        /// With this exit code.
        exit_code: i32,
    },
}

/// Lets an editor have the terminal. It ends and stops when the client must end or stop, but the keys of the terminal
/// that send signals are its own.
async fn edit(
    home: &std::path::Path,
    words: &[String],
    text: &str,
    signals: &mut ProcessSignals,
) -> io::Result<EditorOutcome> {
    let file = DraftFile::new(home, text)?;
    let mut command = Command::new(&words[0]);
    let mut editor = command.args(&words[1..]).arg(&file.0).spawn()?;
    let status = loop {
        let signal = tokio::select! {
            status = editor.wait() => break status?,
            signal = signals.next() => signal,
        };
        match signal {
            Signal::End {
                is_from_key: true, ..
            }
            | Signal::Continued => {}
            // The editor has stopped itself, or has the stop to share.
            Signal::Suspend => signals.stop().await?,
            Signal::End { exit_code, .. } => {
                end(&mut editor).await?;
                return Ok(EditorOutcome::Ended { exit_code });
            }
        }
    };
    if status.success() {
        file.read().map(EditorOutcome::Written)
    } else {
        Ok(EditorOutcome::Failed)
    }
}

/// Ends the editor, which may restore the terminal.
async fn end(editor: &mut Child) -> io::Result<()> {
    let id = editor.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id
        && let Err(error) = kill(Pid::from_raw(id), Number::SIGTERM)
    {
        log::debug!("the editor cannot be told to end: {error}");
    }
    if tokio::time::timeout(LAST_KEYS, editor.wait())
        .await
        .is_err()
    {
        editor.kill().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-31]
    #[tokio::test]
    async fn a_draft_comes_back_from_the_editor_unless_it_failed() {
        let _others = crate::terminal::SIGNALS.lock().await;
        let home = tempfile::tempdir().unwrap();
        let words = |script: &str| ["sh", "-c", script, "editor"].map(str::to_owned).to_vec();
        let append = words("printf 'more\\n' >> \"$1\"");
        let mut signals = ProcessSignals::of_process().unwrap();
        let mut edit =
            async |words: &[String], text| edit(home.path(), words, text, &mut signals).await;
        let written = edit(&append, "draft ").await.unwrap();
        assert_eq!(written, EditorOutcome::Written("draft more".to_owned()));
        let fail = words("exit 1");
        assert_eq!(edit(&fail, "draft").await.unwrap(), EditorOutcome::Failed);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(edit(&["/no/such/editor".to_owned()], "").await.is_err());
    }

    /// Spec: [TUI-31]
    #[test]
    fn the_editor_is_that_of_the_operator() {
        let with = |visual: Option<&str>, named: Option<&str>| {
            editor(|name| {
                let value = if name == "VISUAL" { visual } else { named };
                value.map(str::to_owned)
            })
        };
        assert_eq!(with(Some("code -w"), Some("nano")), ["code", "-w"]);
        assert_eq!(with(None, Some("nano")), ["nano"]);
        assert_eq!(with(Some(" "), None), ["vi"]);
    }
}
