//! Finds what contains commands on this machine, by trying it with real mounts in a process of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use caps::CapSet;
use harness_protocol::Backend;
use nix::fcntl::Flock;
use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::found::{LANDLOCK, READ_ONLY_HOME, SandboxSupport};
use super::{AppliedContainment, apply_and_tell, enter, namespaces};
use crate::launch::left_folders::{OF_ATTEMPTS, lock_new};
use crate::launch::policy::Containment;

/// How long an attempt may take, in seconds: a mount may hang on a server that does not answer.
const LIMIT_SECONDS: u32 = 10;
/// Marks the second of the two processes of an attempt.
const INSIDE: &str = "-inside";
const HOME_FILE: &str = ".harness-probe";

/// Tries every backend. `program` is this program.
pub(crate) fn probe(program: &Path) -> SandboxSupport {
    let mut found = SandboxSupport {
        is_root: nix::unistd::geteuid().is_root(),
        ..SandboxSupport::default()
    };
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let mut command = Command::new(program);
        command
            .args(["__launch", "probe", backend.name()])
            .env_clear();
        command.envs(std::env::var_os("HOME").map(|home| ("HOME", home)));
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        found.add(
            backend,
            output
                .map_err(|error| error.to_string())
                .and_then(|output| probe_result(&output)),
        );
    }
    found
}

/// The report of an attempt: its notes, or in its last line why it failed.
fn probe_result(output: &Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let reason = text.lines().rfind(|line| !line.is_empty());
    Err(reason.map_or_else(
        || format!("the attempt ended with {}", output.status),
        str::to_owned,
    ))
}

/// Tries one backend, by its name; the exit code. What was found, or why it failed, is printed.
pub(crate) fn attempt(stage: &str) -> i32 {
    // Also a mount that hangs is given up. The first process of a process namespace has no default action
    // for signals; it ends with the one that started it.
    nix::unistd::alarm::set(LIMIT_SECONDS);
    let result = match stage {
        "namespaces" => try_outside(Backend::Namespaces),
        "landlock" => try_outside(Backend::Landlock),
        "namespaces-inside" => try_inside(Backend::Namespaces),
        "landlock-inside" => try_inside(Backend::Landlock),
        _ => Err(format!("there is no backend {stage:?} to try").into()),
    };
    let (text, code) = match result {
        Ok(notes) => (notes, 0),
        Err(error) => (error.to_string().replace('\n', " "), 1),
    };
    drop(writeln!(io::stdout(), "{}", text.trim_end()));
    code
}

/// Where an attempt takes place; removed in the end.
struct ProbeGround {
    folder: PathBuf,
    home: Option<PathBuf>,
    _lock: Option<Flock<File>>,
}

impl ProbeGround {
    fn make() -> io::Result<Self> {
        let template = std::env::temp_dir().join(format!("{OF_ATTEMPTS}XXXXXX"));
        let folder = fs::canonicalize(nix::unistd::mkdtemp(&template)?)?;
        let ground = Self {
            _lock: lock_new(&folder)?,
            folder,
            home: home(),
        };
        let mut folders = fs::DirBuilder::new();
        folders.recursive(true).mode(0o700);
        for name in ["work/.git/hooks", "work/hidden", "hidden"] {
            folders.create(ground.folder.join(name))?;
        }
        for name in ["work/hidden/file", "hidden/file"] {
            fs::write(ground.folder.join(name), "hidden")?;
        }
        Ok(ground)
    }

    fn containment(&self, backend: Backend) -> Containment {
        let work = self.folder.join("work");
        // Below what Landlock lets write, nothing can be hidden without a loss.
        let hidden = match backend {
            Backend::Namespaces => work.join("hidden"),
            Backend::Landlock | Backend::None | Backend::Unknown => self.folder.join("hidden"),
        };
        Containment {
            backend,
            full: false,
            protected: vec![work.join(".git/hooks")],
            writable: vec![work],
            visible: vec![],
            hidden: vec![hidden],
            throw_away: self.home.clone(),
            network: false,
            overrides_owners: false,
            copies: vec![],
        }
    }
}

impl Drop for ProbeGround {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// The home folder, if it can be one that is thrown away.
fn home() -> Option<PathBuf> {
    let home = fs::canonicalize(std::env::var_os("HOME")?).ok()?;
    let is_root = home == Path::new("/");
    (home.is_dir() && !is_root && !std::env::temp_dir().starts_with(&home)).then_some(home)
}

fn try_outside(backend: Backend) -> Result<String, Box<dyn Error>> {
    let hint = |error: &dyn Error| {
        let forbids = namespaces::what_forbids().filter(|_| backend == Backend::Namespaces);
        let hint = forbids
            .map(|words| format!("; {words}"))
            .unwrap_or_default();
        format!("{error}{hint}")
    };
    // Once more, if a service that starts has taken the folder for one that was left.
    let ground = ProbeGround::make().or_else(|_| ProbeGround::make());
    let ground = ground.map_err(|error| format!("no folder to try it in: {error}"))?;
    let containment = ground.containment(backend);
    enter(&containment, None).map_err(|error| hint(&error))?;
    let mut child = Command::new("/proc/self/exe")
        .args(["__launch", "probe", &format!("{}{INSIDE}", backend.name())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(serde_json::to_string(&containment)?.as_bytes())?;
    }
    let notes = probe_result(&child.wait_with_output()?)
        .map_err(|reason| hint(&*Box::<dyn Error>::from(reason)))?;
    let left = ground.home.as_ref().map(|home| home.join(HOME_FILE));
    if let Some(left) = left.filter(|path| path.exists()) {
        drop(fs::remove_file(left));
        return Err("what is written in the home folder stays".into());
    }
    Ok(notes)
}

fn try_inside(backend: Backend) -> Result<String, Box<dyn Error>> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let containment: Containment = serde_json::from_str(&text)?;
    let applied = apply_and_tell(&containment, None)?;
    check_files(&containment)?;
    if !caps::read(None, CapSet::Permitted)?.is_empty() {
        return Err("capabilities are left".into());
    }
    let server = TcpListener::bind("127.0.0.1:0");
    if backend == Backend::Namespaces {
        check_namespaces(&containment, &applied)?;
        let server = server.map_err(|error| format!("no server on 127.0.0.1: {error}"))?;
        TcpStream::connect(server.local_addr()?)
            .map_err(|error| format!("no way to a server on 127.0.0.1: {error}"))?;
    } else if server.is_ok() {
        return Err("a server can be started although the network is off".into());
    }
    let mut notes = format!("{LANDLOCK}{}\n", applied.landlock_abi);
    if let Some(reason) = applied.home_is_read_only {
        notes.push_str(&format!("{READ_ONLY_HOME}{reason}\n"));
    }
    Ok(notes)
}

/// The promises of every backend.
fn check_files(containment: &Containment) -> Result<(), Box<dyn Error>> {
    for work in &containment.writable {
        fs::write(work.join("made"), "made")
            .map_err(|error| format!("the workspace is closed: {error}"))?;
        if fs::write(work.with_file_name("outside"), "made").is_ok() && is_outside(work) {
            return Err("files outside of the workspace can be written".into());
        }
    }
    let mut hidden = containment.hidden.iter();
    if hidden.any(|folder| fs::read(folder.join("file")).is_ok()) {
        return Err("what is hidden can be read".into());
    }
    Ok(())
}

/// True if what is beside the workspace is the machine's, and not a folder of the command's own.
fn is_outside(work: &Path) -> bool {
    work.with_file_name("hidden").exists()
}

/// The promises of mounts and of the view of the processes.
fn check_namespaces(
    containment: &Containment,
    applied: &AppliedContainment,
) -> Result<(), Box<dyn Error>> {
    if fs::create_dir("/harness-probe").is_ok() {
        drop(fs::remove_dir("/harness-probe"));
        return Err("the root folder can be written".into());
    }
    for folder in &containment.protected {
        if fs::write(folder.join("made"), "made").is_ok() {
            return Err("what is protected can be written".into());
        }
        let around = folder.parent().unwrap_or(folder);
        if fs::rename(around, around.with_extension("away")).is_ok() {
            return Err("what is protected can be moved away".into());
        }
    }
    if let (Some(home), None) = (&containment.throw_away, &applied.home_is_read_only) {
        fs::write(home.join(HOME_FILE), "made")
            .map_err(|error| format!("the home folder is closed: {error}"))?;
    }
    let entries = fs::read_dir("/proc")?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let processes = names.filter(|name| name.parse::<u32>().is_ok()).count();
    if processes != 1 {
        return Err(format!("{processes} processes are in sight instead of one").into());
    }
    Ok(())
}
