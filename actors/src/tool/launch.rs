//! Starting commands: the seam between the tool that runs them and the program that contains them.

use std::any::Any;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use harness_protocol::{Access, Backend};
use serde::{Deserialize, Serialize};

use crate::ids::ConversationId;

/// Contains commands and starts them. The program gives one; without it no command is run.
///
/// A process that it starts has to end everything that the command has started, whatever that does,
/// when its standard input is closed, which the system does when the service dies.
pub trait Launcher: Send + Sync + 'static {
    /// How a command would be contained that works in that folder. It may look at files.
    ///
    /// # Errors
    /// Why such a command is not run at all, for the model.
    fn containment(
        &self,
        access: Access,
        network: bool,
        folder: &Path,
    ) -> Result<Contained, String>;

    /// Folders besides that of the conversation that commands with the access to write may write.
    fn writable(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The command that starts a program of a tool that only looks: the program's name and arguments come
    /// behind. The program ends when the thread ends that starts it, and takes no more than it needs.
    /// Without this command it is started unchanged.
    fn looking(&self) -> Option<Command> {
        None
    }

    /// Why a command that was started cannot write at a place where its user could; nothing if that is not
    /// what keeps it from writing there, or if it is not known. It may look at files.
    fn denial(&self, _order: &LaunchOrder, _place: &Path) -> Option<Denial> {
        None
    }

    /// Gives up what the commands of a deleted conversation shared. It may block.
    fn forget(&self, _conversation: &ConversationId) {}

    /// The process that starts a command. It may look at files.
    ///
    /// # Errors
    /// Why the command cannot be started.
    fn launch(&self, order: &LaunchOrder) -> io::Result<Launch>;
}

/// The launcher of a program, if it gives one.
#[derive(Clone, Default)]
pub struct Launching(pub Option<Arc<dyn Launcher>>);

impl fmt::Debug for Launching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Launching").field(&self.0.is_some()).finish()
    }
}

/// How a command would be contained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    /// By what.
    pub backend: Backend,
    /// Whether that holds all that its access promises.
    pub is_held: bool,
    /// The gaps in the containment, a line each.
    pub gaps: Vec<String>,
    /// Whether the command could read the token of the service.
    pub answers_itself: bool,
}

/// Why a command cannot write at a place where its user could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// A command with that access could.
    Needs(Access),
    /// Commands do not change it.
    Protected,
    /// It is out of the sight of commands.
    Hidden,
}

/// A command to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchOrder {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
    /// The conversation whose commands it shares temporary files and a network with, if any.
    pub conversation: Option<ConversationId>,
    /// Where it starts.
    pub folder: PathBuf,
    /// The folder of the conversation.
    pub workspace: PathBuf,
    /// A folder of its own for temporary files.
    pub temp: PathBuf,
    /// The access that it may have.
    pub access: Access,
    /// Whether it may reach the network.
    pub network: bool,
    /// True if two pipes are sent behind the launcher's own descriptors: the program's standard input and its standard
    /// output. The output of the process is the program's standard error alone then.
    pub has_pipes: bool,
    /// Folders besides that of the conversation that it sees, and may write if its access is to write.
    pub writable: Vec<PathBuf>,
    /// Paths among those that may not be changed, whether they are there or not. A folder that is also among those that
    /// may be written only stays at its place.
    pub protected: Vec<PathBuf>,
    /// Files among those that it sees as links to copies, which it may write. A launcher that cannot show them so shows
    /// the files.
    pub copies: Vec<FileCopy>,
    /// Paths that are out of its sight.
    pub closed: Arc<[PathBuf]>,
}

/// A file, and the copy that a command sees in its place. Both paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCopy {
    /// The file.
    pub place: PathBuf,
    /// Its copy, in a folder that the command may write.
    pub copy: PathBuf,
}

/// The way to start a command.
#[derive(Debug)]
pub struct Launch {
    /// The process: what it writes to its standard output is the command's output, in order, and to its
    /// standard error it writes [`LaunchReport`]s, a line of JSON each. Its standard input is a socket.
    pub process: Command,
    /// The first line that it reads. Later the line `stop` asks the command to end, and the end of the
    /// input ends it at once.
    pub order: Vec<u8>,
    /// Descriptors that are sent with the order. They are held until the command has ended.
    pub descriptors: Arc<[OwnedFd]>,
    /// True if the launcher has given up temporary files of earlier commands of the conversation since the last one.
    pub is_emptied: bool,
    /// A value that is dropped when the process has ended. A launcher can count by it.
    pub running: Option<Box<dyn Any + Send + Sync>>,
}

/// A launcher's report about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchReport {
    /// It could not be started, for that reason.
    Failed(String),
    /// It was ended because it took too much; which, and how much there may be.
    Over(String),
    /// The shell ended.
    Ended {
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The number of the signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Processes that still ran then, and were ended; the first few by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
        /// The folder that the shell was in at its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
}
