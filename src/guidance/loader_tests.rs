//! Tests of loading and of noticing changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::stat::Mode;
use tempfile::TempDir;

use super::*;

#[path = "trust_tests.rs"]
mod trust;

/// The folders of a service and its loader.
struct Place {
    folder: TempDir,
    loader: Loader,
}

impl Place {
    fn new() -> Self {
        Self::at(Clock::system())
    }

    fn at(clock: Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, workspace) = (root.join("home"), root.join("outer/work"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&workspace).unwrap();
        let redaction = Redaction::new(vec!["sk-secret".into()]);
        let shelf = GuidanceShelf::default();
        let loader = Loader::new(&home, &workspace, redaction, clock, shelf);
        let place = Self { folder, loader };
        place.permit("outer", 0o755);
        place
    }

    /// Sets who may do what, whatever the umask is.
    fn permit(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.permit(name, 0o644);
    }

    fn link(&self, target: &str, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// The texts of the context files below this place.
    fn told(&mut self) -> Vec<String> {
        let guidance = self.refreshed();
        let files = guidance.context_files.iter();
        files
            .filter(|file| Path::new(&file.path).starts_with(self.path("")))
            .map(|file| file.text.clone())
            .collect()
    }

    /// The problems, by file.
    fn problems(&mut self) -> Vec<(String, String)> {
        let guidance = self.refreshed();
        let problems = guidance.problems.iter().map(|problem| {
            let (path, reason) = problem.split_once(": ").unwrap();
            let path = Path::new(path).strip_prefix(self.path("")).unwrap();
            (path.to_str().unwrap().to_owned(), reason.to_owned())
        });
        problems.collect()
    }

    fn skill(&self, folder: &str, name: &str, description: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
        self.write(&format!("{folder}/{name}/SKILL.md"), &text);
    }

    fn refreshed(&mut self) -> Arc<Guidance> {
        self.loader.refresh();
        self.loader.shelf.get()
    }
}

fn skills(guidance: &Guidance) -> Vec<(&str, &str)> {
    let skills = guidance.skills.iter();
    skills
        .map(|skill| (&*skill.name, &*skill.description))
        .collect()
}

fn templates(guidance: &Guidance) -> Vec<(&str, &str)> {
    let templates = guidance.templates.iter();
    templates
        .map(|template| (&*template.name, &*template.content))
        .collect()
}

/// Spec: [GUIDE-46]
#[test]
fn the_working_folder_wins_over_the_state_folder() {
    let mut place = Place::new();
    place.skill("home/skills", "both", "home");
    place.skill("home/skills", "at-home", "home");
    place.skill("outer/work/.claude/skills", "both", "claude");
    place.skill("outer/work/.claude/skills", "other", "claude");
    place.skill("outer/work/.agents/skills", "both", "agents");
    for (folder, name) in [
        ("home/templates", "a"),
        ("home/templates", "b"),
        ("outer/work/.claude/commands", "b"),
        ("outer/work/.claude/commands", "c"),
        ("outer/work/.agents/prompts", "c"),
        ("outer/work/.agents/prompts", "d"),
        ("outer/work/.agents/templates", "d"),
    ] {
        place.write(&format!("{folder}/{name}.md"), folder);
    }
    let guidance = place.refreshed();
    assert_eq!(
        skills(&guidance),
        [("at-home", "home"), ("both", "agents"), ("other", "claude")]
    );
    assert_eq!(
        templates(&guidance),
        [
            ("a", "home/templates"),
            ("b", "outer/work/.claude/commands"),
            ("c", "outer/work/.agents/prompts"),
            ("d", "outer/work/.agents/templates")
        ]
    );
    assert_eq!(guidance.problems, [""; 0]);
    assert_eq!(place.loader.told.len(), 5, "{:?}", place.loader.told);
}

/// Spec: [GUIDE-24]
#[test]
fn a_bad_file_is_named_and_skips_only_itself() {
    let mut place = Place::new();
    place.skill("home/skills", "good", "d");
    place.skill("home/skills", "not-its-folder", "d");
    fs::rename(
        place.path("home/skills/not-its-folder"),
        place.path("home/skills/folder"),
    )
    .unwrap();
    place.write("home/skills/no-front-matter/SKILL.md", "text");
    place.write("home/skills/no-skill/README.md", "text");
    place.write("home/skills/.hidden/SKILL.md", "text");
    place.write("home/skills/file", "text");
    fs::create_dir_all(place.path("home/skills/directory/SKILL.md")).unwrap();
    fs::create_dir(place.path("home/skills/pipe")).unwrap();
    nix::unistd::mkfifo(&place.path("home/skills/pipe/SKILL.md"), Mode::S_IRWXU).unwrap();
    symlink("loop", place.path("home/skills/loop")).unwrap();
    place.write("home/templates/good.md", "text");
    place.write("home/templates/.#good.md", "text");
    place.write("home/templates/notes.txt", "text");
    fs::write(place.path("home/templates/latin.md"), b"\xe4").unwrap();
    place.write("outer/work/.agents/templates", "no folder");
    fs::create_dir(place.path("outer/AGENTS.md")).unwrap();
    let guidance = place.refreshed();
    assert_eq!(skills(&guidance), [("good", "d"), ("not-its-folder", "d")]);
    assert_eq!(templates(&guidance), [("good", "text")]);
    let mut named: Vec<String> = Vec::new();
    for problem in &guidance.problems {
        assert!(!problem.contains('\n'), "{problem}");
        let (path, reason) = problem.split_once(": ").unwrap();
        assert!(!reason.is_empty());
        let path = Path::new(path).strip_prefix(place.path("")).unwrap();
        named.push(path.to_str().unwrap().to_owned());
    }
    named.sort();
    assert_eq!(
        named,
        [
            "home/skills/directory/SKILL.md",
            "home/skills/folder/SKILL.md",
            "home/skills/loop/SKILL.md",
            "home/skills/no-front-matter/SKILL.md",
            "home/skills/pipe/SKILL.md",
            "home/templates/latin.md",
            "outer/AGENTS.md",
            "outer/work/.agents/templates",
        ]
    );
}

/// Spec: [GUIDE-30] [GUIDE-31]
#[test]
fn context_files_come_from_the_state_folder_and_the_folders_above() {
    let mut place = Place::new();
    place.write("outer/work/AGENTS.md", "work");
    place.write("outer/work/CLAUDE.md", "not this");
    place.write("outer/CLAUDE.md", "outer");
    place.write("home/AGENTS.md", "home");
    let guidance = place.refreshed();
    let texts: Vec<&str> = guidance
        .context_files
        .iter()
        .filter(|file| Path::new(&file.path).starts_with(place.path("")))
        .map(|file| &*file.text)
        .collect();
    assert_eq!(texts, ["home", "outer", "work"]);
    let last = guidance.context_files.last().unwrap();
    assert_eq!(Path::new(&last.path), place.path("outer/work/AGENTS.md"));
}

/// Spec: [GUIDE-33]
#[test]
fn a_file_of_somebody_else_above_the_working_folder_is_told_of_and_left_out() {
    if !nix::unistd::Uid::effective().is_root() {
        assert!(
            std::env::var_os("CI").is_none(),
            "only root can give files away"
        );
        return;
    }
    let mut place = Place::new();
    for name in ["outer/AGENTS.md", "outer/work/AGENTS.md", "home/AGENTS.md"] {
        place.write(name, name);
        std::os::unix::fs::chown(place.path(name), Some(12_345), None).unwrap();
    }
    let guidance = place.refreshed();
    let texts = guidance.context_files.iter().map(|file| &*file.text);
    let texts: Vec<&str> = texts.filter(|text| text.ends_with("/AGENTS.md")).collect();
    assert_eq!(texts, ["home/AGENTS.md", "outer/work/AGENTS.md"]);
    assert_eq!(guidance.problems.len(), 1, "{:?}", guidance.problems);
    assert!(
        guidance.problems[0].ends_with("outer/AGENTS.md: it belongs to another user (uid 12345)")
    );
}

/// Spec: [GUIDE-15]
#[test]
fn what_changes_is_loaded_anew_at_once() {
    let mut place = Place::new();
    assert_eq!(skills(&place.refreshed()), []);
    place.skill("home/skills", "a", "one");
    assert_eq!(skills(&place.refreshed()), [("a", "one")]);
    // As long as before, and within the same tick of the file system's clock.
    for description in ["two", "six", "ten"] {
        place.skill("home/skills", "a", description);
        assert_eq!(skills(&place.refreshed()), [("a", description)]);
    }
    place.write("home/templates/t.md", "x");
    place.write("outer/work/AGENTS.md", "y");
    let guidance = place.refreshed();
    assert_eq!(templates(&guidance), [("t", "x")]);
    assert_eq!(guidance.context_files.last().unwrap().text, "y");
    fs::remove_dir_all(place.path("home/skills/a")).unwrap();
    assert_eq!(skills(&place.refreshed()), []);
}

/// Spec: [GUIDE-15]
#[test]
fn what_has_not_changed_is_not_read_again() {
    fn later() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(4_000_000_000)
    }
    let mut place = Place::at(Clock::new(later));
    place.skill("home/skills", "a", "one");
    let before = place.refreshed();
    assert_eq!(skills(&before), [("a", "one")]);
    assert!(place.loader.loaded.is_some());
    // What is on the shelf is only replaced by something else.
    place.loader.shelf.set(Guidance::default());
    assert_eq!(skills(&place.refreshed()), []);
    place.skill("home/skills", "a", "other");
    assert_eq!(skills(&place.refreshed()), [("a", "other")]);
    let now = place.refreshed();
    place.loader.loaded = None;
    assert!(Arc::ptr_eq(&now, &place.refreshed()));
}

/// Spec: [GUIDE-27]
#[test]
fn there_are_at_most_a_thousand_of_a_kind() {
    let mut place = Place::new();
    for number in 0..=MAX_COUNT {
        place.write(&format!("home/templates/{number:04}.md"), "x");
    }
    let guidance = place.refreshed();
    assert_eq!(guidance.templates.len(), MAX_COUNT);
    assert_eq!(guidance.problems.len(), 1);
    assert!(guidance.problems[0].contains("1000.md: there are more than 1000 templates"));
}

/// Spec: [GUIDE-27]
#[test]
fn all_together_are_bounded() {
    let mut place = Place::new();
    let large = "x".repeat(1 << 20);
    for number in 0..65 {
        place.write(&format!("home/templates/{number:02}.md"), &large);
    }
    let guidance = place.refreshed();
    assert_eq!(guidance.templates.len(), 64);
    assert_eq!(guidance.problems.len(), 1);
    assert!(
        guidance.problems[0].contains("64.md: all together"),
        "{:?}",
        guidance.problems
    );
}
