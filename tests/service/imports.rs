//! The imports: the files of a room make no circles, and neither do the rooms.

mod circles;
mod modules;
mod tokens;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use circles::circles;
use modules::{Arrows, Crate};

/// Maximum number of circles among the files of a folder, and maximum number of files in each.
struct Limit {
    folder: &'static str,
    circles: usize,
    files: usize,
}

const HTTP: Limit = Limit {
    folder: "src/http",
    circles: 0,
    files: 0,
};
const CLIENT: Limit = Limit {
    folder: "src/client",
    circles: 0,
    files: 0,
};
const ACTORS: Limit = Limit {
    folder: "actors/src",
    circles: 1,
    files: 5,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn of_this_project(file: &str) -> Crate {
    Crate::read(Path::new(file), &|path| {
        std::fs::read_to_string(root().join(path)).ok()
    })
}

/// Circles of files, or of the rooms that they are in.
type Circles<'a> = Vec<BTreeSet<&'a Path>>;

/// Prints the circles of a graph, each with the arrows of files that make it.
fn circles_of<'a>(
    name: &str,
    arrows: &'a Arrows,
    node: impl Fn(&'a Path) -> Option<&'a Path>,
) -> Circles<'a> {
    let node = |file: &'a PathBuf| node(file.as_path());
    let graph: BTreeSet<(&Path, &Path)> = arrows
        .keys()
        .filter_map(|(from, to)| Some((node(from)?, node(to)?)))
        .filter(|(from, to)| from != to)
        .collect();
    let found = circles(&graph);
    println!("{name}: {} arrows, {} circles", graph.len(), found.len());
    for circle in &found {
        println!("  a circle of {}", circle.len());
        for ((from, to), names) in arrows {
            let ends = [node(from), node(to)];
            let are_inside = ends.iter().flatten().filter(|end| circle.contains(*end));
            if ends[0] != ends[1] && are_inside.count() == 2 {
                println!("    {} -> {}: {names:?}", from.display(), to.display());
            }
        }
    }
    found
}

/// Spec: [TIDY-10]
#[test]
fn files_make_no_circles() {
    let program = of_this_project("src/main.rs").arrows();
    let actors = of_this_project("actors/src/lib.rs").arrows();
    let measured =
        [(HTTP, &program), (CLIENT, &program), (ACTORS, &actors)].map(|(limit, arrows)| {
            let inside = |file: &'_ Path| file.starts_with(limit.folder);
            let found = circles_of(limit.folder, arrows, |file| inside(file).then_some(file));
            (limit, found)
        });
    for (limit, found) in measured {
        let Limit {
            folder,
            circles,
            files,
        } = limit;
        assert!(
            found.len() <= circles,
            "{folder} has {} circles",
            found.len()
        );
        let largest = found.first().map_or(0, BTreeSet::len);
        assert!(largest <= files, "{folder} has a circle of {largest} files");
    }
}

/// The room of a file of `actors/src`: its folder there, or the file itself.
fn room(file: &Path) -> Option<&Path> {
    let first = file.strip_prefix("actors/src").ok()?.iter().next()?;
    let room = Path::new(Path::new(first).file_stem()?);
    (room != Path::new("lib")).then_some(room)
}

/// Spec: [TIDY-02]
#[test]
fn the_folders_of_the_actors_make_no_circle() {
    let arrows = of_this_project("actors/src/lib.rs").arrows();
    let found = circles_of("folders of actors/src", &arrows, room);
    assert!(found.is_empty(), "{found:?}");
}

/// Spec: [TIDY-11]
#[test]
fn messages_import_no_actor_and_actors_meet_where_they_are_wired() {
    for (from, to) in of_this_project("actors/src/lib.rs").arrows().keys() {
        let is_door = from.ends_with("messages.rs");
        let wires = room(from) == room(to) || from.starts_with("actors/src/directory");
        let may = !is_door && (wires || from.starts_with("actors/src/harness"));
        assert!(!to.ends_with("actor.rs") || may, "{from:?} imports {to:?}");
    }
}

/// The names that the machines and the pasts may not use, wherever in their code.
const WALLED_OFF: [&[&str]; 8] = [
    &["actix"],
    &["tokio"],
    &["std", "fs"],
    &["std", "net"],
    &["Instant"],
    &["SystemTime"],
    &["crate", "clock"],
    &["driver"],
];

/// Spec: [TIDY-03]
#[test]
fn the_machines_and_the_pasts_are_pure() {
    let actors = of_this_project("actors/src/lib.rs");
    for folder in [
        "budget",
        "conversation/machine",
        "conversation/past",
        "workflow/ledger",
        "workflow/machine",
    ] {
        let folder = Path::new("actors/src").join(folder);
        let files = actors.paths().filter(|(file, _)| file.starts_with(&folder));
        let mut count = 0;
        for (file, path) in files {
            count += 1;
            for name in WALLED_OFF {
                let names_it = path.windows(name.len()).any(|part| part == name);
                assert!(!names_it, "{} names {path:?}", file.display());
            }
        }
        assert!(count > 0, "{} has no code", folder.display());
    }
    let driver = Path::new("actors/src/conversation/driver");
    for (from, to) in actors.arrows().keys() {
        let is_inside = from.starts_with("actors/src/conversation/machine")
            || from.starts_with("actors/src/workflow/machine")
            || from.starts_with("actors/src/workflow/ledger")
            || from.starts_with("actors/src/conversation/past");
        let leaves = to.starts_with(driver) || to.ends_with("clock.rs");
        assert!(!(is_inside && leaves), "{from:?} imports {to:?}");
    }
}

/// Spec: [TIDY-10]
#[test]
fn imports_lead_to_the_file_that_defines_what_is_imported() {
    let files = [
        (
            "src/main.rs",
            r##"
            //! use crate::a::NotCode;
            mod a;
            mod b;
            #[cfg(test)]
            mod tested;
            fn main() { let text = r#"crate::b::deep::Inner"#; /* crate::b::B */ }
            "##,
        ),
        (
            "src/a.rs",
            "
            use crate::b::{
                B,
                nested::{Renamed as Other, self},
            };
            #[cfg(test)]
            use crate::tested::Never;
            pub struct A<'a>(&'a Other);
            fn used() { nested::function(); }
            #[cfg(test)]
            mod tests { use crate::tested::Never; }
            ",
        ),
        (
            "src/b/mod.rs",
            "
            mod deep;
            pub mod nested;
            pub use deep::{B, Inner};
            pub struct Own;
            ",
        ),
        (
            "src/b/deep.rs",
            "
            pub struct B(super::Own);
            pub struct Inner;
            ",
        ),
        (
            "src/b/nested.rs",
            "
            pub type Renamed = char;
            pub fn function() -> crate::a::A<'static> { let quote = '\\''; todo(\"self::x\") }
            ",
        ),
    ];
    let read = Crate::read(Path::new("src/main.rs"), &|path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    });
    let arrows: Vec<String> = read
        .arrows()
        .keys()
        .map(|(from, to)| format!("{} -> {}", from.display(), to.display()))
        .collect();
    assert_eq!(
        arrows,
        [
            "src/a.rs -> src/b/deep.rs",
            "src/a.rs -> src/b/nested.rs",
            "src/b/deep.rs -> src/b/mod.rs",
            "src/b/nested.rs -> src/a.rs",
        ]
    );
}
