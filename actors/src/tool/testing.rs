//! Helpers that the tests of the tools share.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::command::ProgramOutput;
use super::{Cancellation, Tool, ToolContext, ToolFuture};
use crate::reply::Object;

/// How long anything may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// A folder of a test.
pub(super) struct Folder(TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        set_mode(folder.path(), 0o755);
        Self(folder)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and makes the folders above it.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a file of so many bytes that begins as text; the rest takes no room on the disk.
    pub(super) fn huge(&self, name: &str, bytes: u64) {
        let path = self.file(name, "x".repeat(8 * 1024));
        let file = fs::File::options().write(true).open(path);
        file.unwrap().set_len(bytes).unwrap();
    }

    pub(super) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        path
    }
}

pub(super) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(super) fn object(json: Value) -> Object {
    let Value::Object(object) = json else {
        panic!("not an object: {json}");
    };
    object
}

/// A tool whose calls are those of a conversation in that folder.
pub(super) struct At<T>(pub(super) T, pub(super) PathBuf);

impl<T: Tool> Tool for At<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn input_schema(&self) -> Value {
        self.0.input_schema()
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        self.0.execute_in(input, context.in_folder(&self.1))
    }
}

/// The result of a tool: its JSON, or its error.
pub(super) async fn call(tool: &impl Tool, input: Value) -> Result<Value, String> {
    call_with(tool, input, Cancellation::new()).await
}

pub(super) async fn call_with(
    tool: &impl Tool,
    input: Value,
    cancellation: Cancellation,
) -> Result<Value, String> {
    let work = tool.execute(object(input), cancellation);
    let result = timeout(LIMIT, work).await.expect("the tool must end");
    parsed(result.map_err(|error| error.to_string()))
}

pub(super) fn parsed(result: Result<String, String>) -> Result<Value, String> {
    result.map(|text| serde_json::from_str(&text).unwrap())
}

/// The name of a tool with the types of its fields and those that are required.
pub(super) fn signature(tool: &impl Tool) -> Value {
    let schema = tool.input_schema();
    let types: Object = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, field)| (name.clone(), field["type"].clone()))
        .collect();
    json!([tool.name(), schema["type"], types, schema["required"]])
}

/// Does this as a user who may not read everything, as far as files are concerned. Elsewhere than
/// on Linux, the tests must not be run by root.
pub(super) fn as_nobody<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let _back = Uid::effective().is_root().then(FileUser::nobody);
    work()
}

/// The user whom this thread was for the file system; it is again when this is dropped.
#[cfg(target_os = "linux")]
struct FileUser(Uid);

#[cfg(target_os = "linux")]
impl FileUser {
    fn nobody() -> Self {
        Self(nix::unistd::setfsuid(Uid::from_raw(NOBODY)))
    }
}

#[cfg(target_os = "linux")]
impl Drop for FileUser {
    fn drop(&mut self) {
        nix::unistd::setfsuid(self.0);
    }
}

/// The output of a program that is run by a user who may not read everything.
pub(super) fn run_as_nobody(program: &str, args: &[&str], folder: &Path) -> ProgramOutput {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("LC_ALL", "C");
    if Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    ProgramOutput {
        status: Some(output.status),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Applies a diff to what it was made of.
pub(super) fn patched(before: &str, diff: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut after, mut at) = (String::new(), 0);
    let mut lines = diff.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let no_end = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let text = |line: &str| {
            let text = &line[1..];
            if no_end {
                text.trim_end_matches('\n').to_owned()
            } else {
                text.to_owned()
            }
        };
        match line.as_bytes()[0] {
            b'@' => {
                let numbers = line.split(['-', ',', ' ']).nth(2).unwrap();
                let has_none = line.contains(&format!("-{numbers},0 "));
                let start: usize = numbers.parse().unwrap();
                let start = if has_none { start } else { start - 1 };
                after.extend(old[at..start].iter().copied());
                at = start;
            }
            b' ' => {
                after += &text(line);
                at += 1;
            }
            b'-' => at += 1,
            b'+' => after += &text(line),
            b'\\' => {}
            other => panic!("{other} in {diff}"),
        }
    }
    after.extend(old[at..].iter().copied());
    after
}
