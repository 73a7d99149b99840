//! The files that a conversation has read and changed. They are two lists at the end of its summary, so that later
//! summaries keep them.

use crate::tool::Touched;

/// The headings of the lists.
const READ: &str = "## Files read";
const CHANGED: &str = "## Files changed";

/// The newest files of each list stay.
const MAX_FILES: usize = 100;
/// A longer text is not taken for the name of a file.
const MAX_PATH: usize = 300;

/// Files, each named once, the newest last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryFiles {
    /// Those that were read and not changed.
    pub read: Vec<String>,
    /// Those that were changed.
    pub changed: Vec<String>,
}

impl SummaryFiles {
    /// Adds a file that a call touched.
    pub(super) fn add(&mut self, touched: &Touched) {
        match touched {
            Touched::Read(path) => self.add_read(path),
            Touched::Changed(path) => self.add_changed(path),
        }
    }

    /// Adds those of another part of the conversation, which came later.
    pub(super) fn add_all(&mut self, later: &Self) {
        later.read.iter().for_each(|path| self.add_read(path));
        later.changed.iter().for_each(|path| self.add_changed(path));
    }

    fn add_read(&mut self, path: &str) {
        if !self.changed.iter().any(|changed| changed == path) {
            push(&mut self.read, path);
        }
    }

    fn add_changed(&mut self, path: &str) {
        self.read.retain(|read| read != path);
        push(&mut self.changed, path);
    }

    /// The two lists, each with its heading; nothing for an empty one.
    #[must_use]
    pub fn lists(&self) -> String {
        let mut lists = String::new();
        for (heading, paths) in [(READ, &self.read), (CHANGED, &self.changed)] {
            if paths.is_empty() {
                continue;
            }
            if !lists.is_empty() {
                lists.push('\n');
            }
            lists.push_str(heading);
            lists.push('\n');
            for path in paths {
                lists.push_str("- ");
                lists.push_str(path);
                lists.push('\n');
            }
        }
        lists
    }

    /// Divides a summary into its text and the lists at its end.
    pub(super) fn split(summary: &str) -> (&str, Self) {
        let mut end = summary.len();
        let mut offset = summary.len();
        for line in summary.split_inclusive('\n').rev() {
            offset -= line.len();
            let line = line.trim();
            if line == READ || line == CHANGED {
                end = offset;
            } else if !line.is_empty() && !line.starts_with("- ") && line != "(none)" {
                break;
            }
        }
        let (text, lists) = summary.split_at(end);
        let mut files = Self::default();
        let mut is_changed = false;
        for line in lists.lines().map(str::trim) {
            match line.strip_prefix("- ") {
                Some(path) if is_changed => files.add_changed(path),
                Some(path) => files.add_read(path),
                None if !line.is_empty() => is_changed = line == CHANGED,
                None => {}
            }
        }
        (text.trim_end(), files)
    }
}

fn push(paths: &mut Vec<String>, path: &str) {
    let path = path.trim();
    if path.is_empty() || path.len() > MAX_PATH || path.contains(char::is_control) {
        return;
    }
    paths.retain(|before| before != path);
    paths.push(path.to_owned());
    if paths.len() > MAX_FILES {
        paths.remove(0);
    }
}
