//! The tool `read`: a text file, whole or a range of its lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use harness_protocol::Extent;
use nix::fcntl::OFlag;
use serde::Deserialize;
use serde_json::{Value, json};

use super::binary_file::binary_note;
use super::cap::{CappedText, MAX_TEXT_BYTES, capped};
use super::change::check_size;
use super::look_alikes::look_alikes;
use super::{
    Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, closed, input, path, procfs,
};
use crate::attachment::PieceHash;
use crate::blocking;
use crate::reply::Object;
use crate::secret::Redaction;

/// The start of a path that names the output of a command; its call's id is behind it.
const OUTPUT: &str = "output:";
/// The error for a file that is not there.
const MISSING: &str = "file not found";
/// How much of a file is read between two looks at the cancellation, in bytes.
const PIECE: usize = 64 * 1024;
/// Up to which size the lines of a file are counted that are not asked for, in bytes.
const MAX_COUNTED: u64 = 64 * 1024 * 1024;

/// Reads text files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    path: String,
    start_line: Option<i64>,
    end_line: Option<i64>,
}

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Reads a text file. Returns the whole file, or the lines from start_line to end_line; \
         lines count from 1 and end_line is included. Of a file that is no text it says what it is."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file to read"},
                "start_line": {"type": "integer", "description": "The first line, from 1"},
                "end_line": {"type": "integer", "description": "The last line, included"},
            },
            "required": ["path"],
        })
    }

    fn has_effects(&self) -> bool {
        false
    }

    fn touches(&self, input: &Object) -> Vec<Touched> {
        path::read_of(input)
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(async move {
            let input: ReadInput = input::parse(input, &self.input_schema())?;
            if let Some(call) = input.path.strip_prefix(OUTPUT) {
                return output(call, &input, context).await;
            }
            let (start, end, own) = (input.start_line, input.end_line, context.clone());
            let work = move |file: &Path| read(file, start, end, &own);
            path::work_at(&input.path, &context, "reading", work).await
        })
    }
}

/// Reads the output of a command that was too long to be shown.
async fn output(call: &str, input: &ReadInput, context: ToolContext) -> Result<String, ToolError> {
    let outputs = context.outputs.as_ref();
    let path = outputs.map(|outputs| outputs.path(&context.conversation, call));
    let path = path.ok_or("file not found")?;
    let (start, end) = (input.start_line, input.end_line);
    // It is in the state folder, which is closed to paths that the model gives.
    let own = ToolContext {
        closed: Arc::default(),
        ..context
    };
    blocking(move || text(open(&path, start, end, &own)?, &path, start, end, &own))
        .await
        .map_err(|error| ToolError(format!("reading failed: {error}")))?
}

fn read(
    path: &Path,
    start_line: Option<i64>,
    end_line: Option<i64>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let file = open(path, start_line, end_line, context)?;
    match binary_note(&file) {
        Some(note) => Ok(json!({ "note": note }).to_string()),
        None => text(file, path, start_line, end_line, context),
    }
}

/// Opens a file that may be read, if the lines can be some of a file.
fn open(
    path: &Path,
    start_line: Option<i64>,
    end_line: Option<i64>,
    context: &ToolContext,
) -> Result<File, ToolError> {
    let found = match path::look(path, MISSING) {
        Err(ToolError(error)) if error == MISSING => {
            let alike = look_alikes(path, &context.closed);
            return Err(ToolError(format!("{MISSING}{alike}")));
        }
        found => found?,
    };
    check_regular(&found)?;
    if start_line.is_some_and(|line| line < 1) {
        return Err("start_line must be at least 1".into());
    }
    if let (Some(start), Some(end)) = (start_line, end_line)
        && start > end
    {
        return Err(ToolError(format!(
            "start_line {start} is greater than end_line {end}"
        )));
    }
    if end_line.is_some_and(|line| line < 1) {
        return Err("end_line must be at least 1".into());
    }
    // Without O_NONBLOCK, opening a FIFO that took the file's place would wait for a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(|error| path::io_error(&error, "file not found"))?;
    let opened = file
        .metadata()
        .map_err(|error| path::io_error(&error, "file not found"))?;
    check_regular(&opened)?;
    procfs::check_file(&file)?;
    closed::check_opened(&file, path, &context.closed)?;
    Ok(file)
}

/// The lines of an open file.
fn text(
    mut file: File,
    path: &Path,
    start_line: Option<i64>,
    end_line: Option<i64>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let (text, extent) = match (start_line, end_line) {
        (None, None) => whole_file(&mut file, path, context)?,
        (start, end) => range(&mut file, path, start, end, context)?,
    };
    context.extent.note(extent);
    Ok(text.to_string())
}

fn check_regular(metadata: &std::fs::Metadata) -> Result<(), ToolError> {
    if metadata.is_dir() {
        return Err("path is a directory".into());
    }
    if !metadata.is_file() {
        return Err("not a regular file".into());
    }
    Ok(())
}

/// The file, up to the cap, for which a newline at the end does not count.
fn whole_file(
    file: &mut File,
    path: &Path,
    context: &ToolContext,
) -> Result<(Value, Extent), ToolError> {
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_TEXT_BYTES + 1 && next_piece(file, &mut bytes, &context.cancellation)?
    {
    }
    let mut total = Total::default();
    total.take(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.strip_suffix('\n').unwrap_or(&text);
    if lines.len() <= MAX_TEXT_BYTES {
        let (mut answer, cut) = answer(lines, 1, &context.redaction);
        // The newline at the end does not count, and is returned.
        if lines.len() < text.len()
            && cut.is_none()
            && let Some(Value::String(content)) = answer.get_mut("content")
        {
            content.push('\n');
        }
        let all = total.counted();
        let lines = cut.unwrap_or_else(|| CutLines::all(all.lines));
        note_seen(path, 1, lines.ended, &all, context);
        return Ok((answer, extent(lines.shown, Some(all.lines))));
    }
    let (answer, cut) = answer(&text, 1, &context.redaction);
    let all = total.read_on(file, &context.cancellation);
    let lines = cut.unwrap_or_default();
    if let Some(all) = &all {
        note_seen(path, 1, lines.ended, all, context);
    }
    Ok((answer, extent(lines.shown, all.map(|all| all.lines))))
}

/// A range of lines, joined by newlines without one at the end.
fn range(
    file: &mut File,
    path: &Path,
    start: Option<i64>,
    end: Option<i64>,
    context: &ToolContext,
) -> Result<(Value, Extent), ToolError> {
    let first = start.unwrap_or(1);
    let mut lines = FileLines::default();
    let mut total = Total::default();
    let mut piece = Vec::with_capacity(PIECE);
    let mut more = true;
    while more && !lines.is_past(end) && !lines.is_full() {
        piece.clear();
        more = next_piece(file, &mut piece, &context.cancellation)?;
        lines.take(&piece, first, end);
        total.take(&piece);
    }
    lines.finish(first, end);
    if lines.ended < first && start.is_some() {
        return Err(ToolError(format!(
            "start_line {first} exceeds the length of the file, {} lines",
            lines.ended
        )));
    }
    let text = String::from_utf8_lossy(&lines.kept);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let (answer, cut) = answer(text, first, &context.redaction);
    let wanted = lines.kept.iter().filter(|byte| **byte == b'\n').count() as u64;
    let lines = cut.unwrap_or_else(|| CutLines::all(wanted));
    let all = total.read_on(file, &context.cancellation);
    if let (Some(all), Ok(first)) = (&all, u64::try_from(first)) {
        note_seen(path, first, lines.ended, all, context);
    }
    Ok((answer, extent(lines.shown, all.map(|all| all.lines))))
}

/// Notes that the model has seen so many lines of a file from that one, whole ones.
fn note_seen(path: &Path, first: u64, lines: u64, all: &CountedFile, context: &ToolContext) {
    if let Some(hash) = &all.hash
        && (lines > 0 || all.lines == 0)
        && let Ok(real) = std::fs::canonicalize(path)
    {
        let last = first.saturating_add(lines).saturating_sub(1);
        let hash = hash.clone();
        context
            .seen
            .note_lines(&real, hash, (first, last), all.lines);
    }
}

/// The lines that are returned, of all that there are.
fn extent(lines: u64, of_lines: Option<u64>) -> Extent {
    Extent {
        lines: Some(lines),
        of_lines,
        more: of_lines.is_none(),
        ..Extent::default()
    }
}

/// The lines that are shown of a text.
#[derive(Debug, Clone, Copy, Default)]
struct CutLines {
    /// Those of which anything is shown.
    shown: u64,
    /// Those that are shown to their ends.
    ended: u64,
}

impl CutLines {
    fn all(lines: u64) -> Self {
        Self {
            shown: lines,
            ended: lines,
        }
    }
}

/// A whole file that was read.
struct CountedFile {
    lines: u64,
    /// SHA-256 of its bytes; `None` if the file is too large to be changed.
    hash: Option<String>,
}

/// Counts the lines of a file that is read from its start.
#[derive(Default)]
struct Total {
    hash: PieceHash,
    bytes: u64,
    ended: u64,
    in_line: bool,
}

impl Total {
    fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if self.is_changeable() {
            self.hash.add(piece);
        }
        self.ended += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.in_line = piece.last().map_or(self.in_line, |last| *last != b'\n');
    }

    /// True if a file of so many bytes can be changed.
    fn is_changeable(&self) -> bool {
        usize::try_from(self.bytes).is_ok_and(|bytes| check_size(bytes).is_ok())
    }

    /// The file, if this was all of it.
    fn counted(self) -> CountedFile {
        CountedFile {
            lines: self.ended + u64::from(self.in_line),
            hash: self.is_changeable().then(|| self.hash.digits()),
        }
    }

    /// The whole file, which is read on; none if it is too long for that, or if that fails: what was
    /// asked for is there all the same.
    fn read_on(mut self, file: &mut File, cancellation: &Cancellation) -> Option<CountedFile> {
        if file.metadata().ok()?.len() > MAX_COUNTED {
            return None;
        }
        let mut piece = Vec::with_capacity(PIECE);
        while self.bytes <= MAX_COUNTED {
            piece.clear();
            if !next_piece(file, &mut piece, cancellation).ok()? {
                return Some(self.counted());
            }
            self.take(&piece);
        }
        None
    }
}

/// The lines of a file, taken in pieces.
#[derive(Default)]
struct FileLines {
    /// How many lines have ended.
    ended: i64,
    /// Whether the last line has begun and not ended.
    in_line: bool,
    /// The wanted lines, each with its newline.
    kept: Vec<u8>,
    /// A carriage return that is part of the wanted line unless a newline follows.
    held_cr: bool,
}

impl FileLines {
    fn is_past(&self, end: Option<i64>) -> bool {
        end.is_some_and(|end| self.ended >= end)
    }

    /// Whether more is kept than can be returned; the newline of the last line is not returned.
    fn is_full(&self) -> bool {
        self.kept.len() > MAX_TEXT_BYTES + 1
    }

    fn take(&mut self, piece: &[u8], first: i64, end: Option<i64>) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.is_past(end) || self.is_full() {
                return;
            }
            let wanted = self.ended + 1 >= first;
            let (line, ends) = match part.strip_suffix(b"\n") {
                Some(line) => (line, true),
                None => (part, false),
            };
            if wanted {
                self.keep(line, ends);
            }
            self.in_line = !ends;
            self.ended += i64::from(ends);
        }
    }

    fn keep(&mut self, line: &[u8], ends: bool) {
        if std::mem::take(&mut self.held_cr) && !(line.is_empty() && ends) {
            self.kept.push(b'\r');
        }
        let (line, held) = match line.strip_suffix(b"\r") {
            Some(line) => (line, true),
            None => (line, false),
        };
        self.kept.extend_from_slice(line);
        if ends {
            self.kept.push(b'\n');
        } else {
            self.held_cr = held;
        }
    }

    /// Ends a last line that has no newline.
    fn finish(&mut self, first: i64, end: Option<i64>) {
        if self.in_line && !self.is_past(end) {
            self.ended += 1;
            if self.ended >= first {
                if self.held_cr {
                    self.kept.push(b'\r');
                }
                self.kept.push(b'\n');
            }
        }
    }
}

/// Reads one piece; false at the end of the file.
fn next_piece(
    file: &mut File,
    into: &mut Vec<u8>,
    cancellation: &Cancellation,
) -> Result<bool, ToolError> {
    if cancellation.is_cancelled() {
        return Err("cancelled".into());
    }
    match file.take(PIECE as u64).read_to_end(into) {
        Ok(0) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err("the file has nothing to read now and would be waited for".into())
        }
        Err(error) => Err(path::io_error(&error, "file not found")),
    }
}

/// A text, or what is shown of it with a note that tells how to get the rest. `first` is the
/// number of its first line. With the lines that are shown, if that is not all.
fn answer(text: &str, first: i64, redaction: &Redaction) -> (Value, Option<CutLines>) {
    let CappedText {
        text: kept,
        is_cut,
        ends_line,
    } = capped(text, MAX_TEXT_BYTES, redaction);
    if !is_cut {
        return (json!({"content": kept}), None);
    }
    let count = kept.split('\n').count() as u64;
    let lines = i64::try_from(count).unwrap_or(i64::MAX);
    let last = first.saturating_add(lines - 1);
    let next = last.saturating_add(1);
    let note = if ends_line {
        format!(
            "cut after line {last}, at the limit of {MAX_TEXT_BYTES} bytes; \
             read on with start_line {next}"
        )
    } else {
        format!(
            "cut inside line {last}, which alone is over the limit of {MAX_TEXT_BYTES} bytes; \
             the rest of it cannot be read, read on with start_line {next}"
        )
    };
    let lines = CutLines {
        shown: count,
        ended: count - u64::from(!ends_line),
    };
    (json!({"content": kept, "note": note}), Some(lines))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
