//! The lines of a part of a file, read piece by piece.

use std::io::{self, BufRead as _, BufReader, Read};

use super::disk::DiskFile;

/// Size of one read when many lines are wanted, in bytes.
pub(super) const MANY: usize = 256 * 1024;
/// Size of one read when one line is wanted, in bytes.
pub(super) const FEW: usize = 8 * 1024;
/// The longest line that is held in memory; what is longer comes in parts.
pub(super) const MAX_LINE: u64 = 256 * 1024 * 1024;

/// A part of a file.
struct FileSection<'a> {
    file: &'a dyn DiskFile,
    at: u64,
    end: u64,
}

impl Read for FileSection<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = left.min(bytes.len());
        let read = self.file.read_at(&mut bytes[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads lines.
pub(super) struct LineReader<'a> {
    section: BufReader<FileSection<'a>>,
    offset: u64,
    line: Vec<u8>,
}

/// A line of a file.
pub(super) struct FileLine<'a> {
    /// Offset of its beginning in the file.
    pub(super) offset: u64,
    /// Its bytes with its line break.
    pub(super) bytes: &'a [u8],
}

impl FileLine<'_> {
    /// Offset of its end in the file.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// True if the line has its line break.
    pub(super) fn is_ended(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// True if the line has only white space.
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

impl<'a> LineReader<'a> {
    /// The lines from one offset to another, reading that much at once.
    pub(super) fn new(file: &'a dyn DiskFile, from: u64, to: u64, at_once: usize) -> Self {
        let section = FileSection {
            file,
            at: from,
            end: to.max(from),
        };
        // A buffer is filled with zeros first; most journals are small.
        let all = usize::try_from(section.end - from).unwrap_or(at_once);
        let at_once = at_once.min(all);
        Self {
            section: BufReader::with_capacity(at_once, section),
            offset: from,
            line: Vec::new(),
        }
    }

    /// The lines that begin after an offset at which a line need not begin.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn behind(
        file: &'a dyn DiskFile,
        from: u64,
        to: u64,
        at_once: usize,
    ) -> io::Result<Self> {
        let mut lines = Self::new(file, from, to, at_once);
        let skipped = lines.section.skip_until(b'\n')?;
        lines.offset += skipped as u64;
        Ok(lines)
    }

    /// Offset of the next line in the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.line.len() as u64
    }

    /// The next line.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<FileLine<'_>>> {
        self.offset += self.line.len() as u64;
        self.line.clear();
        let mut limited = (&mut self.section).take(MAX_LINE);
        limited.read_until(b'\n', &mut self.line)?;
        // A line of 50 MB must not hold its memory as long as the short ones after it are read.
        self.line.shrink_to(MANY.max(self.line.len()));
        Ok((!self.line.is_empty()).then_some(FileLine {
            offset: self.offset,
            bytes: &self.line,
        }))
    }
}
