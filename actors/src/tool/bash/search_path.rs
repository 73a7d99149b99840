//! The programs that a command with full access or the network finds: none that other commands can change.
//!
//! Such a command reaches further than those that may write the conversation's folder. A program that they made there
//! and that it runs by its name would have the same reach, also by a rule that an operator made for another program.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::environment::DEFAULT_PATH;
use super::reach;
use crate::approval::{PlainLine, plain_line};
use crate::lexical::lexical;

/// The shell's exit code for a program that it does not find.
const NOT_FOUND: i32 = 127;
/// Maximum number of links that one path may lead over, as in the kernel of Linux.
const MAX_LINKS: usize = 40;
/// Places that all users may write, and those that each process sees differently.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/proc"];

/// The search path of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchPath {
    /// The folders in which it finds programs, in their order; `None` for those of the service.
    kept: Option<Vec<String>>,
    /// The folders of the service's search path in which it finds none.
    left_out: Vec<String>,
}

/// The search path of a command that starts in `folder` with full access or the network, and the first program of it
/// that contained commands can change. They can write in `more` folders besides that of the conversation. Looks at
/// files.
pub(super) fn look(
    command: &str,
    workspace: &Path,
    folder: &Path,
    more: Vec<PathBuf>,
) -> (SearchPath, Option<String>) {
    let changeable = changeable_places(workspace, more);
    let path = std::env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned());
    let search_path = SearchPath::outside(&path, &changeable);
    let program = search_path.changeable_program(command, folder, &changeable);
    let program = program.map(|file| file.to_string_lossy().into_owned());
    (search_path, program)
}

/// The places where contained commands can make files: the conversation's folder with the repository of its worktree,
/// `more` folders, and those that all users may write. Looks at files.
pub(super) fn changeable_places(workspace: &Path, more: Vec<PathBuf>) -> Vec<PathBuf> {
    let own = [workspace.to_owned()].into_iter().chain(more);
    let shared = SHARED.map(PathBuf::from);
    let places = own
        .chain(reach::find(workspace, &[]).writable)
        .chain(shared);
    places
        .filter_map(|place| fs::canonicalize(place).ok())
        .collect()
}

impl SearchPath {
    /// The folders of a search path in which contained commands can change nothing. Looks at files.
    pub(super) fn outside(path: &str, changeable: &[PathBuf]) -> Self {
        let is_left_out = |folder: &String| is_changeable(Path::new(folder), changeable);
        let (left_out, kept) = path.split(':').map(str::to_owned).partition(is_left_out);
        Self {
            kept: Some(kept),
            left_out,
        }
    }

    /// Puts the search path into an environment. An empty one would be the folder that the command is in, so that
    /// the default takes its place.
    pub(super) fn put_into(&self, environment: &mut [(String, String)]) {
        let Some(kept) = &self.kept else {
            return;
        };
        for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
            *value = match kept.is_empty() {
                true => DEFAULT_PATH.to_owned(),
                false => kept.join(":"),
            };
        }
    }

    /// The words about the folders that were left out, for a command that found no program.
    pub(super) fn note(&self, code: Option<i32>) -> Option<String> {
        let is_concerned = code == Some(NOT_FOUND) && !self.left_out.is_empty();
        let name = |folder: &String| match folder.is_empty() {
            true => ".".to_owned(),
            false => folder.clone(),
        };
        is_concerned.then(|| {
            let folders: Vec<String> = self.left_out.iter().map(name).collect();
            format!(
                "not in PATH with this access, as commands can write there: {}; name a program there by its path",
                folders.join(", ")
            )
        })
    }

    /// The file of the first program of a plain line that contained commands can change. A program that is named by
    /// a relative path counts from both folders: the `cd` in front may fail. Looks at files.
    pub(super) fn changeable_program(
        &self,
        command: &str,
        folder: &Path,
        changeable: &[PathBuf],
    ) -> Option<PathBuf> {
        let PlainLine { start, programs } = plain_line(command)?;
        let start = start.map(|start| lexical(&folder.join(start)));
        let starts: Vec<PathBuf> = [folder.to_owned()].into_iter().chain(start).collect();
        let files = |program: &String| -> Vec<PathBuf> {
            match program.contains('/') {
                true => starts.iter().map(|start| start.join(program)).collect(),
                false => self.find(program).into_iter().collect(),
            }
        };
        let mut files = programs.iter().flat_map(files);
        files.find(|file| is_changeable(file, changeable))
    }

    /// The file that is found by the name of a program.
    fn find(&self, program: &str) -> Option<PathBuf> {
        let mut folders = self.kept.iter().flatten();
        folders.find_map(|folder| {
            let file = Path::new(folder).join(program);
            let is_program = file.is_file() && access(&file, AccessFlags::X_OK).is_ok();
            is_program.then_some(file)
        })
    }
}

/// True if contained commands can change what a path leads to: it is relative, or it or a link on its way is in one of
/// those places. Looks at files.
fn is_changeable(path: &Path, changeable: &[PathBuf]) -> bool {
    if !path.is_absolute() {
        return true;
    }
    let is_inside = |way: &Path| changeable.iter().any(|place| way.starts_with(place));
    let mut way = PathBuf::from("/");
    let mut rest: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            way.pop();
            continue;
        }
        if is_inside(&way) {
            return true;
        }
        way.push(name);
        // Anything but a link is a step of the way.
        let Ok(target) = fs::read_link(&way) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return true;
        }
        match target.is_absolute() {
            true => way = PathBuf::from("/"),
            false => drop(way.pop()),
        }
        rest = names(&target).chain(rest).collect();
    }
    is_inside(&way)
}

/// The steps of a path.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder that commands can write and one that they cannot, with a program in each, and links between them.
    fn places() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        for folder in ["work/bin", "safe/bin"] {
            let tool = real.join(folder).join("tool");
            fs::create_dir_all(real.join(folder)).unwrap();
            fs::write(&tool, "").unwrap();
            fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (target, link) in [
            ("../work/bin", "safe/into"),
            ("../safe/bin", "work/out"),
            ("../work/out", "safe/through"),
            ("bin", "safe/beside"),
            ("loop", "safe/loop"),
            ("../../work/bin/tool", "safe/bin/linked"),
        ] {
            symlink(target, real.join(link)).unwrap();
        }
        (home, real)
    }

    /// Spec: [BASH-420]
    #[test]
    fn folders_that_commands_can_write_are_left_out_of_the_search_path() {
        let (_home, real) = places();
        let changeable = [real.join("work")];
        let at = |name: &str| real.join(name).to_string_lossy().into_owned();
        for (folder, is_left_out) in [
            (at("safe/bin"), false),
            (at("safe/beside"), false),
            (at("safe/missing"), false),
            (at("work/../safe/bin"), false),
            (at("work/bin/../../safe/bin"), true),
            (at("work"), true),
            (at("safe/../work/bin"), true),
            (at("work/bin"), true),
            (at("work/missing"), true),
            (at("safe/into"), true),
            // A command can put another link there.
            (at("work/out"), true),
            (at("safe/through"), true),
            (at("safe/loop"), true),
            (String::new(), true),
            (".".to_owned(), true),
            ("node_modules/.bin".to_owned(), true),
            ("~/bin".to_owned(), true),
        ] {
            let found = SearchPath::outside(&folder, &changeable);
            assert_eq!(!found.left_out.is_empty(), is_left_out, "{folder}");
        }
        let (safe, work) = (at("safe/bin"), at("work/bin"));
        let path = SearchPath::outside(&format!("{work}:{safe}::/usr/bin"), &changeable);
        let variable = |value: &str| [("PATH".to_owned(), value.to_owned())];
        let mut environment = variable("before");
        path.put_into(&mut environment);
        assert_eq!(environment, variable(&format!("{safe}:/usr/bin")));
        let note = path.note(Some(127)).unwrap();
        assert!(note.contains(&format!("{work}, .; ")), "{note}");
        assert_eq!(path.note(Some(1)), None);
        // With nothing left, the folder that the command is in is not searched.
        SearchPath::outside(&work, &changeable).put_into(&mut environment);
        assert_eq!(environment, variable(DEFAULT_PATH));
        // The service's own path has nothing left out.
        let mut environment = variable(&work);
        SearchPath::default().put_into(&mut environment);
        assert_eq!(environment, variable(&work));
        assert_eq!(SearchPath::default().note(Some(127)), None);
    }

    /// Spec: [APPR-422]
    #[test]
    fn a_program_that_commands_can_change_is_found_by_its_file() {
        let (_home, real) = places();
        let (work, changeable) = (real.join("work"), [real.join("work")]);
        let folders = format!("{}:/usr/bin", real.join("safe/bin").display());
        let path = SearchPath::outside(&folders, &changeable);
        let safe = real.join("safe/bin/tool").to_string_lossy().into_owned();
        for (command, expected) in [
            ("tool x", None),
            ("missing", None),
            (&*safe, None),
            ("../safe/bin/tool", None),
            ("cd / && ../tool", None),
            ("linked", Some("safe/bin/linked")),
            ("bin/tool", Some("work/bin/tool")),
            ("tool && bin/tool x", Some("work/bin/tool")),
            // The folder that it starts in counts as well: the cd may fail.
            ("cd ../safe; bin/tool", Some("work/bin/tool")),
            // Not plain, so that no rule covers it.
            ("bin/tool $x", None),
        ] {
            let found = path.changeable_program(command, &work, &changeable);
            assert_eq!(found, expected.map(|file| real.join(file)), "{command}");
        }
    }
}
