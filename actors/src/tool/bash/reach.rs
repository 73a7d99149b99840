//! The places in a conversation's folder that a command may write, and those that it may not.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::configured_places::{OperatorConfig, configured_places};
use super::content_places::ContentPlaces;
use super::git_config::{parse, read_git_file};
use super::git_ways::CONFIGURATIONS;
use super::own_repository::{GIT, OwnRepository};
use crate::lexical::lexical;
use crate::tool::protected::{is_protected_name, named_places};

/// The files in git's own folder that tell git what to run, or where its configuration is.
///
/// Source: gitrepository-layout(5).
const OF_GIT: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "info/attributes",
    "commondir",
];
/// Maximum depth at which folders of submodules are looked for.
const DEPTH: usize = 4;
/// Maximum number of protected entries of the folder: no folder that people work in has more. The places that each
/// folder has are protected besides, however many there are of the others.
const MOST: usize = 512;
/// Maximum number of places that the configuration of a submodule names, until all of its git folder is protected.
const MAX_NAMED: usize = 512;
/// Maximum number of submodules whose places are protected.
const MAX_MODULES: usize = 128;
/// Programs that move the files of a repository between commits.
const MOVERS: [&str; 3] = ["git", "gh", "jj"];
/// Commands of those programs that replace files of the folder.
///
/// Source: git(1), gh(1), and the command reference of jj.
const MOVES: [&str; 26] = [
    "abandon",
    "am",
    "apply",
    "bisect",
    "checkout",
    "cherry",
    "clone",
    "co",
    "edit",
    "merge",
    "mv",
    "new",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "squash",
    "stash",
    "submodule",
    "subtree",
    "switch",
    "sync",
    "undo",
    "worktree",
];
/// Maximum number of links that lead to one place.
const MAX_LINKS: usize = 40;

/// The places that a command may write, and the protected ones among them. Paths are absolute, and without links
/// but for their last name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WriteReach {
    /// Folders besides that of the conversation: those of the repository of a linked worktree.
    pub(super) writable: Vec<PathBuf>,
    /// The folders with protected places, beginning with that of the conversation. None has links.
    pub(super) bases: Vec<PathBuf>,
    /// The repositories that git finds from the conversation's folder, the nearest first.
    pub(super) repositories: Vec<OwnRepository>,
    /// Folders that may be written and not be moved away, because a protected place of git is in them.
    pub(super) pinned: BTreeSet<PathBuf>,
    /// Paths that may not be changed, whether they are there or not.
    pub(super) protected: Vec<PathBuf>,
    /// The paths among those that git replaces when it moves between commits.
    pub(super) contents: BTreeSet<PathBuf>,
    /// The configurations of git among the protected paths, whether they are there or not.
    pub(super) configurations: BTreeSet<PathBuf>,
}

/// The places from which git takes what to run.
#[derive(Debug, Default)]
struct GitPlaces {
    all: Vec<PathBuf>,
    /// The configurations among them.
    configurations: Vec<PathBuf>,
}

impl GitPlaces {
    /// Adds the places of a git folder.
    fn add_git(&mut self, git: &Path) {
        self.all.extend(OF_GIT.iter().map(|name| git.join(name)));
        let configurations = CONFIGURATIONS.iter().map(|name| git.join(name));
        self.configurations.extend(configurations);
        let worktrees = fs::read_dir(git.join("worktrees"));
        for entry in worktrees.into_iter().flatten().flatten() {
            let configuration = entry.path().join("config.worktree");
            self.all.push(configuration.clone());
            self.configurations.push(configuration);
        }
    }
}

impl WriteReach {
    /// Adds protected places of content that are below the folder, as many as there is room for, and what their links
    /// lead to.
    pub(super) fn add_contents(&mut self, workspace: &Path, found: &ContentPlaces) {
        let bases = [workspace.to_owned()];
        let mut places = Vec::new();
        for place in &found.places {
            match found.nested.contains(place) {
                true => places.push(workspace.join(place)),
                false => add_with_links(workspace.join(place), &bases, &mut places),
            }
        }
        for place in places {
            if self.contents.len() < MOST && !self.protected.contains(&place) {
                self.protected.push(place.clone());
                self.contents.insert(place);
            }
        }
        self.protected.sort();
    }

    /// The protected paths that mounts hold while a command runs: without content if git may move the files.
    pub(super) fn held(&self, may_move: bool) -> Vec<PathBuf> {
        let protected = self.protected.iter();
        let held = protected.filter(|place| !may_move || !self.contents.contains(*place));
        held.cloned().collect()
    }
}

/// Finds what a command may write that works in that folder. It may write in `more` folders besides. Blocks.
pub(super) fn find(workspace: &Path, more: &[PathBuf]) -> WriteReach {
    find_with(workspace, more, &OperatorConfig::from_environment())
}

fn find_with(workspace: &Path, more: &[PathBuf], operator: &OperatorConfig) -> WriteReach {
    let git = workspace.join(GIT);
    let is_file = fs::symlink_metadata(&git).is_ok_and(|found| found.is_file());
    let linked = is_file.then(|| linked(&git)).flatten();
    let writable: Vec<PathBuf> = linked.into_iter().map(|(_, common)| common).collect();
    let repositories = OwnRepository::find_all(workspace);
    let more = more.iter().filter_map(|path| fs::canonicalize(path).ok());
    let more = more.filter(|path| path.is_dir() && !path.starts_with(workspace));
    let mut bases = vec![workspace.to_owned()];
    for base in more.chain(writable.iter().cloned()) {
        if !bases.contains(&base) {
            bases.push(base);
        }
    }
    // What leads to a git folder is protected, and not all that is in the folder.
    let mut protected = git_pointers(workspace, &bases);
    let git_places = git_places(workspace, &repositories, operator);
    for place in git_places.all {
        add_with_links(place, &bases, &mut protected);
    }
    let configurations = git_places.configurations.into_iter();
    let configurations = configurations.filter(|place| protected.contains(place));
    let configurations = configurations.collect();
    let mut pinned = BTreeSet::new();
    for place in &protected {
        pinned.extend(pinned_above(place, &bases));
    }
    // A folder that is protected is held as a whole.
    pinned.retain(|pin| !protected.iter().any(|place| pin.starts_with(place)));
    let mut of_content = Vec::new();
    for place in contents_of(workspace) {
        add_with_links(place, &bases, &mut of_content);
    }
    // A file of git's own is held, also where content leads to it.
    of_content.retain(|place| !protected.contains(place));
    protected.extend(of_content.iter().cloned());
    protected.sort();
    protected.dedup();
    WriteReach {
        writable,
        bases,
        repositories,
        pinned,
        protected,
        contents: of_content.into_iter().collect(),
        configurations,
    }
}

/// The places of protected content right in a folder: the known ones, and those that exist.
fn contents_of(workspace: &Path) -> Vec<PathBuf> {
    let own = fs::read_dir(workspace).into_iter().flatten().flatten();
    let own = own.filter(|entry| {
        let name = entry.file_name();
        name != GIT && is_protected_name(&name)
    });
    let own = own.take(MOST).map(|entry| entry.path());
    own.chain(named_places().map(|place| workspace.join(place)))
        .collect()
}

/// The entries `.git` in and above a folder that are no folders, where a command may write.
fn git_pointers(workspace: &Path, bases: &[PathBuf]) -> Vec<PathBuf> {
    let entries = workspace.ancestors().map(|folder| folder.join(GIT));
    let is_pointer = |entry: &PathBuf| {
        let is_folder = fs::symlink_metadata(entry).map(|found| found.is_dir());
        is_folder.is_ok_and(|is_folder| !is_folder)
            && bases.iter().any(|base| entry.starts_with(base))
    };
    entries.filter(is_pointer).collect()
}

/// The places from which git takes what to run in these repositories.
fn git_places(
    workspace: &Path,
    repositories: &[OwnRepository],
    operator: &OperatorConfig,
) -> GitPlaces {
    let mut places = GitPlaces::default();
    if repositories
        .first()
        .is_none_or(|near| near.top != workspace)
    {
        // The command may make a repository there.
        let git = workspace.join(GIT);
        places
            .all
            .extend(configured_places(&git, workspace, operator));
    }
    for repository in repositories {
        for submodule in repository.submodules_elsewhere() {
            let named = configured_places(&submodule.git, &submodule.top, operator);
            // A command can write the configuration that names them.
            if named.len() > MAX_NAMED {
                places.all.push(submodule.git);
                continue;
            }
            places.all.extend(named);
            // A command may work with one whose git folder is in it, which is looked at afterwards.
            if !submodule.has_git_inside() {
                places.add_git(&submodule.git);
            }
        }
        for git in repository.git_folders() {
            places.add_git(git);
            places
                .all
                .extend(configured_places(git, &repository.top, operator));
            let mut modules = Vec::new();
            add_modules(&git.join("modules"), DEPTH, &mut modules);
            for module in modules {
                places.add_git(&module);
                if let Some(worktree) = worktree_of(&module) {
                    places
                        .all
                        .extend(configured_places(&module, &worktree, operator));
                }
            }
        }
    }
    places
}

/// The working tree that the configuration of a submodule names.
fn worktree_of(module: &Path) -> Option<PathBuf> {
    let text = read_git_file(&module.join("config"))?;
    let entries = parse(text.as_bytes())?;
    let entry = entries
        .iter()
        .find(|entry| entry.key() == "core.worktree")?;
    Some(lexical(&module.join(entry.value())))
}

/// The folders above a place that exists, within the folder that a command may write. Of a hidden folder and of those in
/// it the mounts take care.
fn pinned_above(place: &Path, bases: &[PathBuf]) -> Vec<PathBuf> {
    let base = bases.iter().find(|base| place.starts_with(base));
    let below = base.and_then(|base| Some((base, place.strip_prefix(base).ok()?.parent()?)));
    let Some((base, above)) = below.filter(|_| fs::symlink_metadata(place).is_ok()) else {
        return Vec::new();
    };
    let is_in_sight = |name: &&OsStr| !name.as_encoded_bytes().starts_with(b".");
    let mut folder = base.clone();
    let names = base.file_name().filter(is_in_sight);
    let names = names.into_iter().flat_map(|_| above.iter());
    let names = names.take_while(is_in_sight);
    names
        .map(|name| {
            folder.push(name);
            folder.clone()
        })
        .collect()
}

/// True if a command's text names a program that moves files between commits, and one of its commands that do so.
pub(super) fn may_move_files(command: &str) -> bool {
    has_word(command, &MOVERS) && has_word(command, &MOVES)
}

/// True if a command's text names a program that changes git's configuration.
pub(super) fn may_configure_git(command: &str) -> bool {
    has_word(command, &MOVERS)
}

/// True if a text has one of these words: no letter, digit or dot is before it, and no letter or digit after it.
pub(super) fn has_word(text: &str, words: &[&str]) -> bool {
    let is_whole = |at: usize, word: &str| {
        let (before, rest) = text.split_at(at);
        let before = before.chars().next_back();
        let after = rest.chars().nth(word.len());
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '.';
        !before.is_some_and(is_letter) && !after.is_some_and(char::is_alphanumeric)
    };
    words
        .iter()
        .any(|word| text.match_indices(word).any(|(at, _)| is_whole(at, word)))
}

/// Adds the links on the way to a place, and the place that they lead to, if a command may write there.
fn add_with_links(place: PathBuf, bases: &[PathBuf], protected: &mut Vec<PathBuf>) {
    let is_below = |place: &Path| {
        let is_around = |base: &&PathBuf| place.starts_with(base) && place != **base;
        bases.iter().find(is_around)
    };
    let mut place = match is_below(&place) {
        Some(_) => place,
        None => without_links(&place),
    };
    for _ in 0..=MAX_LINKS {
        let Some(base) = is_below(&place) else {
            return;
        };
        let Some(link) = first_link(base, &place) else {
            protected.push(place);
            return;
        };
        let target = fs::canonicalize(&link);
        let rest = place.strip_prefix(&link).map(Path::to_owned);
        protected.push(link);
        let (Ok(target), Ok(rest)) = (target, rest) else {
            return;
        };
        // Joined with nothing, a path would end in a slash.
        place = target.components().chain(rest.components()).collect();
    }
}

/// The same path with the links of those of its folders that exist resolved.
fn without_links(path: &Path) -> PathBuf {
    let real = path.ancestors().skip(1).find_map(|above| {
        let real = fs::canonicalize(above).ok()?;
        Some(real.join(path.strip_prefix(above).ok()?))
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// The first link in a path below a folder.
fn first_link(base: &Path, place: &Path) -> Option<PathBuf> {
    let mut path = base.to_owned();
    for name in place.strip_prefix(base).ok()? {
        path.push(name);
        if fs::symlink_metadata(&path).ok()?.is_symlink() {
            return Some(path);
        }
    }
    None
}

/// Adds the git folders of submodules, and of theirs.
fn add_modules(folder: &Path, depth: usize, modules: &mut Vec<PathBuf>) {
    if depth == 0 || modules.len() >= MAX_MODULES {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").is_file() {
            modules.push(path.clone());
            add_modules(&path.join("modules"), DEPTH, modules);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_modules(&path, depth - 1, modules);
        }
    }
}

/// The folders of a linked worktree: its own, and the one of its repository. The command may write the file `.git`,
/// so the repository has to name the worktree as well.
///
/// Source: gitrepository-layout(5): `gitdir`, `commondir`; git-worktree(1): with `worktree.useRelativePaths`, both
/// files name paths relative to their own folder.
pub(crate) fn linked(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = read_git_file(file)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let own = fs::canonicalize(file.parent()?.join(named)).ok()?;
    let back = read_git_file(&own.join("gitdir"))?;
    let back = fs::canonicalize(own.join(back.trim())).ok()?;
    if back != fs::canonicalize(file).ok()? {
        return None;
    }
    let common = read_git_file(&own.join("commondir"))?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    (own.parent()? == common.join("worktrees") && is_repository).then_some((own, common))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        (home, real)
    }

    fn find_in(workspace: &Path) -> WriteReach {
        find_with(workspace, &[], &OperatorConfig::default())
    }

    fn repository(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("hooks")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// Spec: [BASH-551]
    #[test]
    fn a_command_that_moves_files_is_known_by_its_words() {
        for text in [
            "git switch x",
            "cd a && git merge b",
            "x=$(git stash)",
            "/usr/bin/git pull",
            "git cherry-pick x",
            "python3 -c 'run([\"git\", \"pull\"])'",
            "gh pr checkout 1",
        ] {
            assert!(may_move_files(text), "{text}");
        }
        for text in [
            "git log -p && git status",
            "git add . && git commit -m merged",
            "echo a > .gitattributes",
            "cat .git/config",
            "digit x",
            "legitimate",
            "curl https://github.com/x.git",
        ] {
            assert!(!may_move_files(text), "{text}");
        }
    }

    /// Spec: [BASH-551] [BASH-550]
    #[test]
    fn content_is_held_unless_git_may_move_it() {
        let (_home, real) = folders();
        repository(&real.join(".git"));
        let mut reach = find_in(&real);
        let below = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let found = ContentPlaces {
            places: below(&["sub/AGENTS.md", "lib/.envrc"]),
            nested: below(&["lib/.envrc"]),
        };
        reach.add_contents(&real, &found);
        for (name, is_content) in [
            ("AGENTS.md", true),
            (".mise.toml", true),
            ("sub/AGENTS.md", true),
            ("lib/.envrc", true),
            (".git/config", false),
            (".git/hooks", false),
        ] {
            let place = real.join(name);
            assert!(reach.held(false).contains(&place), "{name}");
            assert_eq!(reach.held(true).contains(&place), !is_content, "{name}");
        }
    }

    /// Spec: [BASH-07]
    #[test]
    fn what_tells_other_programs_what_to_do_is_protected() {
        let (_home, real) = folders();
        repository(&real.join(".git"));
        repository(&real.join(".git/modules/deep/sub"));
        fs::write(real.join(".npmrc"), "").unwrap();
        fs::write(real.join("main.rs"), "").unwrap();
        let reach = find_in(&real);
        assert!(reach.writable.is_empty());
        for name in [
            ".git/hooks",
            ".git/config",
            ".git/config.worktree",
            ".git/modules/deep/sub/hooks",
            ".npmrc",
            ".envrc",
            "AGENTS.md",
            ".cargo/config.toml",
        ] {
            assert!(reach.protected.contains(&real.join(name)), "{name}");
        }
        for name in [".git", "main.rs", ".git/index", ".cargo"] {
            assert!(!reach.protected.contains(&real.join(name)), "{name}");
        }
    }

    /// Spec: [BASH-07]
    #[test]
    fn the_repository_of_a_worktree_may_be_written_if_it_knows_the_worktree() {
        let (_home, real) = folders();
        let (main, tree) = (real.join("main/.git"), real.join("tree"));
        repository(&main);
        let own = main.join("worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        // The repository knows nothing of it.
        assert!(find_in(&tree).writable.is_empty());
        let back = format!("{}\n", tree.join(".git").display());
        fs::write(own.join("gitdir"), back).unwrap();
        let reach = find_in(&tree);
        assert_eq!(reach.writable, std::slice::from_ref(&main));
        for path in [
            tree.join(".git"),
            main.join("hooks"),
            main.join("config"),
            own.join("config.worktree"),
        ] {
            assert!(reach.protected.contains(&path), "{}", path.display());
        }
        // Both files may name relative paths.
        fs::write(own.join("gitdir"), "../../../../tree/.git\n").unwrap();
        fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
        assert_eq!(find_in(&tree).writable, std::slice::from_ref(&main));
        // A pipe in the place of a file is not waited for.
        fs::remove_file(own.join("commondir")).unwrap();
        nix::unistd::mkfifo(&own.join("commondir"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(find_in(&tree).writable.is_empty());
        // A file that names anything else.
        let other = real.join("other");
        repository(&other);
        fs::write(tree.join(".git"), format!("gitdir: {}\n", other.display())).unwrap();
        assert!(find_in(&tree).writable.is_empty());
    }

    /// Spec: [BASH-07]
    #[test]
    fn many_protected_entries_leave_none_of_the_known_places_out() {
        let (_home, real) = folders();
        repository(&real.join(".git"));
        for number in 0..2 * MOST {
            fs::write(real.join(format!(".devcontainer{number}")), "").unwrap();
        }
        let protected = find_in(&real).protected;
        for name in [".git/hooks", ".git/config", "AGENTS.md", ".vscode"] {
            assert!(protected.contains(&real.join(name)), "{name}");
        }
        assert!(protected.len() < 2 * MOST);
    }

    /// Spec: [BASH-581]
    #[test]
    fn the_operators_configuration_holds_for_each_repository() {
        let (_home, real) = folders();
        let work = real.join("work");
        fs::create_dir_all(work.join("sub")).unwrap();
        let settings = work.join("settings");
        fs::write(&settings, "[core]\n\thooksPath = .githooks\n").unwrap();
        let operator = OperatorConfig {
            files: vec![settings.clone()],
            home: None,
        };
        let protected = |workspace: &Path| find_with(workspace, &[], &operator).protected;
        // Also of one that a command makes.
        for place in [settings, work.join(".githooks")] {
            assert!(protected(&work).contains(&place), "{}", place.display());
        }
        repository(&work.join(".git/modules/sub"));
        let config = "[core]\n\tworktree = ../../../sub\n";
        fs::write(work.join(".git/modules/sub/config"), config).unwrap();
        assert!(protected(&work).contains(&work.join("sub/.githooks")));
    }

    /// Spec: [BASH-580]
    #[test]
    fn a_folder_that_is_protected_is_held_whole_though_a_place_in_it_is_named() {
        let (_home, real) = folders();
        let work = real.join("work");
        repository(&work.join(".git"));
        fs::create_dir(work.join("tools")).unwrap();
        fs::write(work.join("tools/monitor"), "").unwrap();
        let config = "[core]\n\thooksPath = tools\n\tfsmonitor = tools/monitor\n";
        fs::write(work.join(".git/config"), config).unwrap();
        let reach = find_in(&work);
        assert!(reach.protected.contains(&work.join("tools")));
        assert!(reach.protected.contains(&work.join("tools/monitor")));
        assert_eq!(reach.pinned, BTreeSet::new());
    }

    /// Spec: [BASH-580]
    #[test]
    fn folders_above_a_file_of_gits_own_stay_at_their_places() {
        let (_home, real) = folders();
        let work = real.join("work");
        repository(&work.join("a/gd"));
        repository(&work.join("a/gd/modules/sub"));
        fs::create_dir_all(work.join("b")).unwrap();
        fs::write(work.join("b/AGENTS.md"), "").unwrap();
        fs::write(work.join(".git"), "gitdir: a/gd\n").unwrap();
        let reach = find_in(&work);
        let pinned = ["a", "a/gd", "a/gd/modules", "a/gd/modules/sub"];
        assert_eq!(
            reach.pinned,
            BTreeSet::from(pinned.map(|name| work.join(name)))
        );
        for name in [
            ".git",
            "a/gd/config",
            "a/gd/hooks",
            "a/gd/modules/sub/hooks",
        ] {
            assert!(reach.protected.contains(&work.join(name)), "{name}");
        }
        assert!(!reach.protected.contains(&work.join("a/gd")));
    }

    /// Spec: [BASH-206]
    #[test]
    fn a_link_is_protected_together_with_what_it_leads_to() {
        use std::os::unix::fs::symlink;

        let (_home, real) = folders();
        let work = real.join("work");
        repository(&work.join(".git"));
        fs::create_dir_all(work.join("tools/cargo")).unwrap();
        fs::create_dir_all(work.join("docs")).unwrap();
        fs::create_dir_all(real.join("out")).unwrap();
        fs::write(work.join("docs/A.md"), "").unwrap();
        symlink("docs/A.md", work.join("AGENTS.md")).unwrap();
        symlink("AGENTS.md", work.join("CLAUDE.md")).unwrap();
        symlink("tools/cargo", work.join(".cargo")).unwrap();
        symlink("../out", work.join(".config")).unwrap();
        symlink("nowhere", work.join(".envrc")).unwrap();
        fs::remove_dir(work.join(".git/hooks")).unwrap();
        symlink("../docs", work.join(".git/hooks")).unwrap();
        let reach = find_in(&work);
        for name in [
            "AGENTS.md",
            "CLAUDE.md",
            "docs/A.md",
            ".cargo",
            "tools/cargo/config.toml",
            ".config",
            ".envrc",
            ".git/hooks",
            "docs",
        ] {
            assert!(reach.protected.contains(&work.join(name)), "{name}");
        }
        for path in [
            work.join(".cargo/config.toml"),
            real.join("out/fish"),
            work.join("nowhere"),
        ] {
            assert!(!reach.protected.contains(&path), "{}", path.display());
        }
    }
}
